"""Programs that wait to be accepted: read as somebody else may have written them, and held against their snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hlodiff.cli.output import near
from hlodiff.cli.recording import STAGES, Stored, compare, one_sided, parse
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config
from hlodiff.diff.compared import Compared
from hlodiff.diff.limits import Limits
from hlodiff.diff.metrics import op_counts
from hlodiff.errors import HlodiffError, StoreError
from hlodiff.store import (
    RECORDS,
    FolderTree,
    Key,
    Pending,
    StaleError,
    digest,
    list_records,
    list_snapshots,
    program_id,
    read_pending,
    read_snapshot,
    source_of,
)
from hlodiff.store.names import SUMMARY, keys_of
from hlodiff.store.pending import PENDING, Kind

# Far above any program that is captured in a pull request, and read in seconds.
LARGEST_FILE = 64 * 1024 * 1024
MOST_PROGRAMS = 10_000
Standing = Literal["ready", "stale", "done"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One pending program that was read and makes sense.

    Args:
        pending: what accepting it records.
        stored: its programs, parsed.
    """

    pending: Pending
    stored: Stored

    @property
    def key(self) -> Key:
        """Function, case and target."""
        return self.pending.key

    @property
    def id(self) -> str:
        """What `accept` calls it."""
        return program_id(self.pending.snapshot)


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A folder of which no file is read that is larger than anything we expect."""

    inner: FolderTree

    @property
    def where(self) -> str:
        return self.inner.where

    def files(self) -> tuple[str, ...]:
        return self.inner.files()

    def read(self, names: Sequence[str], limit: int = LARGEST_FILE) -> dict[str, bytes]:
        return self.inner.read(names, min(limit, LARGEST_FILE))


def list_waiting(root: Path) -> tuple[Key, ...]:
    """What a pending folder holds; nothing is read.

    Args:
        root: the folder.

    Returns:
        keys in order, programs first; in that of a record "traces" or "growth" stands for the target.

    Raises:
        StoreError: it holds more programs or records than any project has.
    """
    tree = FolderTree(near(root))
    # One that lost its summary is refused like any other that is damaged, and not passed over.
    noted = [f"{name.removesuffix(PENDING)}{SUMMARY}" for name in tree.files() if name.endswith(f"/{PENDING}")]
    held = dict.fromkeys((*list_snapshots(tree).keys, *keys_of(noted)[0]))
    programs = tuple(sorted(key for key in held if not is_record(key)))
    records = list_records(tree.files())
    for keys, what in ((programs, "programs"), (records, "records")):
        if len(keys) > MOST_PROGRAMS:
            raise StoreError(f"holds {len(keys):,} {what}; {MOST_PROGRAMS:,} are the most", where=str(near(root)))
    return programs + records


def is_record(key: Key) -> bool:
    """Whether a pending key is that of traces or growth.

    Example:
        >>> is_record(Key("steps", "", "traces")), is_record(Key("step", "", "cpu"))
        (True, False)
    """
    return key.target in RECORDS


def load_waiting(root: Path, keys: Sequence[Key]) -> tuple[dict[Key, Waiting], dict[Key, HlodiffError]]:
    """Read pending programs. Nothing in them is trusted, and nothing in them is run.

    Args:
        root: the pending folder, perhaps downloaded from somewhere.
        keys: which programs.

    Returns:
        those that are whole and what they claim to be, and what is wrong with the others.
    """
    tree = _Bounded(FolderTree(near(root)))
    found: dict[Key, Waiting] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        try:
            found[key] = _verified(read_pending(tree, key), f"{tree.where}/{key.folder}")
        except Exception as error:
            broken[key] = foreseen(error)
    return found, broken


def _verified(pending: Pending, where: str) -> Waiting:
    """The program, once its texts are seen to be what its summary says and what hlodiff itself would have written."""
    from hlodiff.normalize import to_text

    snapshot = pending.snapshot
    hint = f"hlodiff check {pending.key.name} --target {pending.key.target}"
    stored = parse(snapshot, where, verify=True)
    texts = {"stablehlo": snapshot.stablehlo, "compiled": snapshot.compiled}
    if not stored.intact:
        raise StoreError("its fingerprints are not those of its programs", where=where, hint=hint)
    for stage, module in stored.modules.items():
        if module.stage != stage or to_text(module) != texts[stage]:
            raise StoreError(f"its {stage} program is not as hlodiff writes programs", where=where, hint=hint)
    counts = {stage: dict(op_counts(module)) for stage, module in stored.modules.items()}
    if any(_counted(snapshot.summary, stage) != counts[stage] for stage in STAGES):
        raise StoreError("its summary counts other operations than its programs have", where=where, hint=hint)
    # Written anew from what was understood of it: whatever else the file held stays behind.
    source = {stage: source_of(module, "") for stage, module in stored.modules.items()} if snapshot.source else None
    return Waiting(replace(pending, snapshot=replace(snapshot, source=source)), stored)


def _counted(summary: Mapping[str, object], stage: str) -> object:
    table = summary.get("op_counts")
    return table.get(stage, {}) if isinstance(table, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Base:
    """The snapshot that a pending program would replace: None where there is none, or where it cannot be read.

    Args:
        stored: the snapshot.
        broken: whether it cannot be read.
        stale: whether that is because of a merge.
    """

    stored: Stored | None = None
    broken: bool = False
    stale: bool = False


def base_of(config: Config, key: Key) -> Base:
    """The snapshot of a program as it is now."""
    tree = FolderTree(near(config.snapshots))
    if not (config.snapshots / key.folder).is_dir():
        return Base()
    try:
        return Base(parse(read_snapshot(tree, key), f"{tree.where}/{key.folder}"))
    except Exception as error:
        return Base(broken=True, stale=isinstance(foreseen(error), StaleError))


def standing(waiting: Waiting, base: Base) -> Standing:
    """Whether a pending program may replace the snapshot that is there.

    Args:
        waiting: what was captured.
        base: what it would replace.

    Returns:
        "ready"; "done" where the snapshot is the same already; "stale" where it is not what the program was compared
        with, so that nobody has seen this difference.
    """
    now = digest(base.stored.snapshot) if base.stored else ""
    if base.broken:
        return "stale"
    if now == digest(waiting.pending.snapshot):
        return "done"
    return "ready" if now == waiting.pending.base else "stale"


def kind_of_program(config: Config, waiting: Waiting, base: Base) -> Kind:
    """How much a pending program differs from its snapshot; whoever left it is not asked.

    Args:
        config: the project's.
        waiting: what was captured.
        base: what it would replace.

    Returns:
        "facts" only where the program is the same.
    """
    if base.stored is None:
        return "new"
    old, new = base.stored.snapshot, waiting.pending.snapshot
    if (old.stablehlo, old.compiled) == (new.stablehlo, new.compiled):
        return "facts"
    changed = waiting.pending.kind != "facts" or any(one.status == "changed" for one in compared(config, waiting, base))
    return "changed" if changed else "facts"


def compared(config: Config, waiting: Waiting, base: Base) -> tuple[Compared, ...]:
    """Both stages of a pending program against its snapshot, as `check` compared them."""
    if base.stored is None:
        found = one_sided(waiting.stored, "added")
    else:
        found = compare(base.stored, waiting.stored, Limits(**dict(config.limits)))
    return tuple(replace(one, id=waiting.id) for one in found)
