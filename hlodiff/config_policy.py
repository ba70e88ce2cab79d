"""`fail_on`, `changes`, `budgets` and `rules` of `[tool.hlodiff]`: what a project does not want in its programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from hlodiff.config_values import closest, reject_unknown_keys, strings, wrong
from hlodiff.errors import ConfigError

Severity = Literal["error", "warn", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warn", "info")
# The classes of `diff/classes.py` that can fail, which this file may not know; a test holds the two together.
FAIL_ON = ("toolchain", "interface", "placement", "numerics", "structure", "cost")

# What a budget may limit: metrics by their names, facts each with the name that the comparison gives it. A test holds
# them to what is counted.
COUNTED = (
    "instructions", "ops", "ops_in_loops", "fusions", "copies", "copies_in_loops", "copy_bytes", "transposes",
    "converts", "broadcasts", "loops", "collectives", "async_collectives", "collective_bytes", "memory_moves",
    "memory_move_bytes", "host_transfers", "host_callbacks", "custom_calls", "large_literals", "large_literal_bytes",
)  # fmt: skip
FACTS = {
    "temp_bytes": "memory.temp",
    "argument_bytes": "memory.argument",
    "output_bytes": "memory.output",
    "alias_bytes": "memory.alias",
    "peak_bytes": "memory.peak",
    "code_bytes": "memory.generated_code",
    "host_temp_bytes": "memory.host_temp",
    "host_argument_bytes": "memory.host_argument",
    "host_output_bytes": "memory.host_output",
    "flops": "cost.flops",
    "bytes_accessed": "cost.bytes_accessed",
    "transcendentals": "cost.transcendentals",
    "estimated_cycles": "estimated_cycles",
    "rematerialized": "rematerialized",
    "lowered_functions": "functions",
}
FAMILIES = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip
KINDS = ("entry", "fusion", "loop", "branch", "reduction", "other")
# Rules with the options that each takes and the kind of value; `hlodiff/policy/rules` has one file for each.
RULES: dict[str, dict[str, Literal["text", "list"]]] = {
    "no-f64": {},
    "no-host-callback": {},
    "no-collective": {"kind": "text", "axis": "text"},
    "donation-aliases": {},
    "no-widened-type": {},
    "no-lost-placement": {},
    "no-entry-copy": {},
    "no-dynamic-shape": {},
    "custom-calls": {"only": "list"},
}
_REQUIRED = {"no-collective": "kind", "custom-calls": "only"}
_TABLE = "tool.hlodiff"
_SCOPE = ("functions", "targets", "severity")
LIMIT_KEYS = ("max", "min", "max_increase", "ratchet")
_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True, slots=True)
class Limit:
    """What one metric may be.

    Args:
        metric: the name in the configuration, such as "temp_bytes" or "collectives.all-gather".
        most, least: absolute limits.
        growth: by how much it may be above the snapshot, as a share (0.02) or in its own unit.
        relative: whether `growth` is a share.
    """

    metric: str
    most: float | None = None
    least: float | None = None
    growth: float | None = None
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for some programs.

    Args:
        limits: in the order of the table.
        functions, targets: patterns of names; all where empty.
        stage: which of the two programs is counted.
        severity: of what is over it.
        where: what messages call it: `[[tool.hlodiff.budgets]] 2`.
    """

    limits: tuple[Limit, ...]
    functions: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    stage: Literal["compiled", "stablehlo"] = "compiled"
    severity: Severity = "error"
    where: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Which classes of change fail some programs, in the place of what holds for all.

    Args:
        fail_on: the classes; () lets every change pass.
        functions, targets: patterns of names; all where empty.
    """

    fail_on: tuple[str, ...]
    functions: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A graph rule for some programs; `options` are those of the rule, a text or a list of texts each."""

    rule: str
    functions: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    severity: Severity = "error"
    options: tuple[tuple[str, str | tuple[str, ...]], ...] = ()

    def option(self, name: str) -> str:
        """A text option, "" where it is not given."""
        value = dict(self.options).get(name, "")
        return value if isinstance(value, str) else ""

    def listed(self, name: str) -> tuple[str, ...]:
        """A list option, () where it is not given."""
        value = dict(self.options).get(name, ())
        return value if isinstance(value, tuple) else ()


def measured_as(metric: str) -> tuple[str, str] | None:
    """What a metric of a budget is called in a comparison.

    Args:
        metric: the name in the configuration.

    Returns:
        the kind of computation ("" for the whole program) and the name; None where there is no such metric.

    Example:
        >>> measured_as("temp_bytes"), measured_as("loop.collectives.all-gather.bytes"), measured_as("tempbytes")
        (('', 'memory.temp'), ('loop', 'collective_bytes.all-gather'), None)
    """
    kind, _, rest = metric.partition(".")
    if kind in KINDS and rest:
        name = _counted_name(rest)
        return (kind, name) if name else None
    name = FACTS.get(metric) or _counted_name(metric)
    return ("", name) if name else None


def _counted_name(metric: str) -> str:
    head, _, rest = metric.partition(".")
    if not rest:
        return head if head in COUNTED else ""
    family = rest.removesuffix(".bytes")
    if head == "collectives" and family in FAMILIES:
        return f"collectives.{family}" if family == rest else f"collective_bytes.{family}"
    return metric if head in ("op", "fusions", "custom_calls") else ""


def is_bytes(metric: str) -> bool:
    """Whether a metric is an amount of memory, so that its limits may have units."""
    return metric.endswith(("_bytes", ".bytes")) or metric == "bytes_accessed"


def fail_on(value: object, where: str) -> tuple[str, ...]:
    """Classes of change that fail.

    Raises:
        ConfigError: something else than a class that can fail.
    """
    words = strings(value, where)
    for word in words:
        if word in ("identical", "schedule"):
            raise ConfigError(f"`{word}` never fails", where=where, hint=f"classes that can: {', '.join(FAIL_ON)}")
        if word not in FAIL_ON:
            raise _unknown(f"unknown class `{word}`", word, FAIL_ON, where)
    return words


def changes(value: object, where: str) -> tuple[Changes, ...]:
    """The tables `[[tool.hlodiff.changes]]`.

    Raises:
        ConfigError: an unknown key, a table without `fail_on` or without a pattern, or no class that can fail.
    """
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise wrong(value, where, "tables [[tool.hlodiff.changes]]")
    return tuple(_changes(table, f"{where} {number}") for number, table in enumerate(value, 1))


def _changes(table: Mapping[str, object], where: str) -> Changes:
    _reject(table, ("functions", "targets", "fail_on"), where)
    if "fail_on" not in table:
        raise ConfigError("`fail_on` is missing", where=where, hint='fail_on = ["interface", "numerics"]')
    functions, targets, _ = _scope(table, where)
    if not functions and not targets:
        hint = f"name functions or targets, or write `fail_on` in [{_TABLE}]"
        raise ConfigError("is for every program", where=where, hint=hint)
    return Changes(fail_on(table["fail_on"], f"{where}.fail_on"), functions, targets)


def budgets(value: object, where: str) -> tuple[Budget, ...]:
    """The tables `[[tool.hlodiff.budgets]]`.

    Raises:
        ConfigError: an unknown key or metric, or a limit that is none.
    """
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise wrong(value, where, "tables [[tool.hlodiff.budgets]]")
    return tuple(_budget(table, f"{where} {number}") for number, table in enumerate(value, 1))


def budget_of(function: str, table: object, where: str) -> Budget:
    """The budget that a function is registered with.

    Args:
        function: its name; the budget is for it alone.
        table: what was written: limits, and `targets`, `stage` and `severity` where they are wanted.
        where: the file and line of the function.

    Raises:
        ConfigError: an unknown key or metric, or a limit that is none.

    Example:
        >>> budget_of("f", {"fusions": 3}, "m.py:7").where
        'the budget at m.py:7'
    """
    if not isinstance(table, Mapping) or "functions" in table:
        raise wrong(table, where, 'a budget of this function, as in {"temp_bytes": "1 MiB"}')
    return replace(_budget({**table, "functions": [function]}, f"{where}: budget"), where=f"the budget at {where}")


def rules(value: object, where: str) -> tuple[RuleUse, ...]:
    """The table `[tool.hlodiff.rules]`.

    Raises:
        ConfigError: an unknown rule, severity or option.
    """
    if not isinstance(value, dict):
        raise wrong(value, where, 'a table, as in no-f64 = "error"')
    reject_unknown_keys(value, RULES, "tool.hlodiff.rules", where.partition(": ")[0])
    uses = []
    for name, used in value.items():
        several = used if isinstance(used, list) else [used]
        uses += [_rule(name, one, f"{where}.{name}") for one in several]
    return tuple(uses)


def _budget(table: Mapping[str, object], where: str) -> Budget:
    stage = table.get("stage", "compiled")
    if stage != "compiled" and stage != "stablehlo":
        raise wrong(stage, f"{where}.stage", '"compiled" or "stablehlo"')
    own = {key: value for key, value in table.items() if key not in (*_SCOPE, "stage")}
    limits = tuple(_limit(name, found, where) for name, found in _flat(own, "", where))
    if not limits:
        raise ConfigError("has no limit", where=where, hint='add one, such as temp_bytes = { max_increase = "2%" }')
    functions, targets, severity = _scope(table, where)
    return Budget(limits, functions, targets, stage, severity, where.partition(": ")[2])


def _scope(table: Mapping[str, object], where: str) -> tuple[tuple[str, ...], tuple[str, ...], Severity]:
    functions, targets = (
        strings(table[key], f"{where}.{key}") if key in table else () for key in ("functions", "targets")
    )
    return functions, targets, _severity(table.get("severity", "error"), f"{where}.severity")


def _severity(value: object, where: str) -> Severity:
    if value not in SEVERITIES:
        raise wrong(value, where, '"error", "warn" or "info"')
    return value


def _flat(table: Mapping[str, object], prefix: str, where: str) -> Iterator[tuple[str, object]]:
    """Metrics and limits; TOML reads `collectives.all-gather = ...` without quotes as tables in tables."""
    for key, value in table.items():
        name = prefix + key
        inner = {k: v for k, v in value.items() if k not in LIMIT_KEYS} if isinstance(value, dict) else {}
        if inner and _leads_on(name):
            yield from _flat(inner, f"{name}.", where)
            value = {k: v for k, v in cast(dict[str, object], value).items() if k in LIMIT_KEYS}
            if not value:
                continue
        yield name, value


def _leads_on(name: str) -> bool:
    """Whether a name is the beginning of longer ones, as `collectives` is."""
    tail = name.rpartition(".")[2]
    return tail in (*KINDS, "op", "fusions", "collectives", "custom_calls", *FAMILIES)


def _limit(metric: str, value: object, where: str) -> Limit:
    if measured_as(metric) is None:
        known = [*COUNTED, *FACTS, *(f"collectives.{family}" for family in FAMILIES)]
        if "." not in metric:
            known += [*_SCOPE, "stage"]
        raise _unknown(f"unknown metric `{metric}`", metric, known, where)
    place = f"{where}.{metric}"
    if not isinstance(value, dict):
        return Limit(metric, most=amount(value, metric, place))
    _reject(value, LIMIT_KEYS, place)
    most, least = (amount(value[key], metric, f"{place}.{key}") if key in value else None for key in ("max", "min"))
    growth, relative = _growth(value["max_increase"], metric, place) if "max_increase" in value else (None, False)
    if "ratchet" in value:
        if value["ratchet"] is not True or "max_increase" in value:
            raise ConfigError("`ratchet` is true and stands without `max_increase`", where=place)
        growth = 0.0
    if most is least is growth is None:
        raise ConfigError("has no limit", where=place, hint=f"use {', '.join(LIMIT_KEYS)}")
    return Limit(metric, most, least, growth, relative)


def _growth(value: object, metric: str, where: str) -> tuple[float, bool]:
    share = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return (
        (float(share[1]) / 100, True) if share else (amount(value, metric, f"{where}.max_increase", ' or "2%"'), False)
    )


def amount(value: object, metric: str, where: str, further: str = "") -> float:
    """A limit as a number; one of memory may have a unit.

    Raises:
        ConfigError: it is no number of at least 0.

    Example:
        >>> amount("2 KiB", "temp_bytes", "here")
        2048.0
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return value
    if isinstance(value, str) and is_bytes(metric):
        size = _SIZE.fullmatch(value.strip())
        if size and size[2] in _UNITS:
            return float(size[1]) * _UNITS[size[2]]
    limit = closest(metric.rpartition(".")[2], LIMIT_KEYS)
    if limit:  # a name may stand behind `fusions`, and so a mistyped limit looks like one
        raise ConfigError(f"{value!r} is no limit", where=where, hint=f"did you mean `{limit}`?")
    expected = 'bytes, as in 1024 or "64 MiB"' if is_bytes(metric) else "a number of at least 0"
    raise wrong(value, where, expected + further)


def _rule(name: str, used: object, where: str) -> RuleUse:
    if isinstance(used, str):
        used = {"severity": used}
    if not isinstance(used, dict):
        raise wrong(used, where, 'a severity, as in "error", or a table')
    options = RULES[name]
    _reject(used, [*_SCOPE, *options], where)
    needed = _REQUIRED.get(name)
    if needed and needed not in used:
        example = 'kind = "all-gather"' if needed == "kind" else 'only = ["__cublas*"]'
        raise ConfigError(f"`{needed}` is missing", where=where, hint=f"{name} = {{ {example} }}")
    given = tuple((option, _option(used[option], kind, f"{where}.{option}")) for option, kind in options.items()
                  if option in used)  # fmt: skip
    family = dict(given).get("kind")
    if family is not None and family not in FAMILIES:
        raise _unknown(f"unknown collective `{family}`", str(family), FAMILIES, where)
    functions, targets, severity = _scope(used, where)
    return RuleUse(name, functions, targets, severity, given)


def _option(value: object, kind: Literal["text", "list"], where: str) -> str | tuple[str, ...]:
    if kind == "list":
        return strings(value, where)
    if not isinstance(value, str) or not value.strip():
        raise wrong(value, where, "a string that is not empty")
    return value


def _unknown(what: str, word: str, known: list[str] | tuple[str, ...], where: str) -> ConfigError:
    near = closest(word, known)
    return ConfigError(what, where=where, hint=f"did you mean `{near}`?" if near else f"known: {', '.join(known)}")


def _reject(table: Mapping[str, object], known: Iterable[str], where: str) -> None:
    """Unknown keys, with the table as TOML calls it: `[tool.hlodiff.rules.no-f64]`."""
    file, _, name = where.partition(": ")
    reject_unknown_keys(table, known, name.replace("[tool.hlodiff] ", "tool.hlodiff."), file)
