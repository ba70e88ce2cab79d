"""Numbers in recorded files: one reading for each version of a snapshot, without its programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hlodiff.config import COUNTED, FACTS
from hlodiff.config import KINDS as COMPUTATIONS
from hlodiff.differ.comparison import flat_facts, is_figure
from hlodiff.differ.metrics import EXECUTED
from hlodiff.errors import HlodiffError
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history.commits import GitObjects, objects
from hlodiff.snapshots import Key, RecordedTraces, read_summary, read_traces, table_in
from hlodiff.snapshots.keys import SUMMARY
from hlodiff.snapshots.records import TRACES

Kind = Literal["program", "scenario"]
_NAMES = {internal: name for name, internal in FACTS.items()}
# A summary does not store these for StableHLO: they are in tables of the compiled program only.
COMPILED_ONLY = ("fusions", "custom_calls", "collectives", "collective_bytes")
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """One version of a recorded file.

    Args:
        values: numbers by their names in budgets; a missing number is unknown.
        toolchain: the toolchain that produced it.
        fingerprints: fingerprints of the programs, by stage; for a scenario, of its programs.
        version: `format_version` of a summary, increased whenever something is counted differently; 0 for a scenario.
        problem: why it cannot be read; "" if it was read.
        whole: whether the program itself was counted too, so that a missing number is 0.
        turns: trip counts of loops, as `turns` in summary.yaml; None if an older summary lacks them.
        inexact: numbers of one call that are only known within bounds or per loop iteration.
        fresh: the values counted in the program now, not when it was recorded.

    Example:
        >>> Reading({"fusions": 3}).values["fusions"]
        3
    """

    values: Mapping[str, float] = field(default_factory=dict)
    toolchain: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    whole: bool = False
    version: int = 0
    fresh: frozenset[str] = frozenset()
    turns: tuple[str, ...] | None = None
    inexact: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _OneFile:
    """A tree of one file, so that the same code reads history and everything else."""

    content: bytes
    where: str = ""

    def files(self) -> tuple[str, ...]:
        return ()

    def read(self, names: Sequence[str], limit: int = 0) -> dict[str, bytes]:
        return {name: self.content for name in names if name.endswith((f"/{SUMMARY}", f"/{TRACES}"))}


class Readings:
    """Readings of file versions by their git names, each read once.

    Args:
        repository: the repository.
        stage: which of a snapshot's two programs to read.
    """

    def __init__(self, repository: GitObjects, stage: Stage) -> None:
        self._repository, self._stage = repository, stage
        self._known: dict[str, Reading] = {}

    def read(self, asked: Iterable[tuple[str, Kind, Key]]) -> None:
        """Read many versions at once, each given by git name, kind and key."""
        new = {name: (kind, key) for name, kind, key in asked if name and name not in self._known}
        contents = objects(self._repository, new, _LARGEST)
        for name, (kind, key) in new.items():
            content = contents.get(name, "git does not have it here")
            self._known[name] = reading_of(content, kind, key, self._stage)

    def __getitem__(self, name: str) -> Reading:
        return self._known[name]


def reading_of(content: bytes | str, kind: Kind, key: Key, stage: Stage) -> Reading:
    """Read one version of a recorded file.

    Args:
        content: the bytes of a summary.yaml or traces.yaml, or the reason in words why there are none.
        kind: kind of the file.
        key: the program or scenario.
        stage: which of a snapshot's two programs to read.

    Returns:
        its numbers; if it is broken, in conflict or in a newer format, a reading with `problem` set.

    Example:
        >>> reading_of(b"format_version: 99", "program", Key("f", "", "cpu"), "compiled").problem
        'format version 99 is newer than this hlodiff reads (up to 3)'
    """
    if isinstance(content, str):
        return Reading(problem=content)
    try:
        if kind == "scenario":
            return _of_traces(read_traces(_OneFile(content), key.function))
        return _of_summary(read_summary(_OneFile(content), key), stage)
    except HlodiffError as error:
        return Reading(problem=error.what)


def _of_summary(summary: Mapping[str, Any], stage: Stage) -> Reading:
    toolchain = {name: _plain(value) for name, value in table_in(summary, "toolchain").items()}
    fingerprints = {name: str(value) for name, value in table_in(summary, "fingerprints").items()}
    version = summary.get("format_version")
    version = version if isinstance(version, int) else 0
    listed = table_in(summary, "turns").get(stage, [])
    turns = tuple(map(str, listed)) if version > 1 and isinstance(listed, list) else None
    executed = table_in(table_in(summary, "executed"), stage)
    inexact = frozenset(budget_name(name) for name, value in executed.items() if isinstance(value, Mapping))
    return Reading(values_of(summary, stage), toolchain, fingerprints, version=version, turns=turns, inexact=inexact)


def values_of(summary: Mapping[str, Any], stage: Stage) -> dict[str, float]:
    """The numbers of one program in a summary, by their names in budgets.

    Args:
        summary: plain values of a summary.yaml.
        stage: "compiled" or "stablehlo".

    Returns:
        numbers in a fixed order; a count missing in the file is 0, a missing fact of the compiler is unknown.

    Example:
        >>> values_of({"memory": {"temp": 8}, "metrics": {"compiled": {"ops": 2}}}, "compiled")["temp_bytes"]
        8
    """
    counted = _numbers(table_in(table_in(summary, "metrics"), stage))
    found: dict[str, float] = {}
    if "metrics" in summary:
        found = dict.fromkeys((n for n in COUNTED if stage == "compiled" or n not in COMPILED_ONLY), 0)
    for name, value in counted.items():
        head, _, kind = name.partition(".")
        if name in COUNTED or name in _NAMES:
            found[_NAMES.get(name, name)] = value
        elif head == "ops" and kind in COMPUTATIONS:
            found[f"{kind}.ops"] = value
    if stage == "compiled":
        found |= _tables(summary)
        found |= {_NAMES[name]: value for name, value in flat_facts(summary).items() if name in _NAMES}
    found = _with_executed(found, table_in(table_in(summary, "executed"), stage), "executed" in summary)
    ops = _numbers(table_in(table_in(summary, "op_counts"), stage))
    return found | {f"op.{opcode}": value for opcode, value in ops.items()}


def _with_executed(found: dict[str, float], table: Mapping[str, Any], is_known: bool) -> dict[str, float]:
    """Replace numbers of the text by numbers of one call; those not known exactly are removed."""
    if not is_known:
        return {name: value for name, value in found.items() if name != "launches"}
    names = {name: name for name in EXECUTED if name in found or name in ("flops", "bytes_accessed")}
    names |= {budget_name(name): name for name in table}
    for name, inner in names.items():
        value = table.get(inner, 0)
        if is_figure(value):
            found[name] = value
        else:
            found.pop(name, None)
    return found


def budget_name(metric: str) -> str:
    """The name of a metric in budgets: `collectives.all-gather.bytes`.

    Example:
        >>> budget_name("collective_bytes.all-gather"), budget_name("copies")
        ('collectives.all-gather.bytes', 'copies')
    """
    head, _, family = metric.partition(".")
    return f"collectives.{family}.bytes" if head == "collective_bytes" and family else metric


def _tables(summary: Mapping[str, Any]) -> dict[str, float]:
    """Fusions, custom calls and collectives, each in its own table."""
    found: dict[str, float] = {}
    for name in ("fusions", "custom_calls"):
        table = _numbers(table_in(summary, name))
        found |= {name: sum(table.values()), **{f"{name}.{kind}": value for kind, value in table.items()}}
    families = {family: _numbers(table_in(table_in(summary, "collectives"), family))
                for family in table_in(summary, "collectives")}  # fmt: skip
    for name, part in (("collectives", "count"), ("async_collectives", "async"), ("collective_bytes", "bytes")):
        found[name] = sum(record.get(part, 0) for record in families.values())
    for family, record in families.items():
        found[f"collectives.{family}"] = record.get("count", 0)
        found[f"collectives.{family}.bytes"] = record.get("bytes", 0)
    return found


def _of_traces(record: RecordedTraces | None) -> Reading:
    if record is None:
        return Reading(problem="git does not have it here")
    functions = record.counts.functions
    values: dict[str, float] = {
        "traces": record.counts.traces,
        "compiles": sum(one.compiles for one in functions),
        "programs": record.counts.programs,
        "waste": sum(one.waste for one in functions),
    }
    values |= {f"traces.{one.name}": one.traces for one in functions}
    values |= {f"programs.{one.name}": len(one.programs) for one in functions}
    return Reading(values, {"jax": record.jax}, {one.name: " ".join(one.programs) for one in functions})


def _plain(value: Any) -> Any:
    """Convert to a JSON value: a hand-edited file may contain a date, or NaN."""
    if isinstance(value, list):
        return [str(one) for one in value]
    return value if value is None or isinstance(value, (str, bool, int)) else str(value)


def _numbers(table: Mapping[str, Any]) -> dict[str, float]:
    return {
        k: v for k, v in table.items() if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e300
    }
