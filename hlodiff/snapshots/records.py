"""The records beside snapshots: `traces.yaml` of a scenario, and `growth.yaml` for the growth of a case's programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import Key, is_safe
from hlodiff.snapshots.paths import place_below
from hlodiff.snapshots.read import refuse_conflict, refuse_stale
from hlodiff.snapshots.trees import FolderTree, Tree
from hlodiff.snapshots.write import clear_errors, remove_empty, replace_file
from hlodiff.snapshots.yaml_format import FORMAT_VERSION, dump_yaml, load_yaml
from hlodiff.tracing.counts import TraceCounts, counts_from_plain, to_plain

TRACES = "traces.yaml"
GROWTH = "growth.yaml"
RECORDS = {"traces": TRACES, "growth": GROWTH}
"""The target of each record's key, and the name of its file."""
_LARGEST = {TRACES: 16 * 1024 * 1024, GROWTH: 1024 * 1024}
LARGEST_RECORD = max(_LARGEST.values())


def record_path(key: Key) -> str:
    """The path of a record, below the snapshots folder and below the pending folder.

    Raises:
        StoreError: a part of the name is not a safe folder name.

    Example:
        >>> record_path(Key("steps", "", "traces")), record_path(Key("solve", "long", "growth"))
        ('steps/traces.yaml', 'solve/long/growth.yaml')
    """
    return f"{key.folder.rpartition('/')[0]}/{RECORDS[key.target]}"


def list_records(files: Iterable[str]) -> tuple[Key, ...]:
    """The records in a list of files; files with other names are skipped.

    Example:
        >>> list_records(["steps/traces.yaml", "../x/growth.yaml"])
        (Key(function='steps', case='', target='traces'),)
    """
    found = []
    for file in sorted(files):
        *parts, name = file.split("/")
        word = next((word for word, own in RECORDS.items() if own == name), "")
        if word and 0 < len(parts) <= (1 if word == "traces" else 2) and all(map(is_safe, parts)):
            found.append(Key(parts[0], parts[1] if len(parts) == 2 else "", word))
    return tuple(found)


def recorded_text(tree: Tree, key: Key) -> str | None:
    """A record's text; None if there is none. It is only checked to be readable.

    Raises:
        StoreError: the file is not valid YAML of hlodiff, too large, or in a newer format.
    """
    name = record_path(key)
    content = tree.read([name], LARGEST_RECORD).get(name)
    if content is None:
        return None
    where = f"{tree.where}/{name}"
    refuse_conflict(content, where, f"hlodiff update {key.name}")
    try:
        return dump_yaml(load_yaml(content.decode("utf-8"), where))
    except UnicodeDecodeError as error:
        raise StoreError(f"is not UTF-8 text: byte {error.start}", where=where) from None


def _read(tree: Tree, name: str, again: str) -> dict[str, Any] | None:
    """The table in a record; None if there is none.

    Args:
        tree: a folder or git revision.
        name: path of the record.
        again: the command that records it again.

    Raises:
        StoreError: it is broken, or stale since a merge.
        UnicodeDecodeError: it is not text.
    """
    content = tree.read([name], _LARGEST[name.rpartition("/")[2]]).get(name)
    if content is None:
        return None
    where = f"{tree.where}/{name}"
    refuse_conflict(content, where, again)
    table = load_yaml(content.decode("utf-8"), where)
    refuse_stale(table, where, again)
    return table


def _remove(root: Path, name: str) -> None:
    """Delete a record, and the folders that this leaves empty."""
    path = place_below(root, name)
    with clear_errors(root):
        path.unlink(missing_ok=True)
        remove_empty(root, path.parent)


@dataclass(frozen=True, slots=True)
class RecordedTraces:
    """A traces.yaml.

    Args:
        scenario: its name.
        jax: the version of JAX it was recorded with.
        counts: the recorded counts.

    Example:
        >>> RecordedTraces("steps", "0.10.2", TraceCounts(())).counts.traces
        0
    """

    scenario: str
    jax: str
    counts: TraceCounts


def scenarios_of(files: Iterable[str]) -> tuple[str, ...]:
    """The scenarios in a list of files.

    Example:
        >>> scenarios_of(["steps/traces.yaml", "f/cpu/summary.yaml"])
        ('steps',)
    """
    return tuple(key.function for key in list_records(files) if key.target == "traces")


def read_traces(tree: Tree, scenario: str) -> RecordedTraces | None:
    """Read the record of a scenario.

    Args:
        tree: a folder or git revision.
        scenario: its name.

    Returns:
        the record; None if there is none.

    Raises:
        StoreError: the file is broken, or stale since a merge.
        FutureFormatError: a newer hlodiff wrote it.
    """
    name = f"{scenario}/{TRACES}"
    try:
        table = _read(tree, name, f"hlodiff update {scenario}")
        counts = counts_from_plain(table.get("functions")) if table is not None else TraceCounts(())
    except ValueError as error:
        raise StoreError(f"is not a record of traces: {error}", where=f"{tree.where}/{name}") from None
    return RecordedTraces(scenario, str(table.get("jax", "")), counts) if table is not None else None


def write_traces(root: Path, record: RecordedTraces) -> None:
    """Write the record of a scenario atomically. Call it while holding the folder.

    Args:
        root: the snapshots folder.
        record: the record to write.

    Raises:
        StoreError: the folder cannot be written.
    """
    replace_file(root, f"{record.scenario}/{TRACES}", dump_yaml(traces_table(record)).encode())


def traces_table(record: RecordedTraces) -> dict[str, Any]:
    """The content of traces.yaml, in printing order.

    Example:
        >>> traces_table(RecordedTraces("steps", "0.10.2", TraceCounts(())))["scenario"]
        'steps'
    """
    head = {"format_version": FORMAT_VERSION, "scenario": record.scenario, "jax": record.jax}
    return {**head, "functions": to_plain(record.counts)}


def traces_of(text: str, scenario: str) -> RecordedTraces:
    """Parse a record.

    Args:
        text: the content of a traces.yaml.
        scenario: the scenario that it should belong to.

    Raises:
        ValueError: it is not a record of traces.
        StoreError: it is not valid YAML of hlodiff.
    """
    table = load_yaml(text, scenario)
    return RecordedTraces(scenario, str(table.get("jax", "")), counts_from_plain(table.get("functions")))


def remove_traces(root: Path, scenario: str) -> None:
    """Delete the record of a scenario, and its folder if that leaves it empty.

    Args:
        root: the snapshots folder.
        scenario: its name.

    Raises:
        StoreError: it cannot be deleted.
    """
    _remove(root, f"{scenario}/{TRACES}")


# --- The growth of a case's programs, beside the folders of its targets.


def growth_path(function: str, case: str) -> str:
    """The path of a growth record below the snapshots folder.

    Example:
        >>> growth_path("solve", ""), growth_path("solve", "long")
        ('solve/growth.yaml', 'solve/long/growth.yaml')
    """
    parts = [function, *([case] if case else [])]
    for part in parts:
        if not is_safe(part):
            raise StoreError(f"{part!r} cannot be the name of a folder", where="/".join(parts))
    return "/".join([*parts, GROWTH])


def list_growth(root: Path) -> tuple[tuple[str, str], ...]:
    """Function and case of every `growth.yaml` in a snapshots folder, in order.

    Example:
        >>> list_growth(Path("no such folder"))
        ()
    """
    records = list_records(FolderTree(root).files())
    return tuple(sorted((key.function, key.case) for key in records if key.target == "growth"))


def read_growth(root: Path, function: str, case: str) -> dict[str, Any] | None:
    """The growth record of a case; None if there is none.

    Raises:
        StoreError: the file is broken, stale since a merge, or in a newer format.
    """
    name = growth_path(function, case)
    try:
        return _read(FolderTree(root), name, f"hlodiff update {Key(function, case, '').name}")
    except UnicodeDecodeError as error:
        raise StoreError(f"is not UTF-8 text: byte {error.start}", where=f"{root}/{name}") from None


def write_growth(root: Path, function: str, case: str, value: Mapping[str, Any]) -> bool:
    """Record the growth of a case; returns False if it is unchanged. Call it while holding the folder."""
    name, text = growth_path(function, case), dump_yaml(value)
    with contextlib.suppress(OSError):
        if (root / name).read_text(encoding="utf-8") == text:
            return False
    replace_file(root, name, text.encode())
    return True


def remove_growth(root: Path, function: str, case: str) -> None:
    """Delete the growth record of a case, and the folders that this leaves empty."""
    _remove(root, growth_path(function, case))
