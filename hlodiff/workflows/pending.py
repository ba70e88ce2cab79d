"""Pending programs, traces and growth: read as untrusted files and compared with what is recorded."""

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
from hlodiff.policy import changed_growth, checked_record, judge_scenarios
from hlodiff.snapshots import (
    RECORDS,
    SUMMARY_VERSION,
    FolderTree,
    Key,
    Pending,
    PendingRecord,
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
from hlodiff.snapshots.yaml_format import dump_yaml
from hlodiff.snapshots.yaml_format import load_yaml as load_text
from hlodiff.tracing.compare import TraceComparison
from hlodiff.workflows.build_snapshot import ParsedSnapshot, parse_snapshot
from hlodiff.workflows.scenarios import compared_records
from hlodiff.workflows.sides import Side, SideComparison, compare_sides, snapshot_programs

# Far above any program captured in a pull request, and still read in seconds.
LARGEST_FILE = 64 * 1024 * 1024
MOST_PROGRAMS = 10_000
Standing = Literal["ready", "stale", "done"]


@dataclass(frozen=True, slots=True)
class PendingProgram:
    """One pending program, read and verified.

    Args:
        pending: the content that accepting records.
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
        """Its id for `accept`."""
        return program_id(self.pending.snapshot)


@dataclass(frozen=True, slots=True)
class _SizeLimitedFolder:
    """A folder that refuses to read files above LARGEST_FILE."""

    inner: FolderTree

    @property
    def where(self) -> str:
        return self.inner.where

    def files(self) -> tuple[str, ...]:
        return self.inner.files()

    def read(self, names: Sequence[str], limit: int = LARGEST_FILE) -> dict[str, bytes]:
        return self.inner.read(names, min(limit, LARGEST_FILE))


def list_pending(root: Path) -> tuple[Key, ...]:
    """The keys in a pending folder; no file is read.

    Args:
        root: the folder.

    Returns:
        keys in order, programs first; the target of a record is "traces" or "growth".

    Raises:
        StoreError: it holds more programs or records than any project has.
    """
    tree = FolderTree(shown_path(root))
    # A program without its summary is refused as damaged rather than skipped.
    noted = [f"{name.removesuffix(PENDING)}{SUMMARY}" for name in tree.files() if name.endswith(f"/{PENDING}")]
    held = dict.fromkeys((*list_snapshots(tree).keys, *keys_of(noted)[0]))
    programs = tuple(sorted(key for key in held if not is_record(key)))
    records = list_records(tree.files())
    for keys, what in ((programs, "programs"), (records, "records")):
        if len(keys) > MOST_PROGRAMS:
            raise StoreError(f"holds {len(keys):,} {what}; {MOST_PROGRAMS:,} are the most", where=str(shown_path(root)))
    return programs + records


def is_record(key: Key) -> bool:
    """Whether a pending key is a traces or growth record.

    Example:
        >>> is_record(Key("steps", "", "traces")), is_record(Key("step", "", "cpu"))
        (True, False)
    """
    return key.target in RECORDS


def load_pending(root: Path, keys: Sequence[Key]) -> tuple[dict[Key, PendingProgram], dict[Key, HlodiffError]]:
    """Read pending programs. They are untrusted, and nothing in them is run.

    Args:
        root: the pending folder, possibly downloaded.
        keys: which programs.

    Returns:
        the programs that are complete and verified, and an error for each of the others.
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
    """The program, after checking that its texts match its summary and are what hlodiff would have written."""
    from hlodiff.normalizer import to_text

    snapshot = pending.snapshot
    hint = f"hlodiff check {pending.key.name} --target {pending.key.target}"
    stored = parse_snapshot(snapshot, where, verify=True)
    texts = {"stablehlo": snapshot.stablehlo, "compiled": snapshot.compiled}
    if not stored.intact:
        raise StoreError("its fingerprints are not those of its programs", where=where, hint=hint)
    for stage, module in stored.modules.items():
        if module.stage != stage or to_text(module) != texts[stage]:
            raise StoreError(f"its {stage} program is not as hlodiff writes programs", where=where, hint=hint)
    if snapshot.summary.get("format_version") != SUMMARY_VERSION:
        raise StoreError("was captured by another version of hlodiff, which counts differently", where=where, hint=hint)
    counts = {stage: dict(op_counts(module)) for stage, module in stored.modules.items()}
    counted = snapshot.summary.get("op_counts")
    if any((counted.get(stage, {}) if isinstance(counted, Mapping) else {}) != counts[stage] for stage in STAGES):
        raise StoreError("its summary counts other operations than its programs have", where=where, hint=hint)
    # Rebuilt from the parsed modules, so that nothing else in the file is kept.
    source = {stage: source_of(module, "") for stage, module in stored.modules.items()} if snapshot.source else None
    return PendingProgram(replace(pending, snapshot=replace(snapshot, source=source)), stored)


@dataclass(frozen=True, slots=True)
class BaseProgram:
    """The snapshot that a pending program would replace; None if there is none or it cannot be read.

    Args:
        stored: the snapshot.
        broken: whether it cannot be read.
        stale: whether that is because of a merge.
    """

    stored: ParsedSnapshot | None = None
    broken: bool = False
    stale: bool = False


def base_of(config: Config, key: Key) -> BaseProgram:
    """The current snapshot of a program."""
    tree = FolderTree(shown_path(config.snapshots))
    if not (config.snapshots / key.folder).is_dir():
        return BaseProgram()
    try:
        return BaseProgram(parse_snapshot(read_snapshot(tree, key), f"{tree.where}/{key.folder}"))
    except Exception as error:
        return BaseProgram(broken=True, stale=isinstance(expected_error(error), StaleError))


def standing(program: PendingProgram, base: BaseProgram) -> Standing:
    """Whether a pending program may replace the current snapshot.

    Args:
        program: the pending program.
        base: what it would replace.

    Returns:
        "ready"; "done" if the snapshot is already the same; "stale" if the snapshot is not the one the program was
        compared with, so that this difference was never shown.
    """
    now = digest(base.stored.snapshot) if base.stored else ""
    if base.broken:
        return "stale"
    if now == digest(program.pending.snapshot):
        return "done"
    return "ready" if now == program.pending.base else "stale"


def kind_of_program(config: Config, program: PendingProgram, base: BaseProgram) -> Kind:
    """How much a pending program differs from its snapshot, computed without trusting its file.

    Args:
        config: the project's.
        program: the pending program.
        base: what it would replace.

    Returns:
        "facts" only if the program is the same.
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
    """The record that a pending one would replace (None if there is none), and whether it cannot be read."""

    text: str | None = None
    broken: bool = False


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A summary of what changed in a record: its kind, a headline, and lines of details."""

    kind: Kind
    headline: str
    details: tuple[str, ...] = ()


def load_records(root: Path, keys: Sequence[Key]) -> tuple[dict[Key, PendingRecord], dict[Key, HlodiffError]]:
    """Read pending records. They are untrusted, and nothing in them is run.

    Args:
        root: the pending folder, possibly downloaded.
        keys: which records.

    Returns:
        the valid records, and an error for each of the others.
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
    """Raise if a record does not match its folder, or is not what hlodiff would have written."""
    key, hint = pending.key, f"hlodiff check {pending.key.name}"
    try:
        if key.target == "growth":
            checked_record(load_text(pending.text, where), key.function, key.case)
            return
        if dump_yaml(traces_table(traces_of(pending.text, key.function))) != pending.text:
            raise ValueError("they are about another scenario, or have missing or unknown fields")
    except ValueError as error:
        raise StoreError(f"its {key.target} are not as hlodiff writes them: {error}", where=where, hint=hint) from None


def base_record(config: Config, key: Key) -> BaseRecord:
    """The current record."""
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
    """Whether it may replace the current record: "ready", "done" or "stale", as for programs."""
    if base.broken:
        return "stale"
    if base.text == one.text:
        return "done"
    return "ready" if record_digest(base.text) == one.base else "stale"


def record_summary(key: Key, old: str | None, new: str, everything: bool = False) -> RecordSummary:
    """What changed in a record.

    Args:
        key: which one.
        old: its recorded text; None if there is none.
        new: its pending text.
        everything: whether the details list every reason.

    Raises:
        ValueError: a side is not a record.
    """
    if key.target == "growth":
        before = load_text(old, key.name) if old is not None else None
        changes, details = changed_growth(before, load_text(new, key.name))
        same = "grows as recorded, with other counts"
    else:
        traces = traces_of(new, key.function)
        if old is None:
            compared = TraceComparison(key.function, "added", None, traces.counts)
        else:
            compared = compared_records(key.function, traces_of(old, key.function), traces)
        found = judge_scenarios([compared], everything=everything)
        changes = tuple(one.what for one in found)
        details = found[0].details if found else compared.notes
        same = "costs what is recorded, with another JAX"
    kind: Kind = "new" if old is None else "changed" if changes else "facts"
    return RecordSummary(kind, "; ".join(changes) or same, tuple(details))


def kind_of(config: Config, one: PendingRecord) -> Kind:
    """How much a pending record differs from the current one, computed without trusting its file."""
    return record_summary(one.key, base_record(config, one.key).text, one.text).kind
