"""Traces and growth that wait to be accepted: read as somebody else may have written them, and what changed in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hlodiff.config import Config, shown_path
from hlodiff.errors import HlodiffError, StoreError, expected_error
from hlodiff.policy import judge_scenarios
from hlodiff.policy.growth import changed_growth, checked_record
from hlodiff.snapshots import (
    FolderTree,
    Key,
    PendingRecord,
    RecordedTraces,
    read_record,
    record_digest,
    record_id,
    recorded_text,
    traces_of,
    traces_table,
)
from hlodiff.snapshots.pending import Kind
from hlodiff.snapshots.yaml_format import dump
from hlodiff.snapshots.yaml_format import load as load_text
from hlodiff.tracing.compare import TraceComparison
from hlodiff.workflows.scenarios import compared_records


@dataclass(frozen=True, slots=True)
class PendingRecordView:
    """One pending record that was read and makes sense."""

    pending: PendingRecord

    @property
    def key(self) -> Key:
        """Function or scenario and case; "traces" or "growth" stands for the target."""
        return self.pending.key

    @property
    def id(self) -> str:
        """What `accept` calls it."""
        return record_id(self.key, self.pending.text)


@dataclass(frozen=True, slots=True)
class BaseRecord:
    """The record that a pending one would replace: None where there is none, and whether it cannot be read."""

    text: str | None = None
    broken: bool = False


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """What changed in a record: how much, and in words; details are lines below the headline."""

    kind: Kind
    headline: str
    details: tuple[str, ...] = ()


def load_records(root: Path, keys: Sequence[Key]) -> tuple[dict[Key, PendingRecordView], dict[Key, HlodiffError]]:
    """Read pending records. Nothing in them is trusted, and nothing in them is run.

    Args:
        root: the pending folder, perhaps downloaded from somewhere.
        keys: which records.

    Returns:
        those that are what hlodiff writes, and what is wrong with the others.
    """
    tree = FolderTree(shown_path(root))
    found: dict[Key, PendingRecordView] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        try:
            pending = read_record(tree, key)
            _refuse_other(pending, f"{tree.where}/{key.name}")
            found[key] = PendingRecordView(pending)
        except Exception as error:
            broken[key] = expected_error(error)
    return found, broken


def _refuse_other(pending: PendingRecord, where: str) -> None:
    """Raise where a record is about something else than its folder, or says what hlodiff would not write."""
    key, hint = pending.key, f"hlodiff check {pending.key.name}"
    try:
        if key.target == "growth":
            checked_record(load_text(pending.text, where), key.function, key.case)
            return
        if dump(traces_table(traces_of(pending.text, key.function))) != pending.text:
            raise ValueError("they are about another scenario, or say more or other things")
    except ValueError as error:
        raise StoreError(f"its {key.target} are not as hlodiff writes them: {error}", where=where, hint=hint) from None


def base_record(config: Config, key: Key) -> BaseRecord:
    """The record as it is now."""
    try:
        text = recorded_text(FolderTree(shown_path(config.snapshots)), key)
        if text is not None:
            record_summary(key, text, text)
        return BaseRecord(text)
    except ValueError:
        return BaseRecord(broken=True)
    except Exception as error:
        expected_error(error)
        return BaseRecord(broken=True)


def standing_record(one: PendingRecordView, base: BaseRecord) -> str:
    """Whether it may replace the record that is there: "ready", "done" or "stale", as of programs."""
    if base.broken:
        return "stale"
    if base.text == one.pending.text:
        return "done"
    return "ready" if record_digest(base.text) == one.pending.base else "stale"


def record_summary(key: Key, old: str | None, new: str, everything: bool = False) -> RecordSummary:
    """What changed in a record.

    Args:
        key: which one.
        old: its text as recorded, None where it is not.
        new: its text as found.
        everything: whether the details list every reason.

    Raises:
        ValueError: a side is no record.
    """
    if key.target == "growth":
        before = load_text(old, key.name) if old is not None else None
        changes, details = changed_growth(before, load_text(new, key.name))
        same = "grows as recorded, with other counts"
    else:
        compared = _compared(key.function, old, traces_of(new, key.function))
        found = judge_scenarios([compared], everything=everything)
        changes = tuple(one.what for one in found)
        details = found[0].details if found else compared.notes
        same = "costs what is recorded, with another JAX"
    kind: Kind = "new" if old is None else "changed" if changes else "facts"
    return RecordSummary(kind, "; ".join(changes) or same, tuple(details))


def kind_of(config: Config, one: PendingRecordView) -> Kind:
    """How much a pending record differs from the one that is there; whoever left it is not asked."""
    return record_summary(one.key, base_record(config, one.key).text, one.pending.text).kind


def _compared(name: str, old: str | None, new: RecordedTraces) -> TraceComparison:
    if old is None:
        return TraceComparison(name, "added", None, new.counts)
    return compared_records(name, traces_of(old, name), new)
