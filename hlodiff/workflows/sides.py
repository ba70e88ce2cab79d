"""What OLD and NEW of `hlodiff diff` name: a program file, a folder, or a git revision; each is a set of programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hlodiff.config import shown_path
from hlodiff.errors import ConfigError, HlodiffError, StoreError, UsageError
from hlodiff.hlo.model import Module, Stage
from hlodiff.snapshots import FolderTree, GitTree, Key, Tree, attach_source, open_revision, read_snapshot, scenarios_of
from hlodiff.snapshots.keys import SUMMARY, is_safe
from hlodiff.snapshots.trees import merge_base
from hlodiff.workflows.compare import STAGES

_SUFFIXES = (".hlo", ".txt", ".mlir", ".pb")
_DUMP = re.compile(r"(?:.*/)?module_(\d+)\.([^/.]+)\.[^/]*?(before|after)_optimizations\.txt$")
_HEAD_NAME = 4096


@dataclass(frozen=True, slots=True)
class Side:
    """One program on one side.

    Args:
        name: function and case, or the relative path without suffix.
        target: None where it is not known.
        stage: by the file's suffix; a single file says itself what it is when it is read.
        load: reads it.
        where: the file, for messages.
        content: its bytes, for telling equal programs of one name apart.
        facts: numbers from summary.yaml; none for plain files.
        recorded: whether it comes from a snapshot, whose text no longer holds what only raw text shows.
        toolchain: what compiled it, from summary.yaml; None where that is not known.
    """

    name: str
    target: str | None
    stage: Stage
    load: Callable[[], Module]
    where: str
    content: Callable[[], bytes]
    facts: Callable[[], Mapping[str, float]] = dict
    recorded: bool = False
    toolchain: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Sides:
    """All programs of one side, what it is called, what must be said of it, and its files."""

    label: str
    programs: list[Side] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    single: bool = False
    tree: Tree | None = None


def open_side(spec: str, project: Path) -> Sides:
    """Find the programs that OLD or NEW names.

    Args:
        spec: a path, or a git revision such as `main`, `HEAD~3` or `v1.2:snapshots`. A path that exists wins; the
            folder of a project (it holds pyproject.toml) stands for its snapshots.
        project: where the configuration is looked for, when a revision names no folder.

    Returns:
        its programs, not read yet.

    Raises:
        UsageError: it is neither a path nor a revision.
        StoreError: the revision or its folder cannot be read.

    Example:
        >>> open_side("snapshots", Path(".")).label  # doctest: +SKIP
        'snapshots'
    """
    path = Path(spec)
    if path.is_dir():
        path = _of_project(path)
        return tree_side(spec, FolderTree(path), FolderTree(path, links=True), PurePosixPath(path.absolute().name))
    if path.exists():
        return Sides(spec, [_file_side(path, spec)], single=True)
    tree = _revision(spec, project)
    return tree_side(spec, tree, tree, PurePosixPath(spec.rpartition(":")[2].strip("/") or "."))


def _revision(spec: str, project: Path) -> GitTree:
    try:
        return open_revision(project, spec, snapshots_folder(project))
    except StoreError as error:
        if spec.endswith(_SUFFIXES) or ("/" in spec and ":" not in spec):
            raise UsageError("no such file, folder or git revision", where=spec) from None
        what = f"neither a file, a folder nor a git revision ({error.what})"
        raise UsageError(what, where=spec, hint=error.hint) from None


def _of_project(folder: Path) -> Path:
    """A project's own folder stands for its snapshots, as a revision of it does; every other folder for itself."""
    if not (folder / "pyproject.toml").is_file():
        return folder
    snapshots = snapshots_folder(folder)
    return snapshots if snapshots.is_dir() else folder


def snapshots_folder(project: Path) -> Path:
    """Where the snapshots of a project lie, also where nothing is configured.

    Args:
        project: where the configuration is looked for.
    """
    from hlodiff.workflows.configuration import load

    try:
        return load(project).snapshots
    except ConfigError:
        return project.absolute() / "snapshots"


def _file_side(path: Path, spec: str) -> Side:
    from hlodiff.hlo import read

    stage: Stage = "stablehlo" if path.name.endswith(".mlir") else "compiled"
    return Side(_stem(path.name), None, stage, lambda: read(spec), spec, path.read_bytes)


def _stem(name: str) -> str:
    name = name.removesuffix(".gz")
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def tree_side(label: str, tree: Tree, plain: Tree, here: PurePosixPath) -> Sides:
    """The programs of a tree: of snapshots, of an XLA dump, or of plain files.

    Args:
        label: what the side is called.
        tree: its files.
        plain: the same, where links to plain program files are followed.
        here: the path below which the tree's files lie, as far as it is known.
    """
    files = tree.files()
    if any(PurePosixPath(file).name == SUMMARY for file in files) or scenarios_of(files):
        return _snapshot_side(label, tree, files, here)
    sides = Sides(label)
    dumps = {file: match for file in files if (match := _DUMP.match(file))}
    if dumps:
        _add_dumps(sides, plain, dumps)
    else:
        _add_files(sides, plain, files)
    if not sides.programs:
        known = ", ".join(_SUFFIXES)
        sides.notes.append(f"{label} holds no snapshot and no program file ({known})")
    return sides


def _snapshot_side(label: str, tree: Tree, files: tuple[str, ...], here: PurePosixPath) -> Sides:
    """A snapshots folder, the folder of one function, or one snapshot."""
    sides = Sides(label, tree=tree)
    folders = sorted(file.rpartition("/")[0] for file in files if PurePosixPath(file).name == SUMMARY)
    for folder in folders:
        # A folder inside `snapshots` gets the parts of its name that stand above it from where it lies.
        parts = folder.split("/") if folder else []
        missing = max(0, 2 - len(parts))
        above = [part for part in here.parts if part not in ("/", ".")][-missing:] if missing else []
        if missing and isinstance(tree, FolderTree):
            above = list(tree.root.absolute().parts[-missing:])
        full = [*above, *parts]
        if len(full) not in (2, 3) or not all(map(is_safe, full)):
            sides.notes.append(f"{folder or label}: a summary.yaml, but no snapshot's place; left out")
            continue
        key = Key(full[0], full[1] if len(full) == 3 else "", full[-1])
        _add_snapshot(sides, tree, key, folder)
    sides.single = len(folders) == 1 and folders[0] == ""
    return sides


def _add_snapshot(sides: Sides, tree: Tree, key: Key, folder: str) -> None:
    from hlodiff.hlo import read_text
    from hlodiff.workflows.compare import stage_facts

    moved = _Moved(tree, folder, key.folder)
    where = f"{tree.where}/{folder}" if folder else tree.where
    try:
        snapshot = read_snapshot(moved, key)
    except HlodiffError as error:
        for stage in STAGES:
            sides.programs.append(Side(key.name, key.target, stage, _raising(error), where, bytes))
        return
    toolchain = snapshot.summary.get("toolchain")
    toolchain = toolchain if isinstance(toolchain, Mapping) else None

    def add(stage: Stage, text: str, name: str) -> None:
        source = (snapshot.source or {}).get(stage)
        sides.programs.append(
            Side(
                key.name, key.target, stage, lambda: attach_source(read_text(text, path=f"{where}/{name}"), source),
                where, text.encode, lambda: stage_facts(snapshot.summary, stage), True, toolchain,
            )
        )  # fmt: skip

    add("stablehlo", snapshot.stablehlo, "stablehlo.mlir")
    add("compiled", snapshot.compiled, "compiled.hlo")


@dataclass(frozen=True, slots=True)
class _Moved:
    """A tree in which one folder is called by its snapshot's full name."""

    tree: Tree
    folder: str
    name: str

    @property
    def where(self) -> str:
        return self.tree.where

    def files(self) -> tuple[str, ...]:
        return self.tree.files()

    def read(self, names: Any, limit: int = 1 << 28) -> dict[str, bytes]:
        prefix = f"{self.folder}/" if self.folder else ""
        actual = {name: prefix + name.removeprefix(self.name + "/") for name in names}
        found = self.tree.read(list(actual.values()), limit)
        return {name: found[real] for name, real in actual.items() if real in found}


def _raising(error: HlodiffError) -> Callable[[], Module]:
    def load() -> Module:
        raise error

    return load


def _add_dumps(sides: Sides, tree: Tree, dumps: Mapping[str, re.Match[str]]) -> None:
    """Programs of an XLA dump: `module_0001.jit_f.cpu_after_optimizations.txt` is `jit_f`."""
    for file, match in sorted(dumps.items(), key=lambda item: (int(item[1].group(1)), item[0])):
        name = match.group(2) + ("" if match.group(3) == "after" else ".before_optimizations")
        sides.programs.append(_plain_side(tree, file, name))


def _add_files(sides: Sides, tree: Tree, files: tuple[str, ...]) -> None:
    left_out = 0
    for file in files:
        if not file.removesuffix(".gz").endswith(_SUFFIXES):
            continue
        if file.endswith(".txt") and not _is_program(tree, file):
            left_out += 1
            continue
        sides.programs.append(_plain_side(tree, file, _stem(file)))
    if left_out:
        sides.notes.append(f"{sides.label}: {left_out} .txt files do not start with `HloModule` and were left out")


def _is_program(tree: Tree, file: str) -> bool:
    """Whether a text file is meant to be a program, whole or not."""
    head = tree.read([file]).get(file, b"")[:_HEAD_NAME]
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"//")]
    return bool(lines) and lines[0].startswith((b"HloModule", b"module"))


def _plain_side(tree: Tree, file: str, name: str) -> Side:
    from hlodiff.hlo import read_bytes

    def content() -> bytes:
        return tree.read([file]).get(file, b"")

    where = f"{tree.where}/{file}"
    stage: Stage = "stablehlo" if file.removesuffix(".gz").endswith(".mlir") else "compiled"
    return Side(name, None, stage, lambda: read_bytes(content(), path=where), where, content)


# No name of a revision holds two dots, so the first ones divide; what looks like a path is none of git's.
_RANGE = re.compile(r"(?P<old>(?:[^.:/][^:]*?)?)(?P<dots>\.{2,3})(?P<new>(?![./])[^:]*)")


def open_sides(old: str, new: str | None, project: Path) -> tuple[Sides, Sides]:
    """Find the programs of both sides.

    Args:
        old: a path, a revision, or a range of revisions where it stands alone: `main..HEAD` compares the two,
            `main...HEAD` compares HEAD with the commit in which it left main. An end that is left out is HEAD.
        new: a path or a revision; without it a revision is compared with the work tree.
        project: where the configuration is looked for.

    Returns:
        old side, new side.

    Raises:
        UsageError: a side is missing, or is nothing that can be compared.
        StoreError: a revision cannot be read, or two have no commit in common.

    Example:
        >>> open_sides("main...HEAD", None, Path("."))[0].label  # doctest: +SKIP
        'main...HEAD (0f3e1c2)'
    """
    ranges = [found for spec in (old, new) if spec and (found := _range(spec))]
    if new is not None:
        if ranges:
            what = "is a range of revisions, which names both sides"
            raise UsageError(what, where=ranges[0].group(), hint=f"hlodiff diff {ranges[0].group()}")
        return open_side(old, project), open_side(new, project)
    if ranges:
        return _of_range(ranges[0], project)
    if Path(old).exists():
        raise UsageError("compared with what? NEW is missing", where=old, hint="hlodiff diff OLD NEW")
    folder = snapshots_folder(project)
    if not folder.is_dir():
        what = f"{old} is compared with the snapshots of the work tree, and there are none"
        raise UsageError(what, where=str(shown_path(folder)), hint="hlodiff update")
    return open_side(old, project), open_side(str(shown_path(folder)), project)


def _range(spec: str) -> re.Match[str] | None:
    return None if Path(spec).exists() else _RANGE.fullmatch(spec)


def _of_range(found: re.Match[str], project: Path) -> tuple[Sides, Sides]:
    old, new = found["old"] or "HEAD", found["new"] or "HEAD"
    if found["dots"] == "..":
        return open_side(old, project), open_side(new, project)
    base = merge_base(project, old, new, found.group())
    tree = open_revision(project, base, snapshots_folder(project))
    label = f"{found.group()} ({base[:7]})"
    tree = replace(tree, spec=label)
    return tree_side(label, tree, tree, PurePosixPath()), open_side(new, project)


Pair = tuple[Side | None, Side | None]
_LAYOUT = re.compile(rb"entry_computation_layout=(\{\(.*?\)->.*?\}), ")
_NAME_HEAD = 65536


def pair(old: Sides, new: Sides) -> list[Pair]:
    """Pair programs by name, target and stage.

    Two single files or two single snapshots are a pair whatever they are called. Several programs of one name, as an
    XLA dump has them where a function was compiled for several shapes, pair by their entry layout, then in order, and
    are told apart by a number.

    Args:
        old, new: both sides.

    Returns:
        pairs in the order of the names; one side is None where only the other one has the program.
    """
    if old.single and new.single:
        return _pair_single(old.programs, new.programs)
    groups: dict[tuple[str, str, Stage], tuple[list[Side], list[Side]]] = {}
    for number, side in enumerate((old, new)):
        for program in side.programs:
            groups.setdefault((program.name, program.target or "", program.stage), ([], []))[number].append(program)
    pairs: list[Pair] = []
    for key in sorted(groups):
        pairs += _pair_group(*groups[key])
    return pairs


def _pair_single(old: Sequence[Side], new: Sequence[Side]) -> list[Pair]:
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    stages = sorted({program.stage for program in (*old, *new)})
    return [
        (next((p for p in old if p.stage == stage), None), next((p for p in new if p.stage == stage), None))
        for stage in stages
    ]


def _pair_group(old: list[Side], new: list[Side]) -> list[Pair]:
    if len(old) <= 1 and len(new) <= 1:
        return [(old[0] if old else None, new[0] if new else None)]
    pairs: list[Pair] = []
    waiting = [(program, _layout(program)) for program in new]
    rest: list[Side] = []
    for program in old:
        layout = _layout(program)
        found = next((item for item in waiting if item[1] == layout), None)
        if found is None:
            rest.append(program)
        else:
            waiting.remove(found)
            pairs.append((program, found[0]))
    others = [program for program, _ in waiting]
    pairs += list(zip(rest, others, strict=False))
    shared = min(len(rest), len(others))
    pairs += [(program, None) for program in rest[shared:]] + [(None, program) for program in others[shared:]]
    return [_numbered(one, number) for number, one in enumerate(pairs, 1)]


def _numbered(one: Pair, number: int) -> Pair:
    old, new = (replace(side, name=f"{side.name}#{number}") if side else None for side in one)
    return old, new


def _layout(program: Side) -> bytes:
    found = _LAYOUT.search(program.content()[:_NAME_HEAD])
    return found.group(1) if found else b""
