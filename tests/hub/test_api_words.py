"""Whoever reads the API's page learns what each route is for."""

import json
from pathlib import Path

OPENAPI = Path(__file__).resolve().parents[1] / "snapshots" / "openapi.json"


def test_every_route_says_what_it_does():
    silent = [
        f"{method.upper()} {path}"
        for path, methods in json.loads(OPENAPI.read_text())["paths"].items()
        for method, route in methods.items()
        if not route.get("description")
    ]
    assert silent == [], "write a docstring: one sentence for people who see only the name and this"
