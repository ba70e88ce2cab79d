"""What waits to be accepted: programs, traces and growth, read as untrusted files, compared with what is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hlodiff.config import Config, shown_path
from hlodiff.differ.limits import Limits
from hlodiff.differ.metrics import op_counts
from hlodiff.errors import HlodiffError, StoreError, expected_error
from hlodiff.hlo.model import STAGES
from hlodiff.policy import judge_scenarios
from hlodiff.policy.growth import changed_growth, checked_record
from hlodiff.snapshots import (
    RECORDS,
    SUMMARY_VERSION,
    FolderTree,
    Key,
    Pending,
    PendingRecord,
    RecordedTraces,
    StaleError,
    digest,
    list_records,
    list_snapshots,
    program_id,
    read_pending,
    read_record,
    read_snapshot,
    record_digest,
    recorded_text,
    source_of,
    traces_of,
    traces_table,
)
from hlodiff.snapshots.keys import SUMMARY, keys_of
from hlodiff.snapshots.pending import PENDING, Kind
from hlodiff.snapshots.yaml_format import dump
from hlodiff.snapshots.yaml_format import load as load_text
from hlodiff.tracing.compare import TraceComparison
from hlodiff.workflows.build_snapshot import ParsedSnapshot, parse
from hlodiff.workflows.compare_sides import SideComparison, compare_sides
from hlodiff.workflows.scenarios import compared_records
from hlodiff.workflows.sides import Side, snapshot_programs

# Far above any program that is captured in a pull request, and read in seconds.
LARGEST_FILE = 64 * 1024 * 1024
MOST_PROGRAMS = 10_000
Standing = Literal["ready", "stale", "done"]


@dataclass(frozen=True, slots=True)
class PendingProgram:
    """One pending program that was read and makes sense.

    Args:
        pending: what accepting it records.
        stored: its programs, parsed.
    """

    pending: Pending
    stored: ParsedSnapshot

    @property
    def key(self) -> Key:
        """Function, case and target."""
        return self.pending.key

    @property
    def id(self) -> str:
        """What `accept` calls it."""
        return program_id(self.pending.snapshot)


@dataclass(frozen=True, slots=True)
class _SizeLimitedFolder:
    """A folder of which no file is read that is larger than anything we expect."""

    inner: FolderTree

    @property
    def where(self) -> str:
        return self.inner.where

    def files(self) -> tuple[str, ...]:
        return self.inner.files()

    def read(self, names: Sequence[str], limit: int = LARGEST_FILE) -> dict[str, bytes]:
        return self.inner.read(names, min(limit, LARGEST_FILE))


def list_pending(root: Path) -> tuple[Key, ...]:
    """What a pending folder holds; nothing is read.

    Args:
        root: the folder.

    Returns:
        keys in order, programs first; in that of a record "traces" or "growth" stands for the target.

    Raises:
        StoreError: it holds more programs or records than any project has.
    """
    tree = FolderTree(shown_path(root))
    # One that lost its summary is refused like any other that is damaged, and not passed over.
    noted = [f"{name.removesuffix(PENDING)}{SUMMARY}" for name in tree.files() if name.endswith(f"/{PENDING}")]
    held = dict.fromkeys((*list_snapshots(tree).keys, *keys_of(noted)[0]))
    programs = tuple(sorted(key for key in held if not is_record(key)))
    records = list_records(tree.files())
    for keys, what in ((programs, "programs"), (records, "records")):
        if len(keys) > MOST_PROGRAMS:
            raise StoreError(f"holds {len(keys):,} {what}; {MOST_PROGRAMS:,} are the most", where=str(shown_path(root)))
    return programs + records


def is_record(key: Key) -> bool:
    """Whether a pending key is that of traces or growth.

    Example:
        >>> is_record(Key("steps", "", "traces")), is_record(Key("step", "", "cpu"))
        (True, False)
    """
    return key.target in RECORDS


def load_pending(root: Path, keys: Sequence[Key]) -> tuple[dict[Key, PendingProgram], dict[Key, HlodiffError]]:
    """Read pending programs. Nothing in them is trusted, and nothing in them is run.

    Args:
        root: the pending folder, perhaps downloaded from somewhere.
        keys: which programs.

    Returns:
        those that are whole and what they claim to be, and what is wrong with the others.
    """
    tree = _SizeLimitedFolder(FolderTree(shown_path(root)))
    found: dict[Key, PendingProgram] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        try:
            found[key] = _verified(read_pending(tree, key), f"{tree.where}/{key.folder}")
        except Exception as error:
            broken[key] = expected_error(error)
    return found, broken


def _verified(pending: Pending, where: str) -> PendingProgram:
    """The program, once its texts are seen to be what its summary says and what hlodiff itself would have written."""
    from hlodiff.normalizer import to_text

    snapshot = pending.snapshot
    hint = f"hlodiff check {pending.key.name} --target {pending.key.target}"
    stored = parse(snapshot, where, verify=True)
    texts = {"stablehlo": snapshot.stablehlo, "compiled": snapshot.compiled}
    if not stored.intact:
        raise StoreError("its fingerprints are not those of its programs", where=where, hint=hint)
    for stage, module in stored.modules.items():
        if module.stage != stage or to_text(module) != texts[stage]:
            raise StoreError(f"its {stage} program is not as hlodiff writes programs", where=where, hint=hint)
    if snapshot.summary.get("format_version") != SUMMARY_VERSION:
        raise StoreError("was captured by another version of hlodiff, which counts differently", where=where, hint=hint)
    counts = {stage: dict(op_counts(module)) for stage, module in stored.modules.items()}
    if any(_counted(snapshot.summary, stage) != counts[stage] for stage in STAGES):
        raise StoreError("its summary counts other operations than its programs have", where=where, hint=hint)
    # Written anew from what was understood of it: whatever else the file held stays behind.
    source = {stage: source_of(module, "") for stage, module in stored.modules.items()} if snapshot.source else None
    return PendingProgram(replace(pending, snapshot=replace(snapshot, source=source)), stored)


def _counted(summary: Mapping[str, object], stage: str) -> object:
    table = summary.get("op_counts")
    return table.get(stage, {}) if isinstance(table, Mapping) else {}


@dataclass(frozen=True, slots=True)
class BaseProgram:
    """The snapshot that a pending program would replace: None where there is none, or where it cannot be read.

    Args:
        stored: the snapshot.
        broken: whether it cannot be read.
        stale: whether that is because of a merge.
    """

    stored: ParsedSnapshot | None = None
    broken: bool = False
    stale: bool = False


def base_of(config: Config, key: Key) -> BaseProgram:
    """The snapshot of a program as it is now."""
    tree = FolderTree(shown_path(config.snapshots))
    if not (config.snapshots / key.folder).is_dir():
        return BaseProgram()
    try:
        return BaseProgram(parse(read_snapshot(tree, key), f"{tree.where}/{key.folder}"))
    except Exception as error:
        return BaseProgram(broken=True, stale=isinstance(expected_error(error), StaleError))


def standing(program: PendingProgram, base: BaseProgram) -> Standing:
    """Whether a pending program may replace the snapshot that is there.

    Args:
        program: the pending program.
        base: what it would replace.

    Returns:
        "ready"; "done" where the snapshot is the same already; "stale" where it is not what the program was compared
        with, so that this difference was never shown.
    """
    now = digest(base.stored.snapshot) if base.stored else ""
    if base.broken:
        return "stale"
    if now == digest(program.pending.snapshot):
        return "done"
    return "ready" if now == program.pending.base else "stale"


def kind_of_program(config: Config, program: PendingProgram, base: BaseProgram) -> Kind:
    """How much a pending program differs from its snapshot; what its file claims is not trusted.

    Args:
        config: the project's.
        program: the pending program.
        base: what it would replace.

    Returns:
        "facts" only where the program is the same.
    """
    if base.stored is None:
        return "new"
    old, new = base.stored.snapshot, program.pending.snapshot
    if (old.stablehlo, old.compiled) == (new.stablehlo, new.compiled):
        return "facts"
    changed = program.pending.kind != "facts" or any(
        one.status == "changed" for one in compare_pending(config, program, base).programs
    )
    return "changed" if changed else "facts"


def compare_pending(config: Config, program: PendingProgram, base: BaseProgram) -> SideComparison:
    """Both stages of a pending program against its snapshot, as `check` compared them."""
    old, new = (
        Side(label, snapshot_programs(one.snapshot, one.snapshot.key.folder, modules=one.modules) if one else [])
        for label, one in (("the snapshot", base.stored), ("pending", program.stored))
    )
    found = compare_sides(old, new, Limits(**dict(config.limits)))
    return replace(found, programs=tuple(replace(one, id=program.id) for one in found.programs))


# --- traces and growth -----------------------------------------------------------------------------------------------


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


def load_records(root: Path, keys: Sequence[Key]) -> tuple[dict[Key, PendingRecord], dict[Key, HlodiffError]]:
    """Read pending records. Nothing in them is trusted, and nothing in them is run.

    Args:
        root: the pending folder, perhaps downloaded from somewhere.
        keys: which records.

    Returns:
        those that are what hlodiff writes, and what is wrong with the others.
    """
    tree = FolderTree(shown_path(root))
    found: dict[Key, PendingRecord] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        try:
            pending = read_record(tree, key)
            _refuse_other(pending, f"{tree.where}/{key.name}")
            found[key] = pending
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
            raise ValueError("they are about another scenario, or have missing or unknown fields")
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


def standing_record(one: PendingRecord, base: BaseRecord) -> str:
    """Whether it may replace the record that is there: "ready", "done" or "stale", as of programs."""
    if base.broken:
        return "stale"
    if base.text == one.text:
        return "done"
    return "ready" if record_digest(base.text) == one.base else "stale"


def record_summary(key: Key, old: str | None, new: str, everything: bool = False) -> RecordSummary:
    """What changed in a record.

    Args:
        key: which one.
        old: its text as recorded, None where it is not.
        new: its text as found.
        everything: whether the details list every reason.

    Raises:
        ValueError: a side is not a record.
    """
    if key.target == "growth":
        before = load_text(old, key.name) if old is not None else None
        changes, details = changed_growth(before, load_text(new, key.name))
        same = "grows as recorded, with other counts"
    else:
        compared = _compare_traces(key.function, old, traces_of(new, key.function))
        found = judge_scenarios([compared], everything=everything)
        changes = tuple(one.what for one in found)
        details = found[0].details if found else compared.notes
        same = "costs what is recorded, with another JAX"
    kind: Kind = "new" if old is None else "changed" if changes else "facts"
    return RecordSummary(kind, "; ".join(changes) or same, tuple(details))


def kind_of(config: Config, one: PendingRecord) -> Kind:
    """How much a pending record differs from the one that is there; whoever left it is not asked."""
    return record_summary(one.key, base_record(config, one.key).text, one.text).kind


def _compare_traces(name: str, old: str | None, new: RecordedTraces) -> TraceComparison:
    if old is None:
        return TraceComparison(name, "added", None, new.counts)
    return compared_records(name, traces_of(old, name), new)
