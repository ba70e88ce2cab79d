"""What commits did to recorded files, one line of steps for each; followed through renames and moved folders."""

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
# A name that starts anywhere: a snapshots folder may have moved, or the whole project.
_ANYWHERE = (f":(top,glob)**/{SUMMARY}", f":(top,glob)**/{TRACES}")


def kind_of(key: Key) -> Kind:
    """What a key names: the record of a scenario has no target."""
    return "program" if key.target else "scenario"


@dataclass(frozen=True, slots=True)
class Step:
    """What one commit did to one recorded file.

    Args:
        commit: which.
        key: whose file it was then.
        base: the snapshots folder it lay in then, from the top of the repository.
        old, new: what git calls the file on both sides; "" where there is none.
        was: the snapshot's folder before, from the top, where the commit renamed or moved it; "" else.
        aside: whether the commit lies on a branch whose version a merge did not take.
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
        """What kind of file it is."""
        return kind_of(self.key)

    @property
    def folder(self) -> str:
        """Where the snapshot lies after the commit, from the top of the repository."""
        return _joined(self.base, self.key.folder if self.key.target else self.key.function)


@dataclass(slots=True)
class StepLine:
    """The steps of one recorded file, newest first.

    Args:
        key: its name now; the target is "" for the record of a scenario.
        steps: newest first.
        successor: its new name, if it was removed by the newer end.
        predecessors: what was removed in the commit in which it begins and is not the same.
    """

    key: Key
    steps: list[Step] = field(default_factory=list)
    successor: str = ""
    predecessors: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """What kind of file it is."""
        return kind_of(self.key)

    def beginning(self) -> Step | None:
        """The oldest step, where it is the one that brought the file."""
        own = [step for step in self.steps if not step.aside]
        return own[-1] if own and not own[-1].old and own[-1].new else None


def key_of(path: str, base: str) -> tuple[Key, str] | None:
    """Whose recorded file a path is, and the name of the file; None where it is nobody's.

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
    """The steps of every recorded file that is wanted.

    Args:
        touches: newest first.
        base: the snapshots folder from the top of the repository.
        tip: what git calls each file at the newer end, by path from the top.
        wanted: which keys.

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
    """Old and new side by key; where only the programs were touched, the summary that lies beside them."""
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
    """Each version is the old side of the next newer one; what is not was on a branch that a merge did not take."""
    expected = newest if any(step.new == newest for step in steps) else steps[0].new
    for step in steps:
        alone = ":" in step.new  # the summary was not touched, so it is no help
        if alone or step.new == expected:
            expected = expected if alone else step.old
            yield step
        else:
            yield replace(step, aside=True)


def followed(lines: Iterable[StepLine], repository: GitObjects, left_out: Sequence[str], readings: Readings) -> None:
    """Go on where a line begins by a rename: of the function, of its folder, or of the whole snapshots folder.

    Args:
        lines: they get the older steps.
        repository: where to look.
        left_out: revisions at which history is cut, with `^`.
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
    """Lines whose beginning is the end of another one, with that beginning reported as a rename."""
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
    """What a line that no longer exists at the newer end was renamed to."""
    ends = [(line, line.steps[0]) for line in lines if line.steps and not line.steps[0].new and line.steps[0].old]
    around = _around([step for _, step in ends], repository)
    for line, step in ends:
        added = [one for one in around[step.commit.id] if one.new and not one.old]
        after, _ = _same(step, step.old, added, lambda one: one.new, readings)
        if after is not None:
            line.successor = _name(after.path, step)


def _name(path: str, step: Step) -> str:
    """How people call what lies at a path: by its key where it is in the same folder of snapshots, else by the path."""
    known = key_of(path, step.base)
    return known[0].name if known else PurePosixPath(path).parent.as_posix()


def _around(steps: Sequence[Step], repository: GitObjects) -> dict[str, tuple[FileChange, ...]]:
    """All recorded files that the commits of some steps changed, wherever they lie."""
    commits = list(dict.fromkeys(step.commit.id for step in steps))
    found: dict[str, tuple[FileChange, ...]] = dict.fromkeys(commits, ())
    if commits:
        touches = touching(repository, commits, _ANYWHERE, ["--no-walk=unsorted"])
        found |= {touch.commit.id: touch.changes for touch in touches}
    return found


def _same(
    step: Step, known: str, others: Sequence[FileChange], side: Callable[[FileChange], str], readings: Readings
) -> tuple[FileChange | None, tuple[str, ...]]:
    """The file that stands for the same programs on the same target, and else the names of all for that target."""
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
    """Append the older steps of renamed lines: one `git log` for all that one commit renamed."""
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
    """Where the snapshots lay before, and what the key was: only one of the two changes where that can be."""
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
    """Pathspecs of the folders in which the files of some names lie; the whole folder where a name is a pattern."""
    if any(set(name) & set("*?[") for name in names):
        return [literally(base) if base else ":(top)"]
    return [literally(_joined(base, name)) for name in names]
