"""Two sides and their comparison: opens OLD and NEW of `hlodiff diff`, pairs their programs and compares each pair."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.differ.comparison import ProgramComparison, donated_parameters, with_compiler
from hlodiff.differ.limits import Limits
from hlodiff.differ.metrics import op_counts, raw_metrics
from hlodiff.errors import CaptureError, ConfigError, DiffError, HlodiffError, StoreError, UsageError, expected_error
from hlodiff.hlo.grammar import ENTRY_LAYOUT
from hlodiff.hlo.model import PROGRAM_NAMES, STAGES, Module, Stage
from hlodiff.report.wording import format_names

if TYPE_CHECKING:
    from hlodiff.snapshots.keys import Key
    from hlodiff.snapshots.read import Snapshot
    from hlodiff.snapshots.trees import GitTree, Tree

# Imports for folders, revisions and snapshots are local: two files do not need them.

_SUFFIXES = (".hlo", ".txt", ".mlir", ".pb")
_DUMP = re.compile(r"(?:.*/)?module_(\d+)\.([^/.]+)\.[^/]*?(before|after)_optimizations\.txt$")
_HEAD_NAME = 4096


@dataclass(frozen=True, slots=True)
class SideFailure:
    """Why one side has no program to compare.

    Args:
        reason: the error, or what this machine lacks.
        advice: a command that helps.
        broken: whether it is an error rather than something missing on this machine.
        log: the end of the worker's log.
    """

    reason: str
    advice: str = ""
    broken: bool = False
    log: str = ""


def failure_of(error: Exception) -> SideFailure:
    """An error in capturing, reading or comparing one program, as a failure of that program alone."""
    known = expected_error(error)
    return SideFailure(str(known), known.hint, True)


@dataclass(frozen=True, slots=True)
class SideProgram:
    """One program on one side, read lazily.

    Args:
        name: function and case, or a file's relative path without suffix.
        target: None if unknown.
        stage: from the file's suffix; for a single file, the content decides when it is read.
        load: reads and parses it.
        where: the file, for messages.
        content: reads its bytes, to distinguish programs of one name.
        snapshot: its snapshot; None for plain files and programs that were only lowered.
        toolchain: the toolchain that compiled it; None if unknown.
        failure: why it cannot be read; None if it can.
    """

    name: str
    target: str | None
    stage: Stage
    load: Callable[[], Module]
    where: str = ""
    content: Callable[[], bytes] = bytes
    snapshot: Snapshot | None = None
    toolchain: Mapping[str, Any] | None = None
    failure: SideFailure | None = None


@dataclass(slots=True)
class Side:
    """All programs of one side, wherever they come from.

    Args:
        label: name in reports: `main (3fa2b1c)`.
        programs: its programs.
        called: prefix of its failures: `at main (3fa2b1c)`; "" if it needs no name.
        recorded: whether these are the snapshots of the work tree, so that an unchecked one does not pass.
        notes: notes for the report.
        single: whether it is one program, whatever its name.
        tree: the files it was read from, if any.
        with_lines, without_lines: names of snapshots that have a source.json, and of those that have none.
    """

    label: str
    programs: list[SideProgram] = field(default_factory=list)
    called: str = ""
    recorded: bool = False
    notes: list[str] = field(default_factory=list)
    single: bool = False
    tree: Tree | None = None
    with_lines: list[str] = field(default_factory=list)
    without_lines: list[str] = field(default_factory=list)


def snapshot_programs(
    snapshot: Snapshot, where: str, *, modules: Mapping[str, Module] | None = None, key: Key | None = None
) -> list[SideProgram]:
    """The programs of a snapshot.

    Args:
        snapshot: content of the snapshot.
        where: name of its folder, for errors.
        modules: its programs, if already parsed.
        key: its key; None for the one in its summary.
    """
    from hlodiff.workflows.build_snapshot import parse_stage

    key = key or snapshot.key
    toolchain = snapshot.summary.get("toolchain")
    toolchain = toolchain if isinstance(toolchain, Mapping) else None
    programs = []
    for stage in STAGES:
        load = partial(modules.__getitem__, stage) if modules else partial(parse_stage, snapshot, stage, where)
        text = snapshot.stablehlo if stage == "stablehlo" else snapshot.compiled
        programs.append(SideProgram(key.name, key.target, stage, load, where, text.encode, snapshot, toolchain))
    return programs


def failed_programs(key: Key, failure: SideFailure, where: str = "") -> list[SideProgram]:
    """Both stages of a failed program."""

    def load() -> Module:
        raise CaptureError(failure.reason, hint=failure.advice)

    return [SideProgram(key.name, key.target, stage, load, where, failure=failure) for stage in STAGES]


def open_side(spec: str, project: Path) -> Side:
    """Find the programs named by OLD or NEW.

    Args:
        spec: a path, or a git revision such as `main`, `HEAD~3` or `v1.2:snapshots`. A path that exists wins; the
            folder of a project (with a pyproject.toml) means its snapshots.
        project: where to look for the configuration if a revision names no folder.

    Returns:
        its programs, read lazily.

    Raises:
        UsageError: it is neither a path nor a revision.
        StoreError: the revision or its folder cannot be read.

    Example:
        >>> open_side("snapshots", Path(".")).label  # doctest: +SKIP
        'snapshots'
    """
    path = Path(spec)
    if path.is_dir():
        from hlodiff.snapshots.trees import FolderTree

        path = _of_project(path)
        return tree_side(spec, FolderTree(path), FolderTree(path, links=True), PurePosixPath(path.absolute().name))
    if path.exists():
        from hlodiff.hlo import read
        from hlodiff.hlo.files import content_of

        stage: Stage = "stablehlo" if path.name.endswith(".mlir") else "compiled"
        return Side(
            spec,
            [SideProgram(_stem(path.name), None, stage, lambda: read(spec), spec, partial(content_of, spec))],
            single=True,
        )
    tree = _revision(spec, project)
    return tree_side(spec, tree, tree, PurePosixPath(spec.rpartition(":")[2].strip("/") or "."))


def _revision(spec: str, project: Path) -> GitTree:
    from hlodiff.snapshots.trees import open_revision

    try:
        return open_revision(project, spec, snapshots_folder(project))
    except StoreError as error:
        if spec.endswith(_SUFFIXES) or ("/" in spec and ":" not in spec):
            raise UsageError("no such file, folder or git revision", where=spec) from None
        what = f"neither a file, a folder nor a git revision ({error.what})"
        raise UsageError(what, where=spec, hint=error.hint) from None


def _of_project(folder: Path) -> Path:
    """The snapshots of a project folder (as for a revision of it); any other folder itself."""
    if not (folder / "pyproject.toml").is_file():
        return folder
    snapshots = snapshots_folder(folder)
    return snapshots if snapshots.is_dir() else folder


def snapshots_folder(project: Path) -> Path:
    """The snapshots folder of a project, also without a configuration.

    Args:
        project: where to look for the configuration.
    """
    from hlodiff.workflows.configuration import load

    try:
        return load(project).snapshots
    except ConfigError:
        return project.absolute() / "snapshots"


def _stem(name: str) -> str:
    name = name.removesuffix(".gz")
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def tree_side(label: str, tree: Tree, plain: Tree, here: PurePosixPath) -> Side:
    """The programs of a tree: of snapshots, of an XLA dump, or of plain files.

    Args:
        label: name of the side.
        tree: its files.
        plain: the same files, following links to plain program files.
        here: the path of the tree, as far as it is known.
    """
    from hlodiff.snapshots.keys import SUMMARY
    from hlodiff.snapshots.records import scenarios_of

    files = tree.files()
    if any(PurePosixPath(file).name == SUMMARY for file in files) or scenarios_of(files):
        return _snapshot_side(label, tree, files, here)
    side = Side(label)
    dumps = {file: match for file in files if (match := _DUMP.match(file))}
    if dumps:  # `module_0001.jit_f.cpu_after_optimizations.txt` is `jit_f`
        for file, match in sorted(dumps.items(), key=lambda item: (int(item[1].group(1)), item[0])):
            name = match.group(2) + ("" if match.group(3) == "after" else ".before_optimizations")
            side.programs.append(_plain_program(plain, file, name))
    else:
        _add_files(side, plain, files)
    if not side.programs:
        known = ", ".join(_SUFFIXES)
        side.notes.append(f"{label} holds no snapshot and no program file ({known})")
    return side


def _snapshot_side(label: str, tree: Tree, files: tuple[str, ...], here: PurePosixPath) -> Side:
    """A snapshots folder, the folder of one function, or one snapshot."""
    from hlodiff.snapshots.keys import SUMMARY, is_safe, key_at
    from hlodiff.snapshots.trees import FolderTree

    side = Side(label, tree=tree)
    folders = sorted(file.rpartition("/")[0] for file in files if PurePosixPath(file).name == SUMMARY)
    for folder in folders:
        # For a folder inside `snapshots`, take the missing parts of the key from the folders above it.
        parts = folder.split("/") if folder else []
        missing = max(0, 2 - len(parts))
        above = [part for part in here.parts if part not in ("/", ".")][-missing:] if missing else []
        if missing and isinstance(tree, FolderTree):
            above = list(tree.root.absolute().parts[-missing:])
        full = [*above, *parts]
        if len(full) not in (2, 3) or not all(map(is_safe, full)):
            side.notes.append(f"{folder or label}: a summary.yaml, but no snapshot's place; skipped")
            continue
        key = key_at(full)
        _add_snapshot(side, tree, key, folder)
    if side.with_lines and side.without_lines:
        names = format_names(list(dict.fromkeys(side.without_lines)))
        side.notes.append(f"{label}: no source.json, so no Python lines: {names}")
    side.single = len(folders) == 1 and folders[0] == ""
    return side


def _add_snapshot(side: Side, tree: Tree, key: Key, folder: str) -> None:
    from hlodiff.snapshots.read import read_snapshot, source_problem
    from hlodiff.snapshots.trees import RenamedFolder

    where, renamed = f"{tree.where}/{folder}" if folder else tree.where, RenamedFolder(tree, folder, key.folder)
    try:
        snapshot = read_snapshot(renamed, key)
    except HlodiffError as error:
        side.programs += failed_programs(key, failure_of(error), where)
        return
    problem = source_problem(renamed, key, snapshot)
    if problem:
        side.notes.append(f"{where}/source.json {problem}: Python lines may be missing")
    side.programs += snapshot_programs(snapshot, where, key=key)
    (side.with_lines if snapshot.source or problem else side.without_lines).append(key.name)


def _add_files(side: Side, tree: Tree, files: tuple[str, ...]) -> None:
    left_out = 0
    for file in files:
        if not file.removesuffix(".gz").endswith(_SUFFIXES):
            continue
        if file.endswith(".txt") and not _is_program(tree, file):
            left_out += 1
            continue
        side.programs.append(_plain_program(tree, file, _stem(file)))
    if left_out:
        side.notes.append(f"{side.label}: {left_out} .txt files do not start with `HloModule` and were skipped")


def _is_program(tree: Tree, file: str) -> bool:
    """Whether a text file is meant to be a program, even a truncated one."""
    head = tree.read([file]).get(file, b"")[:_HEAD_NAME]
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"//")]
    return bool(lines) and lines[0].startswith((b"HloModule", b"module"))


def _plain_program(tree: Tree, file: str, name: str) -> SideProgram:
    from hlodiff.hlo import read_bytes

    def content() -> bytes:
        return tree.read([file]).get(file, b"")

    where = f"{tree.where}/{file}"
    stage: Stage = "stablehlo" if file.removesuffix(".gz").endswith(".mlir") else "compiled"
    return SideProgram(name, None, stage, lambda: read_bytes(content(), path=where), where, content)


# Revision names contain no `..`, so the first one separates the ends; a path is not a range.
_RANGE = re.compile(r"(?P<old>(?:[^.:/][^:]*?)?)(?P<dots>\.{2,3})(?P<new>(?![./])[^:]*)")


def open_sides(old: str, new: str | None, project: Path) -> tuple[Side, Side]:
    """Find the programs of both sides.

    Args:
        old: a path, a revision, or, without `new`, a range of revisions: `main..HEAD` compares the two, `main...HEAD`
            compares HEAD with the commit in which it left main. A missing end is HEAD.
        new: a path or a revision; without it a revision is compared with the work tree.
        project: where the configuration is looked for.

    Returns:
        old side, new side.

    Raises:
        UsageError: a side is missing or cannot be compared.
        StoreError: a revision cannot be read, or two have no commit in common.

    Example:
        >>> open_sides("main...HEAD", None, Path("."))[0].label  # doctest: +SKIP
        'main...HEAD (0f3e1c2)'
    """
    texts = [spec for spec in (old, new) if spec and not Path(spec).exists()]
    ranges = [found for spec in texts if (found := _RANGE.fullmatch(spec))]
    if new is not None:
        if ranges:
            what = "is a range of revisions, which names both sides"
            raise UsageError(what, where=ranges[0].group(), hint=f"hlodiff diff {ranges[0].group()}")
        return open_side(old, project), open_side(new, project)
    if ranges:
        return _of_range(ranges[0], project)
    if Path(old).exists():
        raise UsageError("NEW is missing", where=old, hint="hlodiff diff OLD NEW")
    from hlodiff.config import shown_path

    folder = snapshots_folder(project)
    if not folder.is_dir():
        what = f"{old} is compared with the snapshots of the work tree, and there are none"
        raise UsageError(what, where=str(shown_path(folder)), hint="hlodiff update")
    return open_side(old, project), open_side(str(shown_path(folder)), project)


def _of_range(found: re.Match[str], project: Path) -> tuple[Side, Side]:
    from hlodiff.snapshots.trees import merge_base, open_revision

    old, new = found["old"] or "HEAD", found["new"] or "HEAD"
    if found["dots"] == "..":
        return open_side(old, project), open_side(new, project)
    base = merge_base(project, old, new, found.group())
    tree = open_revision(project, base, snapshots_folder(project))
    label = f"{found.group()} ({base[:7]})"
    tree = replace(tree, spec=label)
    return tree_side(label, tree, tree, PurePosixPath()), open_side(new, project)


Pair = tuple[SideProgram | None, SideProgram | None]
_NAME_HEAD = 65536


def pair(old: Side, new: Side, *, in_order: bool = False) -> list[Pair]:
    """Pair programs by name, target and stage.

    Two single files or two single snapshots pair whatever their names. Several programs of one name, as in an XLA dump
    of a function compiled for several shapes, pair by entry layout, then in order, and are numbered.

    Args:
        old, new: both sides.

    Returns:
        pairs in the order of the new side, then old programs without a counterpart, or by name with `in_order`; a side
        is None if it lacks the program.
    """
    if old.single and new.single:
        if len(old.programs) == len(new.programs) == 1:
            return [(old.programs[0], new.programs[0])]
        stages = list(dict.fromkeys(program.stage for program in (*old.programs, *new.programs)))
        return [
            (
                next((p for p in old.programs if p.stage == stage), None),
                next((p for p in new.programs if p.stage == stage), None),
            )
            for stage in (sorted(stages) if in_order else stages)
        ]
    groups: dict[tuple[str, str, Stage], tuple[list[SideProgram], list[SideProgram]]] = {}
    for number, side in ((1, new), (0, old)):
        for program in side.programs:
            groups.setdefault((program.name, program.target or "", program.stage), ([], []))[number].append(program)
    pairs: list[Pair] = []
    for key in sorted(groups) if in_order else groups:
        pairs += _pair_group(*groups[key])
    return pairs


def _pair_group(old: list[SideProgram], new: list[SideProgram]) -> list[Pair]:
    if len(old) <= 1 and len(new) <= 1:
        return [(old[0] if old else None, new[0] if new else None)]
    pairs: list[Pair] = []
    left: dict[bytes, deque[int]] = {}
    for place, program in enumerate(new):
        left.setdefault(_layout(program), deque()).append(place)
    rest: list[SideProgram] = []
    for program in old:
        places = left.get(_layout(program))
        if places:
            pairs.append((program, new[places.popleft()]))
        else:
            rest.append(program)
    others = [new[place] for place in sorted(place for places in left.values() for place in places)]
    pairs += list(zip(rest, others, strict=False))
    shared = min(len(rest), len(others))
    pairs += [(program, None) for program in rest[shared:]] + [(None, program) for program in others[shared:]]
    return [
        (
            replace(old, name=f"{old.name}#{number}") if old else None,
            replace(new, name=f"{new.name}#{number}") if new else None,
        )
        for number, (old, new) in enumerate(pairs, 1)
    ]


def _layout(program: SideProgram) -> bytes:
    head = program.content()[:_NAME_HEAD]
    start = max(head.find(b"entry_computation_layout="), 0)
    found = ENTRY_LAYOUT.match(head, start)  # match at one position only: each attempt may scan to the end
    return found.group(1) if found else b""


# --- The one comparison of two sides, for `check`, `check --against`, `upgrade` and `diff`.

_BUG = "this is a bug in hlodiff: please report it with both programs, {old} and {new}"
Toolchain = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SideComparison:
    """The comparison of two sides.

    Args:
        programs: every program of either side.
        toolchains: target, old and new toolchain of each program on both sides, if known.
    """

    programs: tuple[ProgramComparison, ...] = ()
    toolchains: tuple[tuple[str, Toolchain, Toolchain], ...] = ()


def compare_sides(
    old: Side,
    new: Side,
    limits: Limits,
    *,
    pairs: Iterable[Pair] | None = None,
    verify: bool = False,
    on_compared: Callable[[ProgramComparison], None] = lambda program: None,
) -> SideComparison:
    """Compare two sides program by program.

    Args:
        old, new: both sides.
        limits: search limits of the differ.
        pairs: pairs to compare; all of `pair(old, new)` where None.
        verify: whether to apply the edits to each old program, and report it if that does not give the new one.
        on_compared: called with each compared program.

    Returns:
        one record for each pair, in their order. An error in reading or comparing a program affects that program alone.

    Example:
        >>> compare_sides(Side("old"), Side("new"), Limits()).programs
        ()
    """
    pairs = pair(old, new) if pairs is None else list(pairs)
    programs = []
    for before, after in pairs:
        programs.append(_compare_program(before, after, old, new, limits, verify))
        on_compared(programs[-1])
    known = {
        (after.name, after.target): (before.toolchain, after.toolchain)
        for before, after in pairs
        if before and after and before.target == after.target and None not in (before.toolchain, after.toolchain)
    }
    upgraded = {label for label, (one, other) in known.items() if one != other}
    return SideComparison(
        with_compiler(programs, lambda program: (program.name, program.target) in upgraded),
        tuple((target or "", one or {}, other or {}) for (_, target), (one, other) in known.items()),
    )


def _compare_program(
    before: SideProgram | None, after: SideProgram | None, old: Side, new: Side, limits: Limits, verify: bool
) -> ProgramComparison:
    one = after or before
    assert one is not None
    failures = before.failure if before else None, after.failure if after else None
    if not any(failures):
        try:
            if before is None or after is None:
                return _one_sided(one, "added" if after else "removed")
            if before.snapshot is not None and before.snapshot is after.snapshot:
                return _one_sided(before, "identical")
            compared = _compare_both(before, after, limits)
            return _verified(compared, before, after) if verify else compared
        except Exception as error:
            failures = None, failure_of(error)
    failure = _joint_failure(*failures, old, new)
    return ProgramComparison(
        one.name,
        one.target,
        one.stage,
        "not_checked",
        reason=failure.reason,
        advice=failure.advice,
        broken=failure.broken,
        log=failure.log,
        recorded=old.recorded and before is not None and not failure.broken,
    )


def _joint_failure(before: SideFailure | None, after: SideFailure | None, old: Side, new: Side) -> SideFailure:
    """One failure if both sides have the same reason, else each reason with the name of its side."""
    main = after or before
    assert main is not None
    reason = main.reason
    if before is None or after is None or before.reason != after.reason:
        failures = ((old.called, before), (new.called, after))
        reason = "; ".join(f"{name}: {one.reason}" if name else one.reason for name, one in failures if one)
    broken = any(one is not None and one.broken for one in (before, after))
    return SideFailure(reason, main.advice, broken, main.log)


def _one_sided(program: SideProgram, status: Literal["added", "removed", "identical"]) -> ProgramComparison:
    """A program without a diff: on one side alone, or known to be the same on both."""
    module = program.load()
    facts = _facts(program, module.stage)
    return ProgramComparison(
        program.name,
        program.target,
        module.stage,
        status,
        None,
        {} if status == "added" else facts,
        {} if status == "removed" else facts,
        op_counts(module),
        donated=() if status == "removed" else _donated(program),
        module=module,
    )


def _compare_both(old: SideProgram, new: SideProgram, limits: Limits) -> ProgramComparison:
    from hlodiff.differ import diff

    before, after = old.load(), new.load()
    if before.stage != after.stage:
        what = f"{old.where} is {PROGRAM_NAMES[before.stage]}, {new.where} is {PROGRAM_NAMES[after.stage]}"
        raise DiffError(what, hint="compare programs of the same stage")
    found = diff(before, after, limits=limits)
    status: Literal["identical", "changed"] = "identical" if found.identical else "changed"
    # Facts beside the programs come from summaries or from raw text; the two do not mix.
    if old.snapshot is None and new.snapshot is None:
        facts = raw_metrics(before), raw_metrics(after)
    else:
        facts = _facts(old, before.stage), _facts(new, after.stage)
    return ProgramComparison(new.name, new.target, after.stage, status, found, *facts, donated=_donated(new))


def _facts(program: SideProgram, stage: Stage) -> dict[str, float]:
    if program.snapshot is None:
        return {}
    from hlodiff.workflows.build_snapshot import (
        stage_facts,  # imports everything that reads and writes snapshots, which plain files do not need
    )

    return stage_facts(program.snapshot.summary, stage)


def _donated(program: SideProgram) -> tuple[int, ...]:
    return donated_parameters(program.snapshot.summary) if program.snapshot else ()


def _verified(compared: ProgramComparison, old: SideProgram, new: SideProgram) -> ProgramComparison:
    """The comparison, after checking that its edits turn the old program into the new one."""
    assert compared.diff is not None
    outcome = compared.diff.replay()
    if not outcome.missing:
        return replace(compared, replayed=outcome.complete)
    more = outcome.missing - len(outcome.failures)
    what = ["internal error: the edits do not turn the old program into the new one", *outcome.failures]
    return ProgramComparison(
        compared.name, compared.target, compared.stage, "not_checked", replayed=False, broken=True,
        reason="\n".join([*what, f"and {more} more"] if more else what),
        advice=_BUG.format(old=old.where, new=new.where),
    )  # fmt: skip
