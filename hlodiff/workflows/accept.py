"""`hlodiff.accept` and `hlodiff review`: record or drop pending programs and records without recompiling."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hlodiff.config import Config, closest, refuse_in_ci, shown_path, suggestion
from hlodiff.differ.classify import CLASSES
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import StoreError, UsageError
from hlodiff.report.lines import json_text, printable
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.report.shared_text import texts_of
from hlodiff.report.wording import format_names, many
from hlodiff.snapshots import (
    RECORDS,
    Backup,
    Key,
    PendingRecord,
    back_up,
    digests,
    drop_pending,
    drop_record,
    holding,
    restore,
    tidy_pending,
    write_snapshot,
    writing,
)
from hlodiff.snapshots.paths import place_below, refuse_links
from hlodiff.snapshots.pending import Kind
from hlodiff.snapshots.records import record_path
from hlodiff.snapshots.write import replace_file
from hlodiff.workflows.configuration import load
from hlodiff.workflows.pending import (
    PendingProgram,
    base_of,
    base_record,
    compare_pending,
    is_record,
    kind_of,
    kind_of_program,
    list_pending,
    load_pending,
    load_records,
    standing,
    standing_record,
)
from hlodiff.workflows.pending_writer import FOLDER, pending_folder
from hlodiff.workflows.select import as_patterns, selected
from hlodiff.workflows.source_lines import of_snapshots
from hlodiff.workflows.staleness import Freshness

_ID = re.compile(r"[0-9a-f]{4,8}")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pending programs a command is about.

    Args:
        words: names, patterns of names, ids and id prefixes.
        targets: patterns for targets.
        patterns: ids of changes; a program is selected if all its changes are among them.
        classes: classes of change; a program is selected if all its classes are among them.
        everything: whether everything is selected.
    """

    words: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.words or self.targets or self.patterns or self.classes or self.everything)


def by_name(selection: Selection, ids: Mapping[Key, str]) -> tuple[Key, ...]:
    """Programs that match the words and the targets of a selection.

    Args:
        selection: which programs.
        ids: the id of each pending program; "" if it cannot be read.

    Returns:
        keys in order.

    Raises:
        UsageError: a word matches nothing, or is a prefix of several ids.
    """
    keys: dict[Key, None] = {} if selection.words else dict.fromkeys(ids)
    for word in selection.words:
        keys |= dict.fromkeys(_of_word(word, ids))
    for target in selection.targets:
        if not any(_on_targets(key, [target]) for key in ids):
            names = ", ".join(dict.fromkeys(key.target for key in ids))
            raise UsageError(f"nothing is pending for target `{target}`", hint=f"pending targets: {names}")
    return tuple(key for key in ids if key in keys and _on_targets(key, selection.targets))


def _on_targets(key: Key, targets: Sequence[str]) -> bool:
    """Whether the target patterns match; scenarios and growth count as cpu."""
    return selected(key, (), targets) or (is_record(key) and selected(replace(key, target="cpu"), (), targets))


def records_by_change(selection: Selection, kinds: Mapping[Key, Kind]) -> tuple[Key, ...]:
    """Records selected by class (`traces`, `growth`); all if no class or pattern is given.

    Args:
        selection: which programs.
        kinds: records that match by name, with how they differ; "facts" counts as class `identical`, as for programs.
    """
    if not (selection.patterns or selection.classes):
        return tuple(kinds)
    words = {key: {key.target, *(["identical"] if kind == "facts" else [])} for key, kind in kinds.items()}
    return tuple(key for key in kinds if not selection.patterns and words[key] & set(selection.classes))


def _of_word(word: str, ids: Mapping[Key, str]) -> list[Key]:
    named = [key for key in ids if selected(key, [word], ())]
    if named:
        return named
    found = [key for key, own in ids.items() if _ID.fullmatch(word) and own.startswith(word)]
    if len(found) > 1:
        raise UsageError(f"`{word}` begins {len(found)} ids", hint="give more digits")
    if not found:
        names = list(dict.fromkeys(key.name for key in ids))
        near = closest(word, names)
        hint = f"did you mean `{near}`? " if near else f"pending: {format_names(names)}; " if names else ""
        again = "`hlodiff check` captures what differs from its snapshot"
        raise UsageError(f"no pending program is called `{word}`", hint=f"{hint}{again}")
    return found


def by_change(config: Config, selection: Selection, programs: Sequence[PendingProgram]) -> dict[Key, str]:
    """Programs whose every change is selected by pattern or class; all if neither is given.

    Args:
        config: the project's.
        selection: which programs.
        programs: those that match by name.

    Returns:
        "" for each program that is selected, and for each that has other changes too, which these are.

    Raises:
        UsageError: no program has the pattern, or there is no such class.
    """
    if not (selection.patterns or selection.classes):
        return {one.key: "" for one in programs}
    for word in selection.classes:
        if word not in (known := (*CLASSES, *RECORDS)):
            raise UsageError(f"there is no class of change called `{word}`", hint=suggestion(word, known, "classes"))
    # Both stages of each program, compared with its snapshot, and whether one toolchain made both sides.
    compared: dict[Key, tuple[tuple[ProgramComparison, ...], bool]] = {}
    for one in programs:
        base = base_of(config, one.key)
        before = base.stored.snapshot.summary.get("toolchain") if base.stored else None
        same_toolchain = before == one.pending.snapshot.summary.get("toolchain")
        compared[one.key] = compare_pending(config, one, base).programs, same_toolchain
    result: dict[Key, str] = {}
    of_pattern = _by_pattern(config, selection.patterns, compared)
    for key, (stages, _) in compared.items():
        reasons = [of_pattern[key]] if selection.patterns else []
        if selection.classes:
            found = classes_of_program(stages)
            others = [name for name in found if name not in selection.classes]
            reason = f"is also {', '.join(others)}" if others else ""
            reasons.append(reason if len(others) < len(found) else None)
        if all(reason is not None for reason in reasons):
            result[key] = "; ".join(reason for reason in reasons if reason)
    return result


def _by_pattern(
    config: Config, patterns_given: Sequence[str], compared: Mapping[Key, tuple[tuple[ProgramComparison, ...], bool]]
) -> dict[Key, str | None]:
    """For each program: "" if it has only these changes, None if it has none of them, else its other changes."""
    programs = [stage for stages, _ in compared.values() for stage in stages]
    owners = [key for key, (stages, _) in compared.items() for _ in stages]
    has: dict[tuple[Key, str], dict[str, None]] = {}
    known: dict[str, None] = {}
    for entry in texts_of(Report("check", "", "", tuple(programs), root=str(config.root))).patterns:
        known[entry.id] = None
        for number, _ in entry.edits:
            has.setdefault((owners[number], programs[number].stage), {})[entry.id] = None
    for word in patterns_given:
        if not any(own.startswith(word) for own in known):
            raise UsageError(f"no pending program has the pattern `{word}`", hint="`hlodiff check` shows patterns")
    chosen = {own for own in known if any(own.startswith(word) for word in patterns_given)}
    found: dict[Key, str | None] = {}
    for key, (_, same_toolchain) in compared.items():
        written, made = has.get((key, "stablehlo"), {}), has.get((key, "compiled"), {})
        # With the same compiler, changes in the compiled program follow from those in StableHLO.
        rest = made if not written or not same_toolchain else {}
        others = [own for own in {**written, **rest} if own not in chosen]
        more = f" and {len(others) - 5:,} more" if len(others) > 5 else ""
        words = f"has other changes too: pattern{'s' * (len(others) > 1)} {', '.join(others[:5])}{more}"
        touched = bool(chosen & {*written, *made})
        found[key] = (words if others else "") if touched else None
    return found


def classes_of_program(stages: Sequence[ProgramComparison]) -> tuple[str, ...]:
    """The classes of change of a program, both stages together.

    Args:
        stages: both, compared.

    Returns:
        class names in order; only "toolchain" if the compiler caused every change; () for a program without a snapshot.
    """
    if any(stage.status == "added" for stage in stages):
        return ()
    if any(stage.by_compiler for stage in stages):
        return ("toolchain",)
    found = {name for stage in stages if stage.diff for name in stage.classes}
    changed = found - {"identical"}
    return tuple(name for name in CLASSES if name in changed) or ("identical",)


Status = Literal["accepted", "rejected", "recorded", "refused", "left"]
_STATUSES: tuple[Status, ...] = ("accepted", "rejected", "recorded", "refused", "left")
_WORDS = {"recorded": "recorded already", "left": "left pending"}
_KINDS = {"new": "new", "changed": "changed", "facts": "same program, other toolchain, figures or paths"}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one pending program.

    Args:
        key: which program.
        status: "recorded" if its snapshot was already the same, "left" if it has changes other than the selected ones.
        what: why, or what changed, one line each.
        id: its id on the command line; "" if it could not be read.
    """

    key: Key
    status: Status
    what: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class AcceptResult:
    """What `accept` did.

    Args:
        decisions: one for each program and record that was selected.
        remaining: how many are still pending; 0 for the folder of another machine.
        next: the command to type next.
    """

    decisions: tuple[Decision, ...]
    remaining: int
    next: str

    @property
    def exit_code(self) -> int:
        """0, or 2 if something was refused."""
        return 2 if any(one.status == "refused" for one in self.decisions) else 0

    @property
    def verdict(self) -> Literal["clean", "undecided"]:
        """The exit code as a word."""
        return "undecided" if self.exit_code else "clean"


def accept(
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    *,
    root: str | Path = ".",
    patterns: Sequence[str] = (),
    classes: Sequence[str] = (),
    everything: bool = False,
    pending: str | Path | None = None,
    stale: bool = False,
    ci_write: bool = False,
) -> AcceptResult:
    """Record what an earlier `check` captured, without compiling, running your code or printing.

    A program is refused if its snapshot, the project's files, its configuration or its toolchain changed since it was
    captured.

    Args:
        names: functions (`"train"`), cases (`"train/small"`), patterns (`"train*"`), scenarios, or ids of a report.
        targets: targets (`"cpu"`) or patterns (`"tpu-*"`); all targets where empty.
        root: the project: a folder with pyproject.toml, or one below it.
        patterns: ids of changes (`Report` lists them): only programs that have no other change are recorded.
        classes: classes of change, such as "cost", "toolchain", "traces" or "growth": likewise.
        everything: whether to record everything pending.
        pending: the folder of another machine, such as one uploaded by CI (if nothing is selected, all of it); None for
            the project's own.
        stale: whether to also record captures made before files, configuration or packages changed.
        ci_write: whether to write although this is CI (the environment variable CI is set).

    Returns:
        one decision for each program, and the exit code.

    Raises:
        ConfigError: there is no `[tool.hlodiff]` table, or it has a mistake.
        StoreError: a snapshot cannot be written, or another process is writing snapshots.
        UsageError: nothing is pending, nothing is selected, a name or pattern matches nothing, or this is CI.

    Example:
        >>> result = hlodiff.accept(["train_step"], root="project")  # doctest: +SKIP
        >>> [(one.key.name, one.status) for one in result.decisions]  # doctest: +SKIP
        [('train_step', 'accepted')]
    """
    refuse_in_ci(ci_write, "accept")
    config = load(Path(root))
    folder = pending_folder_of(config, pending)
    selection = Selection(
        as_patterns(names), as_patterns(targets), as_patterns(patterns), as_patterns(classes), everything
    )
    if pending is not None and not selection:
        selection = Selection(everything=True)
    found = find_pending(config, folder, selection)
    with writing(shown_path(config.snapshots)):
        own, freshness = pending_folder(config), Freshness(config, pending is not None, stale)
        decisions = [*(accept_program(config, one, own, freshness) for one in found.programs), *found.broken]
        decisions += [accept_record(config, one, own, freshness) for one in found.records]
    with suppress(StoreError):  # what is accepted is recorded
        tidy_pending(own)
    decisions += found.left
    remaining = len(list_pending(folder)) if pending is None else 0
    statuses = {one.status for one in decisions}
    following = "hlodiff review" if remaining and "refused" not in statuses else "hlodiff check"
    if "accepted" in statuses:
        following = f"git add {shown_path(config.snapshots)}"
    return AcceptResult(tuple(decisions), remaining, following)


def pending_folder_of(config: Config, given: str | Path | None) -> Path:
    """The pending folder: the project's own, or one from another machine (a pending folder, or a checkout with one)."""
    if given is None:
        return pending_folder(config)
    inner = Path(given) / FOLDER
    return inner if inner.is_dir() else Path(given)


@dataclass(frozen=True, slots=True)
class PendingSelection:
    """The pending programs and records that were selected.

    Args:
        programs: whole programs.
        broken: those that cannot be read.
        left: programs that have other changes too.
        records: pending traces and growth.
    """

    programs: tuple[PendingProgram, ...]
    broken: tuple[Decision, ...]
    left: tuple[Decision, ...]
    records: tuple[PendingRecord, ...] = ()


def find_pending(config: Config, root: Path, selection: Selection) -> PendingSelection:
    """Read the selected pending programs.

    Args:
        config: the project's.
        root: the pending folder.
        selection: which programs.

    Returns:
        the programs, read and verified.

    Raises:
        UsageError: nothing is pending, nothing was selected, or nothing matches.
    """
    refuse_links(shown_path(config.root / FOLDER))  # accepted programs are deleted there
    keys = list_pending(root)
    if not keys:
        what = "is not a folder" if not root.is_dir() else "nothing is pending here"
        hint = "`hlodiff check` leaves here what is new or changed"
        raise UsageError(
            what if root.is_dir() else f"nothing is pending: {what}", where=str(shown_path(root)), hint=hint
        )
    if not selection:
        records_here = sum(is_record(key) for key in keys)  # traces and growth are records
        counts = ((len(keys) - records_here, "program"), (records_here, "record"))
        what = " and ".join(many(count, word) for count, word in counts if count)
        names = format_names(list(dict.fromkeys(key.name for key in keys)), 5)
        hint = f"name programs, or pass --everything; pending: {names}"
        raise UsageError(f"{what} pending, and none was named", hint=hint)
    by_names = [key for key in keys if selected(key, selection.words, selection.targets)]
    # An id is known only once its program is read; if names are enough, the others are not read.
    if all(any(selected(key, [word], ()) for key in by_names) for word in selection.words) and by_names:
        keys = tuple(by_names)
    everything, broken = load_pending(root, [key for key in keys if not is_record(key)])
    records, broken_records = load_records(root, [key for key in keys if is_record(key)])
    broken |= broken_records
    ids = {key: one.id for key, one in everything.items()} | {key: one.id for key, one in records.items()}
    named = by_name(selection, {key: ids.get(key, "") for key in keys})
    matching = by_change(config, selection, [everything[key] for key in named if key in everything])
    reasons = {key: tuple(filter(None, broken[key].render().split("\n"))) for key in named if key in broken}
    kinds = {key: kind_of(config, records[key]) for key in named if key in records}
    return PendingSelection(
        tuple(everything[key] for key, others in matching.items() if not others),
        tuple(Decision(key, "refused", why) for key, why in reasons.items()),
        tuple(Decision(key, "left", (why,), ids[key]) for key, why in matching.items() if why),
        tuple(records[key] for key in records_by_change(selection, kinds)),
    )


def accept_program(config: Config, one: PendingProgram, root: Path, freshness: Freshness) -> Decision:
    """Record one pending program, unless its snapshot or its inputs changed since the capture.

    Call it with the snapshots folder held (`hlodiff.snapshots.write`).

    Args:
        config: the project's.
        one: the program.
        root: the pending folder, from which it is dropped.
        freshness: knows what has changed.

    Returns:
        the decision.

    Raises:
        StoreError: the snapshot cannot be written.
    """
    place_below(shown_path(config.snapshots), one.key.folder)  # a link would lead outside of the snapshots
    base = base_of(config, one.key)
    now = standing(one, base)
    if base.stale:
        again = f"hint: hlodiff update {one.key.name} --target {one.key.target}"
        what = "a merge has left its snapshot stale, and this was captured before"
        return Decision(one.key, "refused", (what, again), one.id)
    if now == "stale":
        again = f"hint: hlodiff check {one.key.name} --target {one.key.target}"
        return Decision(one.key, "refused", ("its snapshot has changed since this was captured", again), one.id)
    changes = freshness.refusal(one.key, one.pending.origin) if now == "ready" else ()
    if changes:
        return Decision(one.key, "refused", changes, one.id)
    kind = kind_of_program(config, one, base)
    if now == "ready":
        write_snapshot(shown_path(config.snapshots), one.pending.snapshot, config.max_file_bytes)
    left = _dropped(drop_pending, root, one.key)
    if now == "done":
        return Decision(one.key, "recorded", left, one.id)
    return Decision(one.key, "accepted", (_KINDS[kind], *left), one.id)


def _dropped(drop: Callable[[Path, Key], None], root: Path, key: Key) -> tuple[str, ...]:
    """Drop a recorded program from the pending folder; the reason if it cannot be dropped."""
    try:
        drop(root, key)
    except StoreError as error:
        return (f"still pending, because {error}",)
    return ()


def accept_record(config: Config, one: PendingRecord, root: Path, freshness: Freshness) -> Decision:
    """Record pending traces or growth, unless the record or their inputs changed since the capture.

    Call it with the snapshots folder held.

    Args:
        config: the project's.
        one: the record.
        root: the pending folder, from which it is dropped.
        freshness: knows what has changed.

    Returns:
        the decision.

    Raises:
        StoreError: the record cannot be written.
    """
    place_below(shown_path(config.snapshots), one.key.folder)  # a link would lead outside of the snapshots
    now, kind = standing_record(one, base_record(config, one.key)), kind_of(config, one)
    if now == "stale":
        what = ("its record has changed since this was found", f"hint: hlodiff check {one.key.name}")
        return Decision(one.key, "refused", what, one.id)
    changes = freshness.refusal(one.key, one.origin) if now == "ready" else ()
    if changes:
        return Decision(one.key, "refused", changes, one.id)
    if now == "ready":
        replace_file(shown_path(config.snapshots), record_path(one.key), one.text.encode())
    left = _dropped(drop_record, root, one.key)
    if now == "done":
        return Decision(one.key, "recorded", left, one.id)
    return Decision(
        one.key, "accepted", ("same, with other figures or paths" if kind == "facts" else kind, *left), one.id
    )


def reject(one: Key, root: Path, own: str) -> Decision:
    """Drop one pending program or record; its snapshot is not changed."""
    if is_record(one):
        drop_record(root, one)
    else:
        drop_pending(root, one)
    return Decision(one, "rejected", (), own)


def decisions_text(decisions: Sequence[Decision], remaining: int, following: str) -> str:
    """The decision on each program, and the totals with the next command.

    Args:
        decisions: one for each program.
        remaining: how many are still pending.
        following: the command to type next.
    """
    return "".join(line + "\n" for line in _lines(decisions, remaining, following))


def _lines(decisions: Sequence[Decision], remaining: int, following: str) -> Iterator[str]:
    wide = max((len(f"{one.key.name}  {one.key.target}") for one in decisions), default=0)
    left: dict[tuple[str, ...], list[Decision]] = {}
    for one in decisions:
        if one.status == "left":
            left.setdefault(one.what, []).append(one)
            continue
        head = f"{f'{one.key.name}  {one.key.target}':<{wide}}  {_WORDS.get(one.status, one.status)}"
        if one.status == "accepted":
            yield f"{head} ({', '.join(one.what)})"
        else:
            yield head
            yield from (f"  {printable(line)}" for line in one.what)
    for what, group in left.items():
        more = f" and {len(group) - 3:,} more" if len(group) > 3 else ""
        yield f"left pending: {', '.join(f'{one.key.name} on {one.key.target}' for one in group[:3])}{more}"
        yield from (f"  {printable(line)}" for line in what)
    counts = [(status, sum(one.status == status for one in decisions)) for status in _STATUSES]
    totals = [f"{count} {_WORDS.get(status, status)}" for status, count in counts if count]
    if remaining and left:
        totals += [f"{remaining} pending in all"] if remaining != dict(counts)["left"] else []
    elif remaining:
        totals += [f"{remaining} still pending"]
    yield f"{', '.join(totals) or 'nothing to do'}; next: {following}"


def decisions_json(decisions: Sequence[Decision], remaining: int) -> str:
    """The decisions as JSON."""
    programs = [
        {"name": one.key.name, "target": one.key.target, "id": one.id or None, "status": one.status,
         "what": list(one.what)}
        for one in decisions
    ]  # fmt: skip
    totals = {str(status): sum(one.status == status for one in decisions) for status in _STATUSES}
    totals["pending"] = remaining
    return json_text({"format_version": "1.0", "programs": programs, "totals": totals})


# --- Decisions on captures of an earlier `check`: how they are grouped, and what accepting would change.


@dataclass(slots=True)
class _UndoStep:
    """One undo step.

    Args:
        decisions: how many decisions were made before it.
        backups: each set of files before the step, and the digests of these files after it.
    """

    decisions: int
    backups: list[tuple[Backup, Mapping[str, str]]] = field(default_factory=list)


@dataclass(slots=True)
class PendingReview:
    """Decisions on pending programs. Each is written to disk at once, and the last step can be undone.

    Args:
        config: the project's.
        root: the pending folder.
        freshness: knows what has changed since, and whether the folder is from another machine (then nothing in it is
            deleted).
        copies: a temporary folder for replaced or deleted files, kept while they may be restored.
        decisions: decisions so far.
    """

    config: Config
    root: Path
    freshness: Freshness
    copies: Path
    decisions: list[Decision] = field(default_factory=list)
    _steps: list[_UndoStep] = field(default_factory=list)

    def begin(self, decisions: int | None = None) -> None:
        """Begin an undo step; decisions up to the next step are undone together.

        Args:
            decisions: number of decisions before the step began; None for all so far.
        """
        self._steps.append(_UndoStep(len(self.decisions) if decisions is None else decisions))

    def undo(self) -> tuple[Key, ...]:
        """Undo the last step: restores snapshots and pending captures byte for byte.

        Returns:
            the programs and records accepted or rejected in it, which are pending again.

        Raises:
            StoreError: one of their files has changed since, so nothing was undone, or a folder cannot be written.
        """
        step = self._steps[-1]
        for backup, after in step.backups:
            if digests(backup.root, backup.key) != after:
                what = "has changed since it was decided on, so nothing is undone"
                raise StoreError(what, where=f"{backup.root}/{backup.key.folder}", hint="hlodiff check")
        own = pending_folder(self.config)
        waited = any(backup.root == own and any(backup.copies.iterdir()) for backup, _ in step.backups)
        with writing(shown_path(self.config.snapshots)), holding(own) if waited else nullcontext():
            for backup, _ in reversed(step.backups):
                restore(backup)
        self._steps.pop()
        undone = [one for one in self.decisions[step.decisions :] if one.status in ("accepted", "rejected")]
        del self.decisions[step.decisions :]
        return tuple(one.key for one in undone)

    @contextmanager
    def _undoable(self, key: Key) -> Iterator[None]:
        """Back up the files that a decision on one program or record replaces or deletes."""
        if not self._steps:  # settled before the first question
            yield
            return
        roots = (shown_path(self.config.snapshots), pending_folder(self.config))
        backups = [back_up(root, key, self.copies) for root in roots]
        try:
            yield
        finally:
            self._steps[-1].backups += [(one, digests(one.root, key)) for one in backups]

    def groups(self, programs: Sequence[PendingProgram]) -> list[tuple[str, list[PendingProgram]]]:
        """Programs by name. Unchanged ones come last, together under the name ""."""
        names: dict[str, list[PendingProgram]] = {}
        for one in programs:
            claimed = one.pending.kind == "facts"
            same_program = claimed and kind_of_program(self.config, one, base_of(self.config, one.key)) == "facts"
            names.setdefault("" if same_program else one.key.name, []).append(one)
        same = names.pop("", [])
        return [*names.items(), *([("", same)] if same else [])]

    def reject(self, selected: Iterable[tuple[Key, str]]) -> None:
        """Reject programs or records; a folder of another machine is not changed."""
        for key, own in selected:
            if self.freshness.foreign:
                self.decisions.append(Decision(key, "rejected", (), own))
            else:
                with self._undoable(key):
                    self.decisions.append(reject(key, self.root, own))

    def accept_record(self, one: PendingRecord) -> None:
        """Accept traces or growth."""
        with writing(shown_path(self.config.snapshots)), self._undoable(one.key):
            self.decisions.append(accept_record(self.config, one, pending_folder(self.config), self.freshness))

    def accept(self, group: Sequence[PendingProgram]) -> None:
        """Accept programs."""
        with writing(shown_path(self.config.snapshots)):
            for one in group:
                with self._undoable(one.key):
                    own = pending_folder(self.config)
                    self.decisions.append(accept_program(self.config, one, own, self.freshness))

    def ready(self, group: Sequence[PendingProgram]) -> list[PendingProgram]:
        """Programs that may be accepted. The others are settled, or refused with the reason."""
        ready = []
        for one in group:
            changes = self.freshness.refusal(one.key, one.pending.origin)
            if not changes and standing(one, base_of(self.config, one.key)) == "ready":
                ready.append(one)
            else:
                self.accept([one])  # reports it as recorded already, or refuses it as stale
        return ready

    def report(self, group: Sequence[PendingProgram]) -> Report:
        """The report of `check` for some programs."""
        compared = [compare_pending(self.config, one, base_of(self.config, one.key)) for one in group]
        return Report(
            command="check",
            old=str(shown_path(self.config.snapshots)),
            new=str(shown_path(self.root)),
            programs=tuple(program for each in compared for program in each.programs),
            toolchain=toolchain_changes(pair for each in compared for pair in each.toolchains),
            root=str(self.config.root),
            threshold=self.config.relevance_threshold,
            source_line=of_snapshots(self.config.root, self.config.snapshots),
        )
