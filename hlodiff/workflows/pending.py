"""Programs to be accepted: read as untrusted files, and compared with their snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hlodiff.capture import Discovery, Inputs
from hlodiff.config import Config, shown_path
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import Limits
from hlodiff.differ.metrics import op_counts
from hlodiff.errors import HlodiffError, StoreError, expected_error
from hlodiff.hlo.model import STAGES
from hlodiff.snapshots import (
    RECORDS,
    SUMMARY_VERSION,
    CaptureOrigin,
    FolderTree,
    Key,
    Pending,
    Snapshot,
    StaleError,
    digest,
    drop_pending,
    drop_record,
    keep_pending,
    keep_record,
    list_records,
    list_snapshots,
    program_id,
    read_pending,
    read_snapshot,
    source_of,
)
from hlodiff.snapshots.keys import SUMMARY, keys_of
from hlodiff.snapshots.pending import PENDING, Kind
from hlodiff.snapshots.yaml_format import dump
from hlodiff.workflows.build_snapshot import ParsedSnapshot, parse
from hlodiff.workflows.compare import compare_sides
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
        one.status == "changed" for one in compare_pending(config, program, base)
    )
    return "changed" if changed else "facts"


def compare_pending(config: Config, program: PendingProgram, base: BaseProgram) -> tuple[ProgramComparison, ...]:
    """Both stages of a pending program against its snapshot, as `check` compared them."""
    old, new = (
        Side(label, snapshot_programs(one.snapshot, one.snapshot.key.folder, modules=one.modules) if one else [])
        for label, one in (("the snapshot", base.stored), ("pending", program.stored))
    )
    found = compare_sides(old, new, Limits(**dict(config.limits)))
    return tuple(replace(one, id=program.id) for one in found.programs)


FOLDER = Path(".hlodiff", "pending")


def pending_folder(config: Config, given: Path | None = None) -> Path:
    """Where captured programs wait: the folder that was given, else the project's own.

    Example:
        >>> pending_folder(Config(Path("project"))).as_posix()
        'project/.hlodiff/pending'
    """
    return given if given is not None else config.root / FOLDER


@dataclass(slots=True)
class PendingWriter:
    """Writes the pending folder as the run goes. A folder that cannot be written is a note, not a failure.

    Args:
        root: the pending folder.
        max_file_bytes: a program above this is stored compressed.
        settings: what of the configuration decides what is captured.
        problem: why something could not be kept; "" where all went well.
        ids: what `accept` calls the traces and the growth that changed and are kept.
    """

    root: Path
    max_file_bytes: int
    settings: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    ids: dict[Key, str] = field(default_factory=dict)

    def record(self, key: Key, table: Mapping[str, Any], old: str | None, changed: bool, inputs: Inputs) -> None:
        """Keep traces or growth that differ from what is recorded, or forget them where they do not.

        Args:
            key: whose; "traces" or "growth" stands for the target.
            table: what would be recorded.
            old: the text of the record as it is, None where there is none.
            changed: whether it needs a decision; only then it has an id.
            inputs: what it was found from.
        """
        if old is not None and dump(table) == old:
            self.forget_record(key)
            return
        try:
            own = keep_record(self.root, key, table, old, self._origin(inputs))
        except StoreError as error:
            self._keep_problem(error)
            return
        if changed:
            self.ids[key] = own

    def forget_record(self, key: Key) -> None:
        """Forget what an earlier check left of these traces or this growth."""
        try:
            drop_record(self.root, key)
        except StoreError as error:
            self._keep_problem(error)

    def _origin(self, inputs: Inputs) -> CaptureOrigin:
        return CaptureOrigin(inputs.files, self.settings, inputs.packages)

    def _keep_problem(self, error: StoreError) -> None:
        self.problem = self.problem or str(error)

    def compared(
        self, new: Snapshot, old: Snapshot | None, programs: tuple[ProgramComparison, ...], inputs: Inputs
    ) -> tuple[ProgramComparison, ...]:
        """Keep a program that was captured and compared, or forget it where it is what is recorded.

        Args:
            new: what was captured.
            old: its snapshot; None where there is none.
            programs: both stages as they were compared.
            inputs: what it was captured from.

        Returns:
            the same, with what `accept` calls the program where it is another one than the snapshot.
        """
        kind: Kind = "new" if old is None else "changed" if _is_changed(programs) else "facts"
        if old is not None and digest(old) == digest(new):
            self.forget(new.key)
            return programs
        try:
            keep_pending(self.root, new, old, kind, self.max_file_bytes, self._origin(inputs))
        except StoreError as error:
            self._keep_problem(error)
            return programs
        # A program whose figures alone differ is accepted along with others; it needs no decision.
        return programs if kind == "facts" else tuple(replace(one, id=program_id(new)) for one in programs)

    def forget(self, key: Key) -> None:
        """Forget what an earlier check left of this program."""
        try:
            drop_pending(self.root, key)
        except StoreError as error:
            self._keep_problem(error)

    def forget_unregistered(self, discovery: Discovery) -> None:
        """Forget programs of functions that are no longer registered, after a run of everything."""
        known = dict.fromkeys(Key(one.function, one.case, one.target) for one in discovery.requests())
        # Nobody knows the cases of a function whose cases could not be listed.
        unknown = {found.name for found in discovery.functions if found.problem}
        known_records = {Key(one.name, "", "traces") for one in discovery.scenarios}
        known_records |= {Key(found.name, case, "growth") for found in discovery.functions for case in found.grown}
        try:
            keys = list_snapshots(FolderTree(self.root)).keys
            records = list_records(FolderTree(self.root).files())
        except StoreError as error:
            self._keep_problem(error)
            return
        for key in records:
            if key not in known_records and key.function not in unknown:
                self.forget_record(key)
        for key in keys:
            if key not in known and key.function not in unknown:
                self.forget(key)

    def notes(self) -> tuple[str, ...]:
        """Notes of a report on the pending folder."""
        return (f"not everything is left for `hlodiff accept`: {self.problem}",) if self.problem else ()


class NullPendingWriter(PendingWriter):
    """Keeps nothing: for runs that only lower, and for programs of tests."""

    def compared(
        self, new: Snapshot, old: Snapshot | None, programs: tuple[ProgramComparison, ...], inputs: Inputs
    ) -> tuple[ProgramComparison, ...]:
        """The programs as they are."""
        return programs

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""

    def record(self, key: Key, table: Mapping[str, Any], old: str | None, changed: bool, inputs: Inputs) -> None:
        """Nothing is kept."""

    def forget_record(self, key: Key) -> None:
        """There is nothing to forget."""


def _is_changed(programs: tuple[ProgramComparison, ...]) -> bool:
    return any(program.status == "changed" for program in programs)
