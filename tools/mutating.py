"""Small bugs, put into a module one at a time. Pure: source in, mutants out. `tools.mutants` runs tests against them.

Left alone are annotations, decorators, texts, columns of tables (another test holds them against the migrations), and
what an error says: `raise` itself is taken out, its words are not. Two that come to the same instructions are one.
"""

import ast
import copy
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from types import CodeType

OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OTHER_OPERATOR: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OTHER_CALL = {"min": "max", "max": "min"}
REACHED = "__reached__"
LEFT_ALONE = {"annotation", "returns", "decorator_list", "type_comment"}


@dataclass(frozen=True, slots=True)
class Mutant:
    module: str
    line: int
    statement: int
    """The line on which its statement begins."""
    what: str
    in_function: bool
    """If not, it is in what runs when the module is imported."""
    code: CodeType
    """Of the whole module."""


@dataclass(frozen=True, slots=True)
class Place:
    statement: ast.stmt | None = None
    in_function: bool = False


def mutants_of(module: str, source: str, path: str) -> list[Mutant]:
    tree = ast.parse(source)
    found: list[Mutant] = []
    known = {_essence(compile(tree, path, "exec", dont_inherit=True))}
    for node, place in _walk(tree, Place()):
        for what, other in _variants(node):
            # Put in, compiled, and taken out again: copying the whole tree for each would take most of the time.
            _Swap(node, other).visit(tree)
            code = compile(tree, path, "exec", dont_inherit=True)
            _Swap(other, node).visit(tree)
            if (essence := _essence(code)) in known:
                continue
            known.add(essence)
            begins = (place.statement or node).lineno
            found.append(Mutant(module, node.lineno, begins, what, place.in_function, code))
    return sorted(found, key=lambda one: (one.line, one.what))


def _essence(code: CodeType) -> Hashable:
    """Its instructions, wherever they are in the text."""
    inner = tuple(
        _essence(one) if isinstance(one, CodeType) else (type(one).__name__, repr(one)) for one in code.co_consts
    )
    return code.co_qualname, code.co_code, code.co_names, code.co_varnames, inner


def watched(source: str, path: str) -> CodeType:
    """The same, but every statement of a function first calls the built-in `REACHED` with the path and its line."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in {id(one): one for function in functions for one in ast.walk(function)}.values():
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [one for statement in block for one in (_call(path, statement), statement)])
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _call(path: str, statement: ast.stmt) -> ast.stmt:
    called = ast.Call(ast.Name(REACHED, ast.Load()), [ast.Constant(path), ast.Constant(statement.lineno)], [])
    return ast.copy_location(ast.Expr(called), statement)


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _walk(node: ast.AST, place: Place) -> Iterator[tuple[ast.stmt | ast.expr, Place]]:
    """Everything that may be changed."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_for_types(node) or _is_column(node):
        return
    if isinstance(node, ast.stmt):
        place = Place(node, place.in_function)
    if isinstance(node, ast.stmt | ast.expr):
        yield node, place
    if isinstance(node, ast.Raise):
        return
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name, value in ast.iter_fields(node):
        if name in LEFT_ALONE:
            continue
        there = Place(place.statement, True) if inside and name == "body" else place
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                yield from _walk(one, there)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _is_column(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mapped_column"


def _variants(node: ast.stmt | ast.expr) -> Iterator[tuple[str, ast.AST]]:
    for kind, make in _MAKERS:
        if isinstance(node, kind):
            for other in make(node):
                ast.fix_missing_locations(ast.copy_location(other, node))
                yield f"{_shown(node)} → {_shown(other)}", other


def _shown(node: ast.AST, limit: int = 60) -> str:
    """Of a statement with a body, its head."""
    if isinstance(node, ast.Pass):
        return "nothing"
    text = ast.unparse(node).partition("\n")[0]
    return f"`{text if len(text) <= limit else text[: limit - 1] + '…'}`"


# ── the kinds of bugs ────────────────────────────────────────────────────────────────────────────────────────────────


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for at, operator in enumerate(node.ops):
        other = copy.deepcopy(node)
        other.ops[at] = OTHER_COMPARISON[type(operator)]()
        yield other


def _arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    if type(node.op) in OTHER_OPERATOR:
        other = copy.deepcopy(node)
        other.op = OTHER_OPERATOR[type(node.op)]()
        yield other


def _signs(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.USub | ast.Not):
        yield copy.deepcopy(node.operand)


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)


def _least_and_most(node: ast.Call) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Name) and node.func.id in OTHER_CALL:
        other = copy.deepcopy(node)
        other.func = ast.copy_location(ast.Name(OTHER_CALL[node.func.id], ast.Load()), node.func)
        yield other


def _both_or_either(node: ast.BoolOp) -> Iterator[ast.AST]:
    other = copy.deepcopy(node)
    other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield other


def _conditions(node: ast.If | ast.IfExp | ast.While) -> Iterator[ast.AST]:
    other = copy.deepcopy(node)
    other.test = ast.UnaryOp(ast.Not(), other.test)
    yield other


def _filters(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Iterator[ast.AST]:
    for at, part in enumerate(node.generators):
        for number in range(len(part.ifs)):
            other = copy.deepcopy(node)
            del other.generators[at].ifs[number]
            yield other


def _early_returns(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield ast.Return(ast.Constant(None))


def _left_out(node: ast.stmt) -> Iterator[ast.AST]:
    """Statements without which the rest still runs. A variable that is never set is an error that any test finds."""
    sets_a_name = isinstance(node, ast.Assign) and any(isinstance(one, ast.Name | ast.Tuple) for one in node.targets)
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if not sets_a_name and not is_text:
        yield ast.Pass()


def _other_jumps(node: ast.Break | ast.Continue) -> Iterator[ast.AST]:
    yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()


_MAKERS: list[tuple[type | tuple[type, ...], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Compare, _comparisons),
    ((ast.BinOp, ast.AugAssign), _arithmetic),
    (ast.UnaryOp, _signs),
    (ast.Constant, _constants),
    (ast.Call, _least_and_most),
    (ast.BoolOp, _both_or_either),
    ((ast.If, ast.IfExp, ast.While), _conditions),
    ((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _filters),
    (ast.Return, _early_returns),
    ((ast.Expr, ast.AugAssign, ast.Assign, ast.Raise), _left_out),
    ((ast.Break, ast.Continue), _other_jumps),
]
