"""traces.yaml: what a scenario traced and compiled when it was recorded, `snapshots/<scenario>/traces.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import is_safe
from hlodiff.snapshots.paths import place_below
from hlodiff.snapshots.read import refuse_conflict, refuse_stale
from hlodiff.snapshots.trees import Tree
from hlodiff.snapshots.write import clear_errors, remove_empty, replace_text
from hlodiff.snapshots.yaml_format import FORMAT_VERSION, dump, load
from hlodiff.tracing.counts import TraceCounts, from_plain, to_plain

TRACES = "traces.yaml"
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RecordedTraces:
    """A traces.yaml.

    Args:
        scenario: its name.
        jax: the version of JAX it was recorded with.
        counts: what was counted.

    Example:
        >>> RecordedTraces("steps", "0.10.2", TraceCounts(())).counts.traces
        0
    """

    scenario: str
    jax: str
    counts: TraceCounts


def scenarios_of(files: Iterable[str]) -> tuple[str, ...]:
    """Which scenarios a list of files holds.

    Example:
        >>> scenarios_of(["steps/traces.yaml", "f/cpu/summary.yaml"])
        ('steps',)
    """
    parts = [file.split("/") for file in sorted(files)]
    return tuple(part[0] for part in parts if len(part) == 2 and part[1] == TRACES and is_safe(part[0]))


def read_traces(tree: Tree, scenario: str) -> RecordedTraces | None:
    """Read what is recorded of a scenario.

    Args:
        tree: a folder or git revision.
        scenario: its name.

    Returns:
        the record; None where there is none.

    Raises:
        StoreError: the file is broken, or stale since a merge.
        FutureFormatError: a newer hlodiff wrote it.
    """
    name = f"{scenario}/{TRACES}"
    content = tree.read([name], _LARGEST).get(name)
    if content is None:
        return None
    where = f"{tree.where}/{name}"
    refuse_conflict(content, where, f"hlodiff update {scenario}")
    try:
        table = load(content.decode("utf-8"), where)
        refuse_stale(table, where, f"hlodiff update {scenario}")
        counts = from_plain(table.get("functions"))
    except (UnicodeDecodeError, ValueError) as error:
        raise StoreError(f"is not a record of traces: {error}", where=where) from None
    return RecordedTraces(scenario, str(table.get("jax", "")), counts)


def write_traces(root: Path, record: RecordedTraces) -> None:
    """Write the record of a scenario; it is whole at every moment, old or new. Call it with the folder held.

    Args:
        root: the snapshots folder.
        record: what to write.

    Raises:
        StoreError: the folder cannot be written.
    """
    replace_text(root, f"{record.scenario}/{TRACES}", dump(traces_table(record)))


def traces_table(record: RecordedTraces) -> dict[str, Any]:
    """What traces.yaml holds, in the order in which it is printed.

    Example:
        >>> traces_table(RecordedTraces("steps", "0.10.2", TraceCounts(())))["scenario"]
        'steps'
    """
    head = {"format_version": FORMAT_VERSION, "scenario": record.scenario, "jax": record.jax}
    return {**head, "functions": to_plain(record.counts)}


def traces_of(text: str, scenario: str) -> RecordedTraces:
    """The record in a text.

    Args:
        text: the content of a traces.yaml.
        scenario: whose it is taken for.

    Raises:
        ValueError: it is not a record of traces.
        StoreError: it is not YAML of ours.
    """
    table = load(text, scenario)
    return RecordedTraces(scenario, str(table.get("jax", "")), from_plain(table.get("functions")))


def remove_traces(root: Path, scenario: str) -> None:
    """Delete the record of a scenario, and its folder where it is left empty.

    Args:
        root: the snapshots folder.
        scenario: its name.

    Raises:
        StoreError: it cannot be deleted.
    """
    path = place_below(root, f"{scenario}/{TRACES}")
    with clear_errors(root):
        path.unlink(missing_ok=True)
        remove_empty(root, path.parent)
