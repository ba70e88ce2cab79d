"""Changes of recorded files by commits, one line of steps per file, followed through renames and moved folders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import eq
from pathlib import PurePosixPath

from hlodiff.integrations.history.commits import Commit, FileChange, GitObjects, Touch, literally, touching
from hlodiff.integrations.history.recorded_numbers import Kind, Readings
from hlodiff.snapshots.keys import PROGRAMS, PYTEST, SUMMARY, Key, is_safe, key_at
from hlodiff.snapshots.records import TRACES

_PARTS = (*PROGRAMS, *(f"{name}.gz" for name in PROGRAMS))
_MOST_RENAMES = 20
# A pathspec that matches at any depth: a snapshots folder, or the whole project, may have moved.
_ANYWHERE = (f":(top,glob)**/{SUMMARY}", f":(top,glob)**/{TRACES}")


def kind_of(key: Key) -> Kind:
    """The kind of a key: the record of a scenario has no target."""
    return "program" if key.target else "scenario"


@dataclass(frozen=True, slots=True)
class Step:
    """The change of one recorded file in one commit.

    Args:
        commit: the commit.
        key: key of the file at that time.
        base: its snapshots folder at that time, from the top of the repository.
        old, new: git objects of the file on both sides; "" if there is none.
        was: the snapshot's previous folder, from the top, if the commit renamed or moved it; otherwise "".
        aside: whether the commit is on a branch whose version a merge did not take.
    """

    commit: Commit
    key: Key
    base: str
    old: str
    new: str
    was: str = ""
    aside: bool = False

    @property
    def kind(self) -> Kind:
        """Kind of the file."""
        return kind_of(self.key)

    @property
    def folder(self) -> str:
        """The snapshot's folder after the commit, from the top of the repository."""
        return _joined(self.base, self.key.folder if self.key.target else self.key.function)


@dataclass(slots=True)
class StepLine:
    """The steps of one recorded file, newest first.

    Args:
        key: its current name; the target is "" for the record of a scenario.
        steps: newest first.
        successor: its new name, if it no longer exists at the newer end.
        predecessors: names removed in its first commit that are not the same program.
    """

    key: Key
    steps: list[Step] = field(default_factory=list)
    successor: str = ""
    predecessors: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Kind of the file."""
        return kind_of(self.key)

    def beginning(self) -> Step | None:
        """The oldest step, if it added the file."""
        own = [step for step in self.steps if not step.aside]
        return own[-1] if own and not own[-1].old and own[-1].new else None


def key_of(path: str, base: str) -> tuple[Key, str] | None:
    """The key of a recorded file, and the name of the file; None if the path is not a recorded file.

    Example:
        >>> key_of("s/f/cpu/summary.yaml", "s")
        (Key(function='f', case='', target='cpu'), 'summary.yaml')
    """
    inside = path.removeprefix(f"{base}/") if base else path
    *parts, name = inside.split("/")
    if (base and inside == path) or not parts or parts[0] == PYTEST or not all(map(is_safe, parts)):
        return None
    if name == TRACES:
        return (Key(parts[0], "", ""), name) if len(parts) == 1 else None
    if name not in (SUMMARY, *_PARTS) or len(parts) not in (2, 3):
        return None
    return key_at(parts), name


def lines_of(
    touches: Iterable[Touch], base: str, tip: Mapping[str, str], wanted: Callable[[Key], bool]
) -> dict[Key, StepLine]:
    """The steps of all matching recorded files.

    Args:
        touches: newest first.
        base: the snapshots folder from the top of the repository.
        tip: git object of each file at the newer end, by path from the top.
        wanted: whether to include a key.

    Returns:
        lines in order of their keys.
    """
    lines: dict[Key, StepLine] = {}
    for touch in touches:
        for key, (old, new) in _changes(touch, base).items():
            if wanted(key):
                lines.setdefault(key, StepLine(key)).steps.append(Step(touch.commit, key, base, old, new))
    for line in lines.values():
        line.steps[:] = _on_line(line.steps, tip.get(_joined(line.steps[0].folder, _file(line.kind)), ""))
    return dict(sorted(lines.items()))


def _changes(touch: Touch, base: str) -> dict[Key, tuple[str, str]]:
    """Old and new side by key; if only the programs were touched, the unchanged summary beside them."""
    found: dict[Key, tuple[str, str]] = {}
    for change in touch.changes:
        known = key_of(change.path, base)
        if known and known[1] not in _PARTS:
            found[known[0]] = (change.old, change.new)
    for change in touch.changes:
        known = key_of(change.path, base)
        if known and known[0] not in found:
            beside = f"{touch.commit.id}:{PurePosixPath(change.path).parent.as_posix()}/{SUMMARY}"
            found[known[0]] = (beside, beside)
    return found


def _on_line(steps: Sequence[Step], newest: str) -> Iterator[Step]:
    """Follow old sides from the newest version; a version off this line is on a branch that a merge did not take."""
    expected = newest if any(step.new == newest for step in steps) else steps[0].new
    for step in steps:
        alone = ":" in step.new  # the summary was not touched, so it does not help
        if alone or step.new == expected:
            expected = expected if alone else step.old
            yield step
        else:
            yield replace(step, aside=True)


def followed(lines: Iterable[StepLine], repository: GitObjects, left_out: Sequence[str], readings: Readings) -> None:
    """Continue lines that begin with a rename: of the function, its folder, or the whole snapshots folder.

    Args:
        lines: lines, which get the older steps.
        repository: the repository.
        left_out: revisions where history is cut, with `^`.
        readings: reads versions.
    """
    lines = list(lines)
    _successors(lines, repository, readings)
    for _ in range(_MOST_RENAMES):
        begun = [(line, step) for line in lines if (step := line.beginning()) and not step.was]
        starts = [(line, step) for line, step in begun if step.commit.id not in repository.shallow]
        renamed = list(_renamed(starts, repository, readings))
        if not renamed:
            return
        _go_on(renamed, repository, left_out)
        lines = [line for line, _ in renamed]


def _renamed(
    starts: Sequence[tuple[StepLine, Step]], repository: GitObjects, readings: Readings
) -> Iterator[tuple[StepLine, Step]]:
    """Lines that begin where another one ends, with that beginning reported as a rename."""
    around = _around([step for _, step in starts], repository)
    for line, step in starts:
        removed = [one for one in around[step.commit.id] if one.old and not one.new]
        before, others = _same(step, step.new, removed, lambda one: one.old, readings)
        if before is None:
            line.predecessors = others
            continue
        rename = replace(step, old=before.old, was=PurePosixPath(before.path).parent.as_posix())
        line.steps[line.steps.index(step)] = rename
        yield line, rename


def _successors(lines: Sequence[StepLine], repository: GitObjects, readings: Readings) -> None:
    """The new names of lines that no longer exist at the newer end."""
    ends = [(line, line.steps[0]) for line in lines if line.steps and not line.steps[0].new and line.steps[0].old]
    around = _around([step for _, step in ends], repository)
    for line, step in ends:
        added = [one for one in around[step.commit.id] if one.new and not one.old]
        after, _ = _same(step, step.old, added, lambda one: one.new, readings)
        if after is not None:
            line.successor = _name(after.path, step)


def _name(path: str, step: Step) -> str:
    """The display name of a path: its key if it is in the same folder of snapshots, else the path."""
    known = key_of(path, step.base)
    return known[0].name if known else PurePosixPath(path).parent.as_posix()


def _around(steps: Sequence[Step], repository: GitObjects) -> dict[str, tuple[FileChange, ...]]:
    """All recorded files changed by the commits of some steps, in any folder."""
    commits = list(dict.fromkeys(step.commit.id for step in steps))
    found: dict[str, tuple[FileChange, ...]] = dict.fromkeys(commits, ())
    if commits:
        touches = touching(repository, commits, _ANYWHERE, ["--no-walk=unsorted"])
        found |= {touch.commit.id: touch.changes for touch in touches}
    return found


def _same(
    step: Step, known: str, others: Sequence[FileChange], side: Callable[[FileChange], str], readings: Readings
) -> tuple[FileChange | None, tuple[str, ...]]:
    """The file with the same programs for the same target; if there is none, the names of all files for that target."""
    near = [one for one in others if _is_like(one.path, step.key)]
    exact = [one for one in near if side(one) == known]
    if not exact and near:
        readings.read([(known, step.kind, step.key), *((side(one), step.kind, step.key) for one in near)])
        prints = readings[known].fingerprints
        exact = [one for one in near if prints and readings[side(one)].fingerprints == prints]
    own = _parts(step.key)
    exact = [one for one in exact if tuple(one.path.split("/")[-1 - len(own) : -1]) == own] or exact
    return (exact[0], ()) if len(exact) == 1 else (None, tuple(_name(one.path, step) for one in near))


def _is_like(path: str, key: Key) -> bool:
    *folders, name = path.split("/")
    if not key.target:
        return name == TRACES
    return name == SUMMARY and folders[-1:] == [key.target]


def _parts(key: Key) -> tuple[str, ...]:
    return tuple(filter(None, (key.function, key.case, key.target)))


def _go_on(renamed: Sequence[tuple[StepLine, Step]], repository: GitObjects, left_out: Sequence[str]) -> None:
    """Append the older steps of renamed lines: one `git log` for all renames in one commit."""
    by_commit: dict[str, list[tuple[StepLine, Step]]] = {}
    for line, step in renamed:
        by_commit.setdefault(step.commit.id, []).append((line, step))
    for commit, together in by_commit.items():
        specs = [literally(step.was) for _, step in together]
        touches = touching(repository, [f"{commit}^@", *left_out], specs)
        for line, step in together:
            base, key = _place(step.was, step)
            tip = {f"{step.was}/{_file(line.kind)}": step.old}
            older = lines_of(touches, base, tip, partial(eq, key))
            line.steps += older[key].steps if key in older else []


def _place(folder: str, step: Step) -> tuple[str, Key]:
    """The previous snapshots folder and key: only one of the two changes if possible."""
    parts = folder.split("/")
    own = [*_parts(step.key)]
    inside = step.base.split("/") if step.base else []
    if parts[-len(own) :] == own:
        return "/".join(parts[: -len(own)]), step.key
    is_inside = parts[: len(inside)] == inside and len(parts) > len(inside)
    rest = parts[len(inside) if is_inside else -len(own) :]
    base = "/".join(parts[: len(parts) - len(rest)])
    if not step.key.target:
        return base, Key(rest[-1], "", "")
    return base, Key(rest[0], rest[1] if len(rest) > 2 else "", rest[-1])


def _file(kind: Kind) -> str:
    return SUMMARY if kind == "program" else TRACES


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def folders_of(names: Collection[str], base: str) -> list[str]:
    """Pathspecs of the folders with the files of some names; the whole folder if a name is a pattern."""
    if any(set(name) & set("*?[") for name in names):
        return [literally(base) if base else ":(top)"]
    return [literally(_joined(base, name)) for name in names]
