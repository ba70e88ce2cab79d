"""What the system refuses: said once, with the path and what helps, and nothing is half done."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.test_cli_accept import (
    changed,  # noqa: F401  # the fixture
    contents,  # the fixture
)
from tests.test_cli_check import (
    Ask,  # the fixture
    Compiler,  # the fixture
    compiler,  # noqa: F401  # the fixture
)

NAME = "x\nerror: y\n\x1b[31mz"
COMMANDS = (
    ("diff", NAME, "other"), ("diff", "snapshots", NAME), ("diff", "snapshots", "snapshots", "-o", f"no/{NAME}"),
    ("check", NAME), ("check", "-t", NAME), ("check", "--against", NAME), ("check", "--pending", f"snapshots/f/{NAME}"),
    ("update", NAME), ("accept", NAME), ("accept", "--class", NAME), ("accept", "--from", NAME),
    ("review", "--reject", NAME), ("git", "status", "--project", NAME), ("inspect", "passes", NAME),
    ("list", NAME), ("list", "--project", NAME), ("show", NAME), ("log", NAME), ("log", NAME, NAME), ("init", NAME),
    ("record", "--", NAME), ("record", "-o", "pyproject.toml", "--", NAME),
    ("comment", NAME), (NAME,), ("check", f"--{NAME}"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command).replace(NAME, "NAME"))
def test_a_name_with_newlines_is_one_problem(command: tuple[str, ...], changed: Compiler, said: Ask) -> None:  # noqa: F811
    _, out, err = said(*command)
    for line in (out + err).split("\n"):
        assert line.isprintable(), line
        assert not line.startswith("error: y"), err
    assert sum(line.lower().startswith("error: ") for line in err.split("\n")) <= 1, err


# --- permissions -----------------------------------------------------------------------------------------------------

_OVERRIDE = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: with them root reads and writes everything


@contextlib.contextmanager
def like_a_user() -> Iterator[None]:
    """What modes forbid is forbidden, for root too."""
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, data = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    assert libc.capget(head, before) == 0
    ctypes.memmove(data, before, ctypes.sizeof(before))
    data[0] &= ~_OVERRIDE  # effective; permitted stays, so that it can be taken back
    assert libc.capset(head, data) == 0
    try:
        yield
    finally:
        assert libc.capset(head, before) == 0


@contextlib.contextmanager
def mode(path: str, bits: int) -> Iterator[None]:
    before = Path(path).stat().st_mode
    Path(path).chmod(bits)
    try:
        with like_a_user():
            yield
    finally:
        Path(path).chmod(before)


def everything() -> dict[str, bytes]:
    return {name: content for name, content in contents(Path()).items() if "__pycache__" not in name}


WRITABLE = "make the folder writable, or set `snapshots` in [tool.hlodiff] to another one"


@pytest.mark.parametrize("folder", ["snapshots", "snapshots/f", "snapshots/f/cpu"])
@pytest.mark.parametrize(
    "command", [("update", "f", "-t", "cpu"), ("accept", "f", "-t", "cpu")], ids=lambda one: one[0]
)
def test_read_only_folders(folder: str, command: tuple[str, ...], changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check")
    before = everything()
    with mode(folder, 0o555):
        code, out, err = said(*command)
    assert (code, out) == (2, "")
    assert err == f"error: {folder}: cannot be written: Permission denied\nhint: {WRITABLE}\n"
    assert everything() == before, "nothing half done"
    assert said(*command)[0] == 0


def test_a_pending_folder_that_cannot_be_written_is_a_note(changed: Compiler, said: Ask) -> None:  # noqa: F811
    Path(".hlodiff").mkdir()
    with mode(".hlodiff", 0o555):
        code, out, _ = said("check")
    assert code == 1
    out = " ".join(out.split())
    assert "note: not everything is left for `hlodiff accept`: " in out and "Permission denied" in out


@pytest.mark.parametrize("file", ["summary.yaml", "compiled.hlo", "stablehlo.mlir"])
def test_files_that_cannot_be_read(file: str, changed: Compiler, said: Ask) -> None:  # noqa: F811
    with mode(f"snapshots/f/cpu/{file}", 0):
        code, out, _ = said("check", "f", "-t", "cpu")
    assert code == 2
    assert f"snapshots/f/cpu/{file}: cannot be read: Permission denied" in out and "internal error" not in out


@pytest.mark.parametrize("file", ["summary.yaml", "compiled.hlo", "source.json"])
def test_a_folder_in_place_of_a_file(file: str, changed: Compiler, said: Ask) -> None:  # noqa: F811
    path = Path("snapshots/f/cpu", file)
    path.unlink()
    path.mkdir()
    for command in (("check", "f", "-t", "cpu"), ("diff", "snapshots", "snapshots"), ("show", "f"), ("list",)):
        code, out, err = said(*command)
        assert "internal error" not in out + err and "hlodiff update f" not in out  # which would be refused
    code, out, err = said("update", "f", "-t", "cpu")
    assert (code, err) == (2, f"error: {path}: is a folder, where a file belongs\nhint: move it away\n")
    path.rmdir()
    assert said("update", "f", "-t", "cpu")[0] == 0


def test_a_file_in_place_of_a_folder(changed: Compiler, said: Ask) -> None:  # noqa: F811
    shutil.rmtree("snapshots/f")
    Path("snapshots/f").write_text("mine")
    code, _, err = said("update", "f", "-t", "cpu")
    hint = "move away what is in its place, or set `snapshots` in [tool.hlodiff] to another one"
    assert code == 2
    assert err.startswith("error: snapshots/f") and err.endswith(f"hint: {hint}\n") and err.count("\n") == 2
    assert Path("snapshots/f").read_text() == "mine"


@contextlib.contextmanager
def full(size: int) -> Iterator[None]:
    """As if the disk were full once a file has so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [0, 100, 600])
@pytest.mark.parametrize(
    "command", [("update",), ("accept", "--everything"), ("update", "--prune"), ("init", "new")], ids=lambda one: one[0]
)
def test_a_full_disk(size: int, command: tuple[str, ...], changed: Compiler, said: Ask) -> None:  # noqa: F811
    Path("new").mkdir()
    said("check")
    size = min(size, 100) if command[-1] == "new" else size  # most of its files are small
    before = everything()
    with full(size):
        code, out, err = said(*command)
    assert (code, out) == (2, "")
    place = "snapshots" if command[0] != "init" else "new/pyproject.toml"
    assert err == f"error: {place}: cannot be written: File too large\nhint: make room on the disk, then try again\n"
    assert everything() == before, "nothing half done"
    assert said(*command)[0] == 0


def test_a_full_disk_of_check(changed: Compiler, said: Ask) -> None:  # noqa: F811
    with full(100):
        code, out, _ = said("check")
    assert code == 1 and "note: not everything is left for `hlodiff accept`: " in " ".join(out.split())
    assert not any(contents(Path(".hlodiff/pending")).keys() - {".gitignore"})


def test_what_check_advises_can_be_done(changed: Compiler, said: Ask) -> None:  # noqa: F811
    """Each command that a check names is typed, until there is nothing left to do."""
    damages: tuple[Callable[[Path], object], ...] = (
        lambda folder: (folder / "summary.yaml").write_text("<<<<<<< HEAD\n"),
        lambda folder: (folder / "compiled.hlo").unlink(),
        lambda folder: (folder / "stablehlo.mlir").write_bytes(b"\xff"),
        lambda folder: (folder / "source.json").write_text("["),
        lambda folder: (folder / "compiled.hlo.gz").write_bytes(b"no gzip"),
        lambda folder: (folder / "summary.yaml").unlink(),
        lambda folder: shutil.rmtree(folder),
        lambda folder: shutil.copytree(folder, "snapshots/gone/cpu"),
    )  # fmt: skip
    said("update")
    for damage in damages:
        damage(Path("snapshots/f/cpu"))
        for _ in range(3):
            code, out, _ = said("check")
            if code == 0:
                break
            command = out.rstrip().rpartition("next: ")[2].split()
            assert command[0] == "hlodiff", out
            assert said(*command[1:])[0] == 0, (command, out)
        assert code == 0, (damage, out)
    assert not any((parent / ".git").exists() for parent in Path("snapshots/f").resolve().parents)
