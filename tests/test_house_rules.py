"""House rules that no linter knows."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from support import engines

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "computepool"
MAX_LINES = 600
# Written in two parts, so that this file obeys its own rule.
REGISTRY_HOSTS = ["pypi" + ".org", "files.python" + "hosted.org", "registry.npm" + "js.org"]
# What the light install (CLI, agent, SDK) comes without.
HUB_PACKAGES = {
    *("alembic", "argon2", "fastapi", "obstore", "psycopg", "requests", "sqlalchemy", "starlette", "stripe"),
    *("structlog", "uvicorn"),
}
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def text_files() -> dict[str, str]:
    """Every file that git has or would take, by its path, unless it is binary."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    texts = {}
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                texts[name] = content.decode(errors="replace")
    return texts


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    if not (ROOT / ".git").exists():
        pytest.skip("git checkout: these files are not one")
    engines.require("git")
    return text_files()


def test_source_files_are_small():
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    long = {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > MAX_LINES}
    assert not long, f"look for the second idea in {long}"


def test_no_file_names_a_registry_host(texts):
    guilty = [(name, host) for name, text in texts.items() for host in REGISTRY_HOSTS if host in text]
    assert not guilty


def test_no_file_names_a_place_on_somebodys_machine(texts):
    here = re.escape(str(ROOT)) + r"\b" if len(ROOT.parts) > 2 else r"(?!)"
    somebody = r"/(?:home|Users)/(?!alice|bob|runner|user|you|me)[a-z]\w+/"
    guilty = [(name, found[0]) for name, text in texts.items() if (found := re.search(f"{here}|{somebody}", text))]
    assert not guilty


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_lock_names_versions_and_hashes_only(lock):
    for line in lock.read_text().splitlines():
        pinned = re.fullmatch(r"[a-z0-9][a-z0-9._-]*(\[[a-z,]+\])?==[^\s/@]+( ; [^/@]+)? \\", line)
        hashed = re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)
        assert pinned or hashed or line.lstrip().startswith("#"), line
        assert "://" not in line


def test_locks_agree_on_versions():
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[a-z0-9].*?==[^\s]+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))

    assert pins("hub.txt")
    assert pins("hub.txt") <= pins("dev.txt")


def test_every_room_and_feature_says_what_it_is():
    packages = [*SOURCE.glob("*/__init__.py"), *(SOURCE / "hub").glob("*/__init__.py")]
    silent = [str(path.relative_to(ROOT)) for path in packages if not ast.get_docstring(ast.parse(path.read_text()))]
    assert packages
    assert not silent


def names_of_sql(tree: ast.Module) -> set[str]:
    """What a module imports to write statements with."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "sqlalchemy"]
    return {alias.name for node in imports for alias in node.names} & {"select", "insert", "update", "delete", "func"}


def test_routes_leave_sql_to_the_features():
    """A feature's tables belong to it alone: a route asks a function of the feature."""
    assert names_of_sql(ast.parse("from sqlalchemy import func, select, text")) == {"func", "select"}
    files = sorted((SOURCE / "hub" / "api").glob("*.py"))
    guilty = {path.name: found for path in files if (found := names_of_sql(ast.parse(path.read_text())))}
    assert len(files) > 20
    assert not guilty


def test_every_file_of_routes_has_one_router_of_the_engine():
    for path in (SOURCE / "hub" / "api").glob("*.py"):
        if path.stem in ("__init__", "glossary") or path.stem.endswith("_views"):
            continue
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        routers = [node for node in functions if ast.unparse(node.returns or ast.Constant(None)) == "APIRouter"]
        assert [(node.name, node.args.args[0].arg) for node in routers] == [("router", "engine")], path.name


def test_protocol_is_pure():
    allowed = sys.stdlib_module_names | {
        "pydantic",
        "pydantic_core",
        "annotated_types",
        "cryptography",
        "computepool",
        "yaml",
    }
    for path in (SOURCE / "protocol").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            strangers = {name for name in names if name.split(".")[0] not in allowed}
            assert not strangers, f"{path.relative_to(ROOT)} imports {strangers}"


def test_light_install_imports_nothing_of_the_hub():
    story = "import sys, computepool.agent, computepool.cli, computepool.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", story], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & HUB_PACKAGES
    assert "computepool.hub" not in done.stdout.split()


FRAGMENTS = {"BadValueError", "Check", "FieldProblem", "UnusableGpu", "add", "warn"}
"""What is told by these goes on after a semicolon or the name of a value; `hint_line` makes a line of it."""


def told_hints(tree: ast.AST) -> list[tuple[int, str]]:
    """The line and the beginning of every hint that is written out, of errors that are lines of their own."""

    def beginning(node: ast.expr) -> list[str]:
        if isinstance(node, ast.IfExp):
            return [*beginning(node.body), *beginning(node.orelse)]
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        return [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []

    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            hints = [one.value for one in node.keywords if one.arg == "hint"]
            hints += node.args[1:2] if name in ("CliError", "tell_error") else []
            found += [(node.lineno, text) for one in hints if name not in FRAGMENTS for text in beginning(one) if text]
    return found


def test_every_hint_begins_with_a_large_letter_or_with_what_is_to_be_typed():
    """Whoever reads two of them should not wonder whether the second goes on from somewhere."""
    typed = ("computepool ", "echo ")
    hints = [(path, *one) for path in SOURCE.rglob("*.py") for one in told_hints(ast.parse(path.read_text()))]
    small = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path, line, text in hints
        if text[0].islower() and not text.startswith(typed)
    ]
    assert len(hints) > 100
    assert not small


def test_hints_are_shown_as_lines_of_their_own():
    shown = [path for path in (SOURCE / "cli").glob("*.py") if re.search(r"clean\([\w.]*hint\)", path.read_text())]
    assert [path.name for path in shown] == ["errors.py"], "use hint_line"


def test_an_amount_of_credits_is_worded_in_one_place():
    """Else somebody reads of `1 credits`."""
    worded = re.compile(r"\} (promotional |available )?credits\b")
    guilty = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCE.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if worded.search(line) and "MAX_CREDITS" not in line and not line.lstrip().startswith("#")
    }
    assert not guilty, "use spell_credits or in_credits"


WAITING_SECONDS = 60
"""A limit below this is likely to be one for an idle machine."""
CLOCKS = {"time.monotonic", "time.perf_counter", "time.time", "monotonic", "perf_counter"}


def impatient(tree: ast.AST) -> list[tuple[int, str]]:
    """The line and the code of every wait with a short limit, and of every upper bound on measured time."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(map(_is_short, _limits(node))):
            found.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = zip(sides, node.ops, sides[1:], strict=False)
            if any(_is_bound(left, op, right) for left, op, right in pairs):
                found.append((node.lineno, ast.unparse(node)))
    return found


def _limits(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that say how long it waits at most."""
    limits = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
    name = ast.unparse(call.func)
    if name == "asyncio.wait_for":
        limits += call.args[1:2]
    elif name == "asyncio.timeout" or (isinstance(call.func, ast.Attribute) and call.func.attr in ("wait", "join")):
        limits += call.args[:1]
    return limits


def _is_short(limit: ast.expr) -> bool:
    return isinstance(limit, ast.Constant) and isinstance(limit.value, (int, float)) and limit.value < WAITING_SECONDS


def _is_bound(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    """`clock() - began < limit` or any comparison of a clock with a deadline. At least so long is no upper bound."""
    if isinstance(op, (ast.Gt, ast.GtE)):
        left, right = right, left
    elif not isinstance(op, (ast.Lt, ast.LtE)):
        return False
    if "patience" in ast.unparse(left) + ast.unparse(right):
        return False
    return _has_clock(left) or (_has_clock(right) and not isinstance(right, ast.BinOp))


def _has_clock(side: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS for node in ast.walk(side))


def test_no_test_fails_because_a_machine_is_slow():
    """Limits are `patience()`, bounds on speed belong to `./dev bench`, and A_MOMENT_SECONDS is for what must not
    happen: see support/waiting.py."""
    tests = ROOT / "tests"
    guilty = [
        f"{path.relative_to(ROOT)}:{line}: {code}"
        for path in sorted(tests.rglob("*.py"))
        for line, code in impatient(ast.parse(path.read_text()))
    ]
    assert not guilty, "\n".join(guilty)


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(command, timeout=20)",
        "process.communicate(timeout=59.5)",
        "psutil.wait_procs(children, timeout=30)",
        "await asyncio.wait_for(task, 10)",
        "await asyncio.wait_for(task, timeout=0.2)",
        "async with asyncio.timeout(5): await task",
        "assert event.wait(10)",
        "process.wait(5)",
        "thread.join(20)",
        "assert time.monotonic() - began < 5",
        "assert 0.3 <= time.monotonic() - began < SOON_SECONDS",
        "assert 5 > perf_counter() - began",
        "assert time.time() <= began + 3",
        "while time.monotonic() < deadline: look()",
        "if time.monotonic() > deadline: give_up()",
    ],
)
def test_impatience_is_found(code):
    assert [line for line, _ in impatient(ast.parse(f"async def story():\n    {code}"))] == [2]


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(command, timeout=patience())",
        "httpx.get(url, timeout=patience(takes=600))",
        "process.wait()",
        "assert event.wait(patience())",
        "assert not event.wait(A_MOMENT_SECONDS)",
        "await asyncio.wait_for(task, patience())",
        "assert time.monotonic() - began > 5",
        "assert 5 <= time.monotonic() - began",
        "assert time.monotonic() - began < patience()",
        "assert pool.loop.time() - began < 5",
        "'\\n'.join(lines)",
    ],
)
def test_patience_is_no_impatience(code):
    assert impatient(ast.parse(f"async def story():\n    {code}")) == []


def test_the_agent_removes_folders_in_one_way():
    """`shutil.rmtree` fails at a depth that any job can make."""
    named = [
        path for path in (SOURCE / "agent").rglob("*.py") if re.search(r"\brmtree\b|\bos\.walk\b", path.read_text())
    ]
    assert [path.name for path in named] == ["layout.py"], "use computepool.agent.removal.remove_tree, trees.walk"


SHARED_CLASS_NAMES = {
    2: (
        "AlreadyRunning Artifact AttemptFacts AttemptView BadRequest BadSignature Basis Card Claim Clock "
        "Conflict Counts Credentials Dismissed Engine Evidence FailedSlices Finding Forbidden "
        "Gpu Held Idle Job JoinToken KeyTaken Lease LogChunk LogReader Meter "
        "Miss Node NodePrice NotFound Offer Offload OutputsRefused Past Payments Prepared ReceiptNode Report "
        "Reports Resolution Role Rule Rules Section Share Shelf Slice Source Spot SystemClock Terms Transfer "
        "Uploads Welcome"
    ),
    3: (
        "Allowance Attempt Gate Kind Known Limits Outcome Output Plan Proof Record Refused Room "
        "Standing Step Usage User"
    ),
    4: "Check Ended Entry",
    6: "Line Request",
}
"""Public classes that still share their name, by how many there are. New ones get a name of their own; whoever renames
one of these takes it from the list."""


def public_classes(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def shared_names(names: Iterable[str]) -> dict[str, int]:
    return {name: count for name, count in Counter(names).items() if count > 1}


def test_a_public_class_name_is_defined_once():
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")]
    known = {name: count for count, names in SHARED_CLASS_NAMES.items() for name in names.split()}
    assert shared_names(name for tree in trees for name in public_classes(tree)) == known


def test_a_class_name_that_is_defined_twice_is_found():
    planted = ast.parse("class Twice: ...\nclass _Hidden: ...\nclass Once:\n    class Twice: ...")
    assert public_classes(planted) == ["Twice", "Once"]
    assert shared_names(public_classes(planted) * 2) == {"Twice": 2, "Once": 2}
