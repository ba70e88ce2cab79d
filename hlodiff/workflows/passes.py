"""Programs with what each of XLA's passes did to them: compiled with a dump, or read from a folder that has one."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hlodiff.capture import CapturedProgram, CaptureFailure, NotChecked, Request, capture
from hlodiff.config import Config
from hlodiff.differ.passes.dumps import Dump, dumps_of, is_pass_dump, without_repeats
from hlodiff.errors import CaptureError, StoreError, UsageError
from hlodiff.snapshots import FolderTree, Key
from hlodiff.workflows.sides import SideFailure

_NAME = re.compile(r"HloModule\s+([^\s,]+)")
_FLAGS = 'XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text"'
_MOST_FILES = 100_000
_MOST_BYTES = 256 * 1024 * 1024  # of one text, as of any program


@dataclass(frozen=True, slots=True)
class DumpedProgram:
    """One program and the dump of its passes.

    Args:
        name: the function and case, or the module of a folder.
        target: what it was compiled for; None for a folder, whose files do not say.
        dump: its texts.
        stablehlo: StableHLO text with locations; "" for a folder.
        compiled: the text that `as_text()` gives; "" for a folder.
    """

    name: str
    target: str | None
    dump: Dump
    stablehlo: str = ""
    compiled: str = ""


def is_dump_folder(path: Path) -> bool:
    """Whether a path is a folder with texts of single passes, right in it or below."""
    return path.is_dir() and is_pass_dump(_files(path))


def _files(folder: Path) -> tuple[str, ...]:
    """The names of all files below a folder.

    Raises:
        StoreError: there are more than a dump has, or a folder cannot be listed.
    """
    files = FolderTree(folder).files()
    if len(files) > _MOST_FILES:
        raise StoreError(f"holds {len(files):,} files", where=str(folder), hint="give the folder of one compile")
    return files


def folder_dumps(folder: Path, modules: Sequence[str] = ()) -> tuple[DumpedProgram, ...]:
    """The modules of a folder that somebody had XLA write; links are not followed.

    Args:
        folder: what `--xla_dump_to` was given, or a folder of such folders.
        modules: regular expressions for the modules that are wanted (`jit_step`, `module_0003`); all that went through
            the passes where empty. A GPU's autotuner compiles modules of its own.

    Returns:
        one program for each module, in XLA's order.

    Raises:
        UsageError: the folder has no pass dump, or no module of that name.
        StoreError: it cannot be read.
    """
    tree = FolderTree(folder)

    def read(name: str) -> bytes:
        return tree.read([name], _MOST_BYTES).get(name, b"")

    found = dumps_of(_files(folder), read, str(folder))
    if not found:
        raise UsageError("holds no text of a single pass", where=str(folder), hint=f"dump again with {_FLAGS}")
    patterns = [_pattern(text) for text in modules]
    chosen = [dump for dump in found if any(one.search(dump.key.label) for one in patterns)] if patterns else []
    if patterns and not chosen:
        names = ", ".join(dump.key.label for dump in found[:5])
        raise UsageError(f"no module is called `{modules[0]}`", where=str(folder), hint=f"there are {names}")
    wanted = chosen or [dump for dump in found if dump.is_whole] or list(found)
    return tuple(DumpedProgram(dump.key.label, None, dump) for dump in wanted)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"`{text}` is no regular expression: {error}") from None


@contextmanager
def dumped_program(config: Config, key: Key) -> Iterator[DumpedProgram | SideFailure]:
    """Compile one registered program with a dump; its folder is removed afterwards.

    Args:
        config: of the project.
        key: which program.

    Returns:
        the program, whose texts are read while the context lasts; or why there is none.
    """
    with tempfile.TemporaryDirectory(prefix="hlodiff-passes-", ignore_cleanup_errors=True) as folder:
        request = Request(key.function, key.case, key.target, dump=folder)
        (outcome,) = list(capture(config, [request], jobs=1))
        if isinstance(outcome, NotChecked):
            yield SideFailure(outcome.reason, outcome.advice)
            return
        if isinstance(outcome, CaptureFailure):
            yield SideFailure(outcome.what, "", True, outcome.log_tail)
            return
        assert isinstance(outcome, CapturedProgram)
        yield dumped_in(Path(folder), key, outcome)


def dumped_in(folder: Path, key: Key, captured: CapturedProgram) -> DumpedProgram:
    """The program that was compiled with a dump in this folder.

    Raises:
        CaptureError: its compiler wrote no pass dump.
    """
    name = _NAME.match(captured.compiled or "")
    tree = FolderTree(folder)
    found = dumps_of(_files(folder), lambda file: tree.read([file], _MOST_BYTES).get(file, b""))
    whole = [dump for dump in found if dump.is_whole]
    own = [dump for dump in whole if name and dump.key.name == name[1]] or whole
    if not own:
        hint = "compilers of attached devices may ignore the request; dump with XLA_FLAGS there and give the folder"
        raise CaptureError(f"the compiler for {key.target} wrote no pass dump", where=key.name, hint=hint)
    # Of several modules of one name, the last is the program itself: what it needs is compiled before.
    dump = without_repeats(max(own, key=lambda dump: dump.key.number))
    return DumpedProgram(key.name, key.target, dump, captured.stablehlo, captured.compiled or "")
