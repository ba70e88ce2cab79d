"""Recording and dropping what is pending, programs and records, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hlodiff.cli.deciding import Wish, by_change, by_name, records_by_change
from hlodiff.cli.output import near
from hlodiff.cli.selecting import selected
from hlodiff.cli.waiting import Waiting, base_of, is_record, kind_of_program, list_waiting, load_waiting, standing
from hlodiff.cli.waiting_records import WaitingRecord, base_record, kind_of, load_records, standing_record
from hlodiff.config import Config
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.report.escape import json_text, printable
from hlodiff.report.numbers import many
from hlodiff.store import Key, drop_pending, drop_record, write_snapshot
from hlodiff.store.pending import Kind
from hlodiff.store.pending_records import record_path
from hlodiff.store.writing import replace_text

Status = Literal["accepted", "rejected", "recorded", "refused", "left"]
_STATUSES: tuple[Status, ...] = ("accepted", "rejected", "recorded", "refused", "left")
_WORDS = {"recorded": "recorded already", "left": "left pending"}
_KINDS = {"new": "new", "changed": "changed", "facts": "same program, other toolchain or figures"}


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one pending program.

    Args:
        key: which program.
        status: "recorded" where its snapshot was the same already, "left" where a pattern or class does not say all.
        what: details, one line each.
        id: what it is called on the command line; "" where it could not be read.
    """

    key: Key
    status: Status
    what: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What is pending and was asked for: whole programs, broken ones, those with other changes too, and records."""

    programs: tuple[Waiting, ...]
    broken: tuple[Decision, ...]
    left: tuple[Decision, ...]
    records: tuple[WaitingRecord, ...] = ()


def find(config: Config, root: Path, wish: Wish) -> Found:
    """Read the pending programs that a command is about.

    Args:
        config: the project's.
        root: the pending folder.
        wish: what was asked for.

    Returns:
        the programs, read and verified.

    Raises:
        UsageError: nothing is pending, nothing was asked for, or nothing fits.
    """
    keys = list_waiting(root)
    if not keys:
        what = "is no folder" if not root.is_dir() else "nothing is pending here"
        hint = "`hlodiff check` leaves here what is new or changed"
        raise UsageError(what if root.is_dir() else f"nothing is pending: {what}", where=str(near(root)), hint=hint)
    if not wish:
        raise UsageError(f"{_counted(keys)} pending, and none was named", hint=_choices(keys))
    by_names = [key for key in keys if selected(key, wish.words, wish.targets)]
    # Ids are known once programs are read; what is called by its name alone needs no other one.
    if all(any(selected(key, [word], ()) for key in by_names) for word in wish.words) and by_names:
        keys = tuple(by_names)
    everything, broken = load_waiting(root, [key for key in keys if not is_record(key)])
    records, torn = load_records(root, [key for key in keys if is_record(key)])
    broken |= torn
    ids = {key: one.id for key, one in everything.items()} | {key: one.id for key, one in records.items()}
    named = by_name(wish, {key: ids.get(key, "") for key in keys})
    meant = by_change(config, wish, [everything[key] for key in named if key in everything])
    return Found(
        tuple(everything[key] for key in meant.keys),
        tuple(Decision(key, "refused", _said(broken[key])) for key in named if key in broken),
        tuple(Decision(key, "left", (why,), ids[key]) for key, why in meant.left.items()),
        tuple(records[key] for key in records_by_change(wish, _kinds(config, records, named))),
    )


def _kinds(config: Config, records: Mapping[Key, WaitingRecord], named: Sequence[Key]) -> dict[Key, Kind]:
    return {key: kind_of(config, records[key]) for key in named if key in records}


def _counted(keys: Sequence[Key]) -> str:
    """`3 programs and 1 record`: traces and growth are records."""
    records = sum(is_record(key) for key in keys)
    counts = ((len(keys) - records, "program"), (records, "record"))
    return " and ".join(many(count, word) for count, word in counts if count)


def _choices(keys: Sequence[Key]) -> str:
    names = list(dict.fromkeys(key.name for key in keys))
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"name programs, or say --all; pending: {', '.join(names[:5])}{more}"


def _said(error: HlodiffError) -> tuple[str, ...]:
    return tuple(line for line in str(error).split("\n") if line)


def accept(config: Config, one: Waiting, root: Path) -> Decision:
    """Record one pending program, unless its snapshot is another one now than when the program was captured.

    Call it with the snapshots folder held (`hlodiff.store.writing`).

    Args:
        config: the project's.
        one: the program.
        root: the pending folder, from which it goes.

    Returns:
        what became of it.

    Raises:
        StoreError: the snapshot cannot be written.
    """
    base = base_of(config, one.key)
    now = standing(one, base)
    if base.stale:
        again = f"hint: hlodiff update {one.key.name} --target {one.key.target}"
        what = "a merge has left its snapshot stale, and this was captured before"
        return Decision(one.key, "refused", (what, again), one.id)
    if now == "stale":
        again = f"hint: hlodiff check {one.key.name} --target {one.key.target}"
        return Decision(one.key, "refused", ("its snapshot has changed since this was captured", again), one.id)
    kind = kind_of_program(config, one, base)
    if now == "ready":
        write_snapshot(near(config.snapshots), one.pending.snapshot, config.max_file_bytes)
    drop_pending(root, one.key)
    if now == "done":
        return Decision(one.key, "recorded", (), one.id)
    return Decision(one.key, "accepted", (_KINDS[kind],), one.id)


def accept_record(config: Config, one: WaitingRecord, root: Path) -> Decision:
    """Record traces or growth that wait, unless the record is another one now than when they were found.

    Call it with the snapshots folder held.

    Args:
        config: the project's.
        one: the record.
        root: the pending folder, from which it goes.

    Returns:
        what became of it.

    Raises:
        StoreError: the record cannot be written.
    """
    now, kind = standing_record(one, base_record(config, one.key)), kind_of(config, one)
    if now == "stale":
        what = ("its record has changed since this was found", f"hint: hlodiff check {one.key.name}")
        return Decision(one.key, "refused", what, one.id)
    if now == "ready":
        replace_text(near(config.snapshots), record_path(one.key), one.pending.text)
    drop_record(root, one.key)
    return Decision(one.key, "recorded", (), one.id) if now == "done" else _accepted(one, kind)


def _accepted(one: WaitingRecord, kind: Kind) -> Decision:
    return Decision(one.key, "accepted", ("same, with other figures" if kind == "facts" else kind,), one.id)


def reject(one: Key, root: Path, own: str) -> Decision:
    """Drop one pending program or record; what is recorded stays as it is."""
    if is_record(one):
        drop_record(root, one)
    else:
        drop_pending(root, one)
    return Decision(one, "rejected", (), own)


def decisions_text(decisions: Sequence[Decision], remaining: int, following: str) -> str:
    """What became of each program, and the totals with what to type next.

    Args:
        decisions: one for each program.
        remaining: how many are pending now.
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
    said = [f"{count} {_WORDS.get(status, status)}" for status, count in counts if count]
    if remaining and left:
        said += [f"{remaining} pending in all"] if remaining != dict(counts)["left"] else []
    elif remaining:
        said += [f"{remaining} still pending"]
    yield f"{', '.join(said) or 'nothing to do'}; next: {following}"


def decisions_json(decisions: Sequence[Decision], remaining: int) -> str:
    """The same for machines."""
    programs = [
        {"name": one.key.name, "target": one.key.target, "id": one.id or None, "status": one.status,
         "what": list(one.what)}
        for one in decisions
    ]  # fmt: skip
    totals = {str(status): sum(one.status == status for one in decisions) for status in _STATUSES}
    totals["pending"] = remaining
    return json_text({"format_version": "1.0", "programs": programs, "totals": totals})
