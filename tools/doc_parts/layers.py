"""Who may use whom, from the contract that the linter checks."""

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
PACKAGE = "computepool.hub"


def hub_layers() -> str:
    """From the top to the bottom; those that do not know each other stand side by side."""
    contracts = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == [PACKAGE])
    names = [", ".join(name.strip(" ()") for name in layer.split("|")) for layer in layers]
    return "\n".join(["```", " → ".join(names), "```"])
