"""The layers of the house: who may import whom, and what the front door costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "hlodiff"

# Room -> rooms it may know. `errors` is known to all, `cli` and `pytest_plugin` know all.
_BELOW_REPORT = {"differ", "graph", "normalizer", "hlo", "config", "lazy_names"}
_BELOW_WORKFLOWS = _BELOW_REPORT | {
    "capture",
    "interrupts",
    "progress",
    "tracing",
    "policy",
    "report",
    "registry",
    "snapshots",
}
KNOWS: dict[str, set[str]] = {
    "errors": set(),
    "config": set(),
    "registry": set(),
    "progress": set(),
    "interrupts": set(),
    "renderers": set(),
    "lazy_names": set(),
    "hlo": {"interrupts", "lazy_names"},
    "graph": {"hlo"},
    "normalizer": {"hlo"},
    "snapshots": {"hlo", "lazy_names", "tracing"},
    "differ": {"graph", "lazy_names", "normalizer", "hlo", "renderers"},
    # `tracing` stands beside `capture`: workers observe what they trace, and the observer asks for private JAX there.
    "tracing": {"capture", "lazy_names", "normalizer", "hlo"},
    "capture": _BELOW_REPORT | {"interrupts", "progress", "registry", "tracing"},
    "policy": _BELOW_REPORT | {"snapshots", "tracing"},
    "report": _BELOW_REPORT | {"policy", "registry", "renderers", "snapshots", "tracing"},
    "workflows": _BELOW_WORKFLOWS,
    "inspect": _BELOW_WORKFLOWS | {"workflows"},
    "integrations": _BELOW_WORKFLOWS | {"workflows"},
}
EDGES = ("__init__", "__main__", "cli", "pytest_plugin")
# `hlodiff.abstract` makes a jax.ShapeDtypeStruct, so it asks the room that knows jax, when it is called.
UPWARD_ON_PURPOSE = {("registry.py", "hlodiff.capture.arguments")}

# Third party -> where it may be imported, as prefixes of the path below hlodiff/.
HOME: dict[str, tuple[str, ...]] = {
    "jax": ("capture/", "tracing/"),
    "equinox": ("capture/", "tracing/"),
    "jaxlib": ("capture/jax_private.py", "hlo/mlir.py"),
    "networkx": ("graph", "differ/"),
    "click": ("cli/",),
    "jinja2": ("report/html/",),
    "markupsafe": ("report/html/",),
    "pytest": ("pytest_plugin/",),
}
HEAVY = ("jax", "jaxlib", "equinox", "networkx", "rich", "click", "jinja2")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def inside(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def room(dotted: str) -> str:
    """`hlodiff.differ.result` is in the room `diff`; the package itself is the room ``."""
    return dotted.split(".")[1] if "." in dotted else ""


@cache
def parsed(file: Path) -> tuple[ast.AST, ...]:
    """All nodes of a source file; most tests look at each."""
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


@cache
def imports(file: Path) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of every import, in functions and under TYPE_CHECKING too."""
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    for node in parsed(file):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{inside(file)}:{node.lineno}: relative import"
            module = node.module or ""
            names = [module] if module != "hlodiff" else [f"hlodiff.{alias.name}" for alias in node.names]
            yield from ((node.lineno, name) for name in names)


def test_every_room_is_known_to_this_test() -> None:
    rooms = {inside(file).split("/")[0].removesuffix(".py") for file in sources()}
    assert rooms - set(EDGES) <= set(KNOWS)


def test_arrows_point_down() -> None:
    wrong = []
    for file in sources():
        own = inside(file).split("/")[0].removesuffix(".py")
        if own in EDGES:
            continue
        allowed = KNOWS[own] | {own, "errors", "__version__"}
        wrong += [
            f"{inside(file)}:{line} imports {name}"
            for line, name in imports(file)
            if name.split(".")[0] == "hlodiff" and room(name) not in allowed
            if (inside(file), name) not in UPWARD_ON_PURPOSE
        ]
    assert wrong == []


def test_every_name_that_a_room_exports_on_demand_exists() -> None:
    for file in sources():
        if file.name == "__init__.py":
            door = import_module(".".join(file.parent.relative_to(ROOT).parts))
            for node in parsed(file):
                if isinstance(node, ast.ImportFrom):
                    exported = [alias.name for alias in node.names if alias.asname]  # `X as X`
                    home = import_module(str(node.module)) if exported else door
                    assert [name for name in exported if getattr(door, name) is not getattr(home, name)] == []


def test_every_class_has_a_name_of_its_own() -> None:
    found: dict[str, list[str]] = {}
    for file in sources():
        for node in parsed(file):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{inside(file)}:{node.lineno}")
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


_ENDING = re.compile(r"(?:ing|ions?|ed|er|es|s|e)$")


def test_no_two_files_differ_by_a_grammatical_ending() -> None:
    """`program.py` and `programs.py` would be two subjects that nobody can keep apart, in whatever rooms."""
    found: dict[str, set[str]] = {}
    for file in sources():
        found.setdefault("_".join(_ENDING.sub("", word) for word in file.stem.split("_")), set()).add(file.stem)
    assert [sorted(names) for names in found.values() if len(names) > 1] == []


# Modules behind the doors of rooms that tests import all the same: an algorithm that no report shows by itself, a form
# of one command, or what must be damaged to show that something else notices. Lower it when one goes.
_BEHIND_DOORS = 39


def test_tests_speak_to_doors_and_not_to_files() -> None:
    """What a test imports from a file of a room cannot move to another one without that test."""
    rooms_ = {".".join(file.parent.relative_to(ROOT).parts) for file in sources() if file.name == "__init__.py"}
    behind = {
        name
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for node in parsed(file)
        if isinstance(node, ast.ImportFrom) and (name := node.module or "").startswith("hlodiff.")
        if name not in rooms_ and name.count(".") > 1
    }
    assert len(behind) <= _BEHIND_DOORS, f"ask through the public API, a command or a door:\n{sorted(behind)}"


def test_no_circle_of_imports() -> None:
    """Between files, imports in functions, under TYPE_CHECKING and by a name in a string included."""
    files = {".".join(("hlodiff", *file.relative_to(PACKAGE).with_suffix("").parts)): file for file in sources()}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, file in files.items():
        for node in parsed(file):
            if isinstance(node, ast.ImportFrom):
                homes = [f"{node.module}.{alias.name}" for alias in node.names]
                graph.add_edges_from((name, home if home in files else str(node.module)) for home in homes)
            elif isinstance(node, ast.Import):
                graph.add_edges_from((name, alias.name) for alias in node.names)
            elif isinstance(node, ast.Constant) and str(node.value).partition(":")[0] in files:
                graph.add_edge(name, str(node.value).partition(":")[0])
    circles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert circles == []


@pytest.mark.parametrize("package", HOME)
def test_third_party_packages_stay_in_their_rooms(package: str) -> None:
    wrong = [
        f"{inside(file)}:{line} imports {name}"
        for file in sources()
        for line, name in imports(file)
        if name.split(".")[0] == package and not inside(file).startswith(HOME[package])
    ]
    assert wrong == []


def test_private_jax_stands_in_one_file() -> None:
    wrong = [
        f"{inside(file)}:{line} imports {name}"
        for file in sources()
        for line, name in imports(file)
        if name.startswith("jax._src") and inside(file) != "capture/jax_private.py"
    ]
    assert wrong == []


def test_only_the_edges_touch_the_process() -> None:
    """Environment and exit belong to config, cli and the pytest plugin; printing is held by ruff (T20)."""
    # A worker is a process of its own: it ends itself. The bootstrap is told by the environment what to record, and the
    # recorder in a user's process has to know when that ends.
    free = (
        "config.py",
        "errors.py",  # HLODIFF_TRACEBACK
        "cli/",
        "pytest_plugin/",
        "__main__.py",
        *(f"capture/{n}" for n in ("worker.py", "supervision.py", "bootstrap/", "run_recorder.py")),
    )
    touching = {"os.environ", "os.getenv", "os.putenv", "sys.exit", "os._exit"}
    wrong = [
        f"{inside(file)}:{node.lineno}: {ast.unparse(node)}"
        for file in sources()
        if not inside(file).startswith(free)
        for node in parsed(file)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in touching
    ]
    assert wrong == []


def modules_after(code: str, folder: Path) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """Names of all modules that a fresh interpreter has imported once `code` has run."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], cwd=folder, capture_output=True, text=True, timeout=120
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "hlodiff" in names, done.stderr[-2000:]
    return names, done


def heavy(names: set[str]) -> list[str]:
    return [package for package in HEAVY if package in names or any(n.startswith(package + ".") for n in names)]


def test_importing_hlodiff_imports_nothing_heavy(tmp_path: Path) -> None:
    names, done = modules_after("import hlodiff; hlodiff.register; hlodiff.Case; hlodiff.HlodiffError", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert heavy(names) == []


PROGRAM = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %y = f32[4]{0} OPCODE(%x)
}
"""


def test_diff_of_two_hlo_files_imports_no_jax(tmp_path: Path) -> None:
    for name, opcode in (("old", "sine"), ("new", "cosine")):
        (tmp_path / f"{name}.hlo").write_text(PROGRAM.replace("OPCODE", opcode))
    command = "import sys; sys.argv = ['hlodiff', 'diff', 'old.hlo', 'new.hlo']; from hlodiff.cli import main; main()"
    names, done = modules_after(command, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "cosine" in done.stdout
    assert not {"jax", "jaxlib", "equinox", "jinja2"} & set(heavy(names))
    assert "networkx" in names  # what differs is a graph, however small
    assert not {"numpy", "scipy", "hlodiff.capture"} & names  # 0.1 s and more, before anything is read


def test_an_assignment_of_least_cost_imports_no_library_for_it(tmp_path: Path) -> None:
    for name, opcodes in (("old", ("sine", "tanh")), ("new", ("cosine", "exponential"))):
        rows = [f"%{n} = f32[4]{{0}} {opcode}(%x)" for n, opcode in zip("ab", opcodes, strict=True)]
        text = PROGRAM.replace("ROOT %y", "\n  ".join([*rows, "ROOT %y"])).replace("OPCODE(%x)", "add(%a, %b)")
        (tmp_path / f"{name}.hlo").write_text(text)
    arguments = ["hlodiff", "diff", "--format", "json", "old.hlo", "new.hlo"]
    names, done = modules_after(f"import sys; sys.argv = {arguments}; from hlodiff.cli import main; main()", tmp_path)
    assert '"leftover:assignment"' in done.stdout
    assert not {"numpy", "scipy"} & names  # 0.4 s, longer than all the rest


@pytest.mark.parametrize("command", ["diff", "diff --format json"])
def test_diff_of_two_equal_files_makes_no_graph(tmp_path: Path, command: str) -> None:
    """Names and order are not looked at; importing networkx would take longer than all the rest."""
    old = PROGRAM.replace("OPCODE", "sine")
    (tmp_path / "old.hlo").write_text(old)
    (tmp_path / "new.hlo").write_text(old.replace("%y", "%z"))
    arguments = ["hlodiff", *command.split(), "old.hlo", "new.hlo"]
    names, done = modules_after(f"import sys; sys.argv = {arguments}; from hlodiff.cli import main; main()", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "networkx" not in names


def test_diff_is_a_function_whatever_was_imported_first(tmp_path: Path) -> None:
    code = (
        "import hlodiff.differ.result, hlodiff.normalizer, hlodiff; assert callable(hlodiff.diff), hlodiff.diff; "
        "from hlodiff import diff, normalize; assert callable(diff) and callable(normalize)"
    )
    _, done = modules_after(code, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]


def test_unknown_name_at_the_door() -> None:
    import hlodiff

    with pytest.raises(AttributeError, match="module 'hlodiff' has no attribute 'dif'"):
        hlodiff.dif  # type: ignore[attr-defined]  # noqa: B018


def test_everything_at_the_door_opens() -> None:
    import hlodiff

    assert all(callable(getattr(hlodiff, name)) for name in hlodiff.__all__)
    assert set(hlodiff.__all__) <= set(dir(hlodiff))


def test_no_drawer_for_odds_and_ends() -> None:
    names = {"utils.py", "util.py", "helpers.py", "helper.py", "manager.py", "common.py", "misc.py"}
    assert [inside(file) for file in sources() if file.name in names] == []


# Written so that this file does not hold what it forbids.
# `me`, `someone` and single letters are nobody: tests of what hlodiff takes out of paths need an absolute one.
MACHINE_PATH = re.compile(
    r"(?<![\w.])/(?:(?:[r]oot|[w]ork|[t]mp|[m]nt)/|(?:[h]ome|[U]sers)/(?!(?:me|someone|[a-z])\b))[\w.-]+"
)
REGISTRY = re.compile(
    r"(?:[p]ypi\.org|[p]ythonhosted\.org|[r]egistry\.npmjs|[c]rates\.io|[a]naconda\.org|[p]roxy\.golang)"
)


def test_no_tracked_file_names_a_machine_or_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name]
    assert "pyproject.toml" in names
    found = []
    for name in names:
        if not (ROOT / name).is_file():  # removed, and not yet committed
            continue
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            for match in (*MACHINE_PATH.finditer(line), *REGISTRY.finditer(line)):
                found.append(f"{name}:{number}: {match[0]}")
    assert found == []
