"""Programs with a dump of each XLA pass: compiled with a dump, or read from a folder that has one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hlodiff.capture import CapturedProgram, CaptureFailure, NotChecked, Request, TemporaryFolder, capture
from hlodiff.config import Config
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import Limits
from hlodiff.differ.passes.blame import blame, clean
from hlodiff.differ.passes.dumps import Dump, dumps_of, is_pass_dump, without_repeats
from hlodiff.differ.result import Edit
from hlodiff.errors import CaptureError, StoreError, UsageError
from hlodiff.hlo.files import read_bytes
from hlodiff.hlo.grammar import MODULE_NAME
from hlodiff.hlo.model import Module
from hlodiff.report.passes import edit_words
from hlodiff.snapshots import FolderTree, Key
from hlodiff.workflows.capture_side import capture_programs
from hlodiff.workflows.sides import Side, SideComparison, SideFailure, SideProgram, compare_sides

_FLAGS = 'XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text"'
_MOST_FILES = 100_000
_MOST_BYTES = 256 * 1024 * 1024  # of one text, as for any program


@dataclass(frozen=True, slots=True)
class DumpedProgram:
    """One program and the dump of its passes.

    Args:
        name: the function and case, or the module of a folder.
        target: target it was compiled for; None for a folder, whose files do not record it.
        dump: its texts.
        stablehlo: StableHLO text with locations; "" for a folder.
        compiled: text of `as_text()`; "" for a folder.
    """

    name: str
    target: str | None
    dump: Dump
    stablehlo: str = ""
    compiled: str = ""


def is_dump_folder(path: Path) -> bool:
    """Whether a path is a folder with texts of single passes, directly or in subfolders."""
    return path.is_dir() and is_pass_dump(_files(path))


def _files(folder: Path) -> tuple[str, ...]:
    """The names of all files below a folder.

    Raises:
        StoreError: there are more files than a dump can have, or a folder cannot be listed.
    """
    files = FolderTree(folder).files()
    if len(files) > _MOST_FILES:
        raise StoreError(f"holds {len(files):,} files", where=str(folder), hint="give the folder of one compile")
    return files


def folder_dumps(folder: Path, modules: Sequence[str] = ()) -> tuple[DumpedProgram, ...]:
    """The modules of a folder that XLA dumped; links are not followed.

    Args:
        folder: the folder given to `--xla_dump_to`, or a folder of such folders.
        modules: regular expressions for modules (`jit_step`, `module_0003`); all that went through the passes if empty.
            A GPU's autotuner compiles modules of its own.

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
        raise UsageError("has no text of any pass", where=str(folder), hint=f"dump again with {_FLAGS}")
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
        raise UsageError(f"`{text}` is not a regular expression: {error}") from None


@contextmanager
def dumped_program(config: Config, key: Key) -> Iterator[DumpedProgram | SideFailure]:
    """Compile one registered program with a dump; its folder is removed afterwards.

    Args:
        config: the project's.
        key: which program.

    Returns:
        the program, whose texts can be read inside the block, or why there is none.
    """
    with TemporaryFolder() as folder:
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
    """The program compiled with a dump in this folder.

    Raises:
        CaptureError: its compiler wrote no pass dump.
    """
    name = MODULE_NAME.match(captured.compiled or "")
    found = own_dump(folder, name[1] if name else "")
    if found is None:
        hint = "compilers of attached devices may ignore the request; dump with XLA_FLAGS there and give the folder"
        raise CaptureError(f"the compiler for {key.target} wrote no pass dump", where=key.name, hint=hint)
    return DumpedProgram(key.name, key.target, found, captured.stablehlo, captured.compiled or "")


def own_dump(folder: Path, name: str = "") -> Dump | None:
    """The dump of the one program compiled into this folder; None if XLA wrote none.

    Args:
        folder: the dump folder.
        name: the module's name, if known.
    """
    tree = FolderTree(folder)
    found = dumps_of(_files(folder), lambda file: tree.read([file], _MOST_BYTES).get(file, b""))
    whole = [dump for dump in found if dump.is_whole]
    own = [dump for dump in whole if name and dump.key.name == name] or whole
    # Of several modules with one name, the last is the program itself: its dependencies are compiled first.
    return without_repeats(max(own, key=lambda dump: dump.key.number)) if own else None


DumpFolders = dict[Key, Path]
"""The dump folder of each program."""


def dump_all(config: Config, folders: DumpFolders, jobs: int | None) -> None:
    """Recompile programs, each with a dump in its folder; a failure leaves its folder empty.

    Args:
        config: the project's.
        folders: an empty folder for each.
        jobs: number of workers; None for the configured number.
    """
    requests = [Request(key.function, key.case, key.target, dump=str(folder)) for key, folder in folders.items()]
    with closing(capture_programs(config, requests, jobs, "dumping")) as outcomes:
        for _ in outcomes:
            pass


DumpSide = Callable[[DumpFolders], None]
"""Compiles programs of one side with dumps into the given folders."""


def compare_captured(
    config: Config, old: Side, new: Side, dump_sides: tuple[DumpSide, DumpSide] | None = None
) -> SideComparison:
    """Compare two captured sides.

    Args:
        config: the project's, with its limits.
        old, new: the sides.
        dump_sides: recompile changed programs of each side to find the XLA pass that caused a change; None if not
            requested.
    """
    limits = Limits(**dict(config.limits))
    compared = compare_sides(old, new, limits)
    if dump_sides is None:
        return compared
    return replace(compared, programs=blame_passes(compared.programs, *dump_sides, limits))


def blame_passes(
    programs: Sequence[ProgramComparison],
    old: DumpSide,
    new: DumpSide,
    limits: Limits,
) -> tuple[ProgramComparison, ...]:
    """Compared programs, with the passes to blame for those whose compiled HLO changed.

    Args:
        programs: both stages of registered functions.
        old, new: compile programs of that side with dumps into the folders they are given.
        limits: search limits of the differ where two compiles diverge.

    Returns:
        the programs in their order. The folders are removed afterwards.
    """
    chosen = [one for one in programs if one.stage == "compiled" and one.status == "changed" and one.target]
    if not chosen:
        return tuple(programs)
    with TemporaryFolder() as place:
        dumps: list[dict[Key, Dump | None]] = []
        for side, dump_side in (("old", old), ("new", new)):
            folders = {_key_of(one): Path(place, side, str(number)) for number, one in enumerate(chosen)}
            for folder in folders.values():
                folder.mkdir(parents=True)
            dump_side(folders)
            dumps.append({key: own_dump(folder) for key, folder in folders.items()})
        found = {
            (one.name, one.target): with_passes(one, dumps[0][_key_of(one)], dumps[1][_key_of(one)], limits)
            for one in chosen
        }
    return tuple(found.get((one.name, one.target), one) if one in chosen else one for one in programs)


def _key_of(program: ProgramComparison) -> Key:
    function, _, case = program.name.partition("/")
    return Key(function, case, program.target or "")


def pass_dumps(old: str, new: str | None, modules: Sequence[str] = ()) -> tuple[dict[str, Dump], dict[str, Dump]]:
    """The pass dumps of two folders, by the name of the module.

    Args:
        old, new: the folders.
        modules: regular expressions for modules; all that went through the passes if empty.

    Raises:
        UsageError: one of them is not a folder with a pass dump.
    """
    found = []
    for spec in (old, new or ""):
        path = Path(spec)
        if not spec or not path.is_dir():
            hint = "for registered functions: hlodiff upgrade --passes, hlodiff check --against REV --passes"
            raise UsageError("--passes compares two folders of pass dumps", where=spec or "NEW", hint=hint)
        by_name: dict[str, Dump] = {}
        counts: Counter[str] = Counter()
        for one in folder_dumps(path, modules):
            name = one.dump.key.name
            counts[name] += 1
            while (label := f"{name} ({counts[name]})" if counts[name] > 1 else name) in by_name:
                counts[name] += 1
            by_name[label] = without_repeats(one.dump)
        found.append(by_name)
    return found[0], found[1]


def dump_sides(dumps: tuple[dict[str, Dump], dict[str, Dump]], labels: tuple[str, str]) -> tuple[Side, Side]:
    """The final programs of pass dumps, as two sides.

    Args:
        dumps: the result of `pass_dumps`.
        labels: names of the sides.
    """
    sides = []
    for by_name, label in zip(dumps, labels, strict=True):
        programs = [
            SideProgram(name, None, "compiled", partial(last_module, dump), dump.path(dump.stages[-1]))
            for name, dump in by_name.items()
        ]
        sides.append(Side(label, programs))
    return sides[0], sides[1]


def last_module(dump: Dump) -> Module:
    """The module in the last text of a dump."""
    stage = dump.stages[-1]
    return read_bytes(dump.read(stage.file), path=dump.path(stage))


def with_passes(program: ProgramComparison, old: Dump | None, new: Dump | None, limits: Limits) -> ProgramComparison:
    """A compared program with the XLA passes that made it differ.

    Args:
        program: both sides compared.
        old, new: the dumps of both compiles; None if there is none.
        limits: search limits of the differ where the compiles diverge.

    Returns:
        the program with the passes to blame, and each edit with the pass that made it; unchanged if it does not differ
        or a side has no dump.
    """
    found = program.diff
    if old is None or new is None or found is None or not (found.edits or found.schedule or found.tuning):
        return program
    blamed = blame(old, new, limits)
    sides = (clean(found.old), clean(found.new))

    def blamed_edits(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        return tuple(replace(edit, passes=edit_words(blamed, edit, sides)) for edit in edits)

    return replace(
        program,
        diff=replace(found, edits=blamed_edits(found.edits), reported=blamed_edits(found.reported)),
        passes=blamed,
    )
