"""The list of kinds of entries is whole: what the hub writes into the ledger is in it."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import computepool.hub
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.kinds import ENTRY_KINDS

HUB = Path(computepool.hub.__file__).parent
HANDED_ON = {"credit": 2, "take": 2, "give_back": 2, "end_set_aside": 2}
"""Functions of `payments/moving.py` that take a kind, and where."""


def kinds_written(text: str, module: Any) -> Iterator[str]:
    tree = ast.parse(text)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        parameters = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            at = _place_of_kind(call, module)
            kind = call.args[at] if at is not None else None
            if kind is not None and not (isinstance(kind, ast.Name) and kind.id in parameters):
                yield from _values(kind, function, module)


def _place_of_kind(call: ast.Call, module: Any) -> int | None:
    called = call.func
    if isinstance(called, ast.Name) and getattr(module, called.id, None) is Entry:
        return 1
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "moving":
        return HANDED_ON.get(called.attr)
    return None


def _values(node: ast.expr, function: ast.FunctionDef, module: Any) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _values(node.body, function, module)
        yield from _values(node.orelse, function, module)
    elif isinstance(node, ast.Name) and hasattr(module, node.id):
        yield getattr(module, node.id)
    else:
        assert isinstance(node, ast.Name), f"{ast.unparse(node)} in {function.name} is a kind that this cannot read"
        assigned = list(_assigned(function, node.id))
        assert assigned, f"nothing in {function.name} says what {node.id} is"
        for value in assigned:
            yield from _values(value, function, module)


def _assigned(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    for node in (node for node in ast.walk(function) if isinstance(node, ast.Assign)):
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=True)
                yield from (value for one, value in pairs if isinstance(one, ast.Name) and one.id == name)


def test_every_kind_that_the_hub_writes_is_in_the_list():
    found: set[str] = set()
    for file in sorted(HUB.rglob("*.py")):
        text = file.read_text()
        if "Entry(" in text or "moving." in text:
            name = ".".join(("computepool.hub", *file.relative_to(HUB).with_suffix("").parts))
            found.update(kinds_written(text, importlib.import_module(name)))
    assert {"settle", "hold", "grant", "withdrawal", "cash_out_returned", "refund", "write_off"} <= found
    assert found <= ENTRY_KINDS, f"add to ledger/kinds.py: {sorted(found - ENTRY_KINDS)}"


def test_kind_that_is_not_in_the_list_is_found():
    class Module:
        pass

    Module.Entry, Module.NEW = Entry, "brand_new"  # type: ignore[attr-defined]
    text = "def pay(x):\n    kind, y = 'a' if x else 'b', 1\n    Entry('k', kind, ())\n    Entry('k', NEW, ())\n"
    assert set(kinds_written(text, Module)) == {"a", "b", "brand_new"}
