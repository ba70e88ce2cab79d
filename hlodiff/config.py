"""Keys and values of `[tool.hlodiff]` in pyproject.toml, and the process environment, which nothing else reads.

The table is defined once: the fields of `Config` are its keys. Readers, error messages, the JSON Schema (`schema`) and
the table in docs/configuration.md (`table_of_keys`) are derived from them. A library such as msgspec could decode the
same records, but its errors would lack our context: file, table and key, what was expected, and the nearest valid name;
and budgets, whose keys are names with dots, are beyond its types. So a kind of value is a record of our own, `Kind`,
with its reader and its schema side by side.

`workflows/configuration.py` finds the table and passes in the graph rules, which are in a higher layer than this file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_type_hints

from hlodiff.errors import ConfigError, UsageError

TABLE = "tool.hlodiff"

# ---- names and records of a policy

Severity = Literal["error", "warn", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warn", "info")
# The classes of `differ/classify.py` that can fail. This file may not import it; a test keeps the two equal.
FAIL_ON = ("toolchain", "interface", "placement", "numerics", "structure", "cost")
STAGE_WORDS = ("compiled", "stablehlo")

# What a budget may limit: metrics by name, and facts with their name in a comparison. A test keeps them equal to what
# is counted.
COUNTED = (
    "instructions", "ops", "ops_in_loops", "fusions", "copies", "copies_in_loops", "copy_bytes", "transposes",
    "converts", "broadcasts", "loops", "collectives", "async_collectives", "collective_bytes", "memory_moves",
    "memory_move_bytes", "host_transfers", "host_callbacks", "custom_calls", "large_literals", "large_literal_bytes",
    "launches",
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


@dataclass(frozen=True, slots=True)
class Limit:
    """The limits of one metric.

    Args:
        metric: the name in the configuration, such as "temp_bytes" or "collectives.all-gather".
        most, least: absolute limits.
        growth: allowed increase over the snapshot, as a share (0.02) or in its own unit.
        relative: whether `growth` is a share.
        static: whether it counts the program text, with each loop body once, instead of one call.
    """

    metric: str
    most: float | None = None
    least: float | None = None
    growth: float | None = None
    relative: bool = False
    static: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for some programs.

    Args:
        limits: in the order of the table.
        functions, targets: patterns of names; all if empty.
        stage: which of the two programs is counted.
        severity: severity of a violation.
        where: its name in messages: `[[tool.hlodiff.budgets]] 2`.
    """

    limits: tuple[Limit, ...]
    functions: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    stage: Literal["compiled", "stablehlo"] = "compiled"
    severity: Severity = "error"
    where: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """The classes of change that fail some programs, in place of the default.

    Args:
        fail_on: the classes; with () every change passes.
        functions, targets: patterns of names; all if empty.
    """

    fail_on: tuple[str, ...]
    functions: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


OptionValue: TypeAlias = str | int | float | bool | tuple[str, ...]
# The records of the graph rules by name; their fields are their options.
RuleTypes: TypeAlias = Mapping[str, type[Any]]


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A graph rule for some programs.

    Args:
        rule: its name.
        functions, targets: patterns of names; all if empty.
        severity: severity of its findings.
        options: the given options of the rule, in the order of its fields.
    """

    rule: str
    functions: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    severity: Severity = "error"
    options: tuple[tuple[str, OptionValue], ...] = ()


def option(*, default: Any = MISSING, among: tuple[str, ...] = (), noun: str = "", example: OptionValue = "") -> Any:
    """A field of a graph rule that needs more than its type.

    Args:
        default: its default; without one, the option is required.
        among: the allowed words; all if empty.
        noun: what such a word is called in messages.
        example: an example for the message if it is missing.
    """
    return field(default=default, metadata={"among": among, "noun": noun, "example": example})


def measured_as(metric: str) -> tuple[str, str] | None:
    """The name of a budget's metric in a comparison.

    Args:
        metric: the name in the configuration.

    Returns:
        the kind of computation ("" for the whole program) and the name; None if there is no such metric.

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


# ---- error messages


_LONGEST_WORD = 200  # time is quadratic, and nobody mistypes a longer word


def closest(word: str, options: Iterable[str]) -> str:
    """The option a mistyped word most likely means.

    Args:
        word: what was typed.
        options: valid words.

    Returns:
        the nearest option; "" if none is within an edit distance of a third of the word (at least two).

    Example:
        >>> closest("tagets", ["modules", "targets"])
        'targets'
    """
    most = max(2, len(word) // 3)
    near = [option for option in options if abs(len(option) - len(word)) <= most and len(word) <= _LONGEST_WORD]
    ranked = sorted((_edits(word.lower(), option.lower()), option) for option in near)
    return ranked[0][1] if ranked and ranked[0][0] <= most else ""


def _edits(a: str, b: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def suggestion(word: str, known: Iterable[str], otherwise: str = "known") -> str:
    """A hint for an unknown word.

    Args:
        word: what was typed.
        known: valid words.
        otherwise: prefix of the list of all of them, if none is near.

    Example:
        >>> suggestion("tagets", ["modules", "targets"]), suggestion("x", ["modules", "targets"], "keys")
        ('did you mean `targets`?', 'keys: modules, targets')
    """
    known = list(known)
    near = closest(word, known)
    return f"did you mean `{near}`?" if near else f"{otherwise}: {', '.join(known)}"


def reject_unknown_keys(table: Mapping[str, object], known: Iterable[str], name: str, where: str) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            hint = suggestion(key, known, "known keys")
            raise ConfigError(f"unknown key `{key}` in [{name}]", where=where, hint=hint)


def wrong(value: object, where: str, expected: str) -> ConfigError:
    return ConfigError(f"expected {expected}, found {type(value).__name__} {value!r}", where=where)


def _unknown(what: str, word: str, known: list[str] | tuple[str, ...], where: str) -> ConfigError:
    return ConfigError(what, where=where, hint=suggestion(word, known))


def _reject(table: Mapping[str, object], known: Iterable[str], where: str) -> None:
    """Raise for unknown keys, with the name of the table in TOML: `[tool.hlodiff.rules.no-f64]`."""
    file, _, name = where.partition(": ")
    reject_unknown_keys(table, known, name.replace("[tool.hlodiff] ", "tool.hlodiff."), file)


# ---- kinds of values


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    Args:
        read: converts a TOML value, or raises a ConfigError; its second argument is the location for messages.
        schema: the JSON Schema; it accepts the same values.
        words: its name in docs/configuration.md.
        example: an example value.
    """

    read: Callable[[object, str], Any]
    schema: Mapping[str, Any]
    words: str = ""
    example: OptionValue = ""


def strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise wrong(value, where, 'a list of strings, as in ["a", "b"]')
    return tuple(cast(list[str], value))


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(value, where, "a string that is not empty")
    return value


def _flags(value: object, where: str) -> tuple[str, ...]:
    flags = tuple(value.split()) if isinstance(value, str) else strings(value, where)
    for flag in flags:
        if not flag.startswith("--") or len(flag.split()) != 1:
            raise ConfigError(f"expected a flag, as in --name=value, found {flag!r}", where=where)
    return flags


def _whole(least: int) -> Kind:
    def read(value: object, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise wrong(value, where, f"a whole number of at least {least}")
        return value

    return Kind(read, {"type": "integer", "minimum": least}, "integer", 1)


def _number(value: object, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise wrong(value, where, "a number of at least 0")
    try:
        return float(value)
    except OverflowError:
        raise wrong(value, where, "a number of at least 0") from None


def _share(value: object, where: str) -> float:
    percent = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    share = float(percent[1]) / 100 if percent else value
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
        raise wrong(value, where, 'a share of at most 1, as in 0.01 or "1%"')
    return float(share)


def _boolean(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(value, where, "true or false")
    return value


def _one_of(among: tuple[str, ...], expected: str, words: str) -> Kind:
    def read(value: object, where: str) -> str:
        if value not in among:
            raise wrong(value, where, expected)
        return str(value)

    return Kind(read, {"enum": list(among)}, words, among[0])


_OWNED = {"XLA_FLAGS": "xla_flags", "LIBTPU_INIT_ARGS": "libtpu_init_args", "JAX_ENABLE_X64": "x64"}


def _variables(value: object, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise wrong(value, where, 'a table of strings, as in {NAME = "value"}')
    for name, owner in _OWNED.items():
        if name in value:
            raise ConfigError(f"{name} cannot be set here", where=where, hint=f"use the key `{owner}`")
    return tuple(sorted(value.items()))


# The fields of `hlodiff.Limits`. This file may not import it; a test keeps the two equal.
LIMITS = ("assignment", "search", "moves", "move_rounds", "unrelated")


def _limits(value: object, where: str) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise wrong(value, where, "a table of whole numbers, as in {search = 400}")
    reject_unknown_keys(value, LIMITS, f"{TABLE}.limits", where)
    return tuple((name, _COUNT.read(value[name], f"{where}.{name}")) for name in LIMITS if name in value)


# The values of `jax_default_matmul_precision`, from JAX's documentation.
_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip
_STRINGS = Kind(strings, {"$ref": "#/$defs/strings"}, "list of strings", ("...",))
_TEXT = Kind(_text, {"type": "string", "pattern": r"\S"}, "string", "...")
_FOLDER = replace(_TEXT, read=lambda value, where: Path(_text(value, where)))
_FLAGS = Kind(
    _flags,
    {
        "anyOf": [
            {"type": "string", "pattern": r"^\s*(--\S+\s*)*$"},
            {"type": "array", "items": {"type": "string", "pattern": r"^--\S+$"}},
        ]
    },
    "list of strings, or one string",
)
_COUNT = _whole(1)
_SECONDS = Kind(_number, {"type": "number", "minimum": 0}, "number", 1)
_SHARE = Kind(
    _share,
    {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*(100|\d{1,2})(\.\d+)?\s*%\s*$"},
        ]
    },
    "number, or a percentage",
    "1%",
)
_BOOLEAN = Kind(_boolean, {"type": "boolean"}, "boolean", True)
_PRECISION = _one_of(_PRECISIONS, f"one of {', '.join(_PRECISIONS[:6])} or a dot algorithm of JAX", "string")
_CONSTANTS = _one_of(("hash", "ignore"), '"hash" or "ignore"', '`"hash"` or `"ignore"`')
_VARIABLES = Kind(
    _variables,
    {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "propertyNames": {"not": {"enum": list(_OWNED)}},
    },
    "table of strings",
)
_LIMITS = Kind(
    _limits,
    {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(LIMITS, _COUNT.schema)},
    "table of integers",
)


# ---- changes and budgets

_SCOPE = ("functions", "targets", "severity")
LIMIT_KEYS = ("max", "min", "max_increase", "ratchet", "static")
_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def fail_on(value: object, where: str) -> tuple[str, ...]:
    """Classes of change that fail.

    Raises:
        ConfigError: not a class that can fail.
    """
    words = strings(value, where)
    for word in words:
        stage, dot, name = word.partition(".") if word.partition(".")[0] in STAGE_WORDS else ("", "", word)
        if stage and not dot:
            continue  # every class of that stage
        if name in ("identical", "schedule"):
            raise ConfigError(f"`{word}` never fails", where=where, hint=f"classes that can: {', '.join(FAIL_ON)}")
        if name not in FAIL_ON:
            raise _unknown(f"unknown class `{word}`", name, (*FAIL_ON, *STAGE_WORDS), where)
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
        hint = f"name functions or targets, or write `fail_on` in [{TABLE}]"
        raise ConfigError("is for every program", where=where, hint=hint)
    return Changes(fail_on(table["fail_on"], f"{where}.fail_on"), functions, targets)


def budgets(value: object, where: str) -> tuple[Budget, ...]:
    """The tables `[[tool.hlodiff.budgets]]`.

    Raises:
        ConfigError: an unknown key or metric, or an invalid limit.
    """
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise wrong(value, where, "tables [[tool.hlodiff.budgets]]")
    return tuple(_budget(table, f"{where} {number}") for number, table in enumerate(value, 1))


def budget_of(function: str, table: object, where: str) -> Budget:
    """The budget given in `hlodiff.register`.

    Args:
        function: name of the function; the budget is for it alone.
        table: limits, and optionally `targets`, `stage` and `severity`.
        where: file and line of the function.

    Raises:
        ConfigError: an unknown key or metric, or an invalid limit.

    Example:
        >>> budget_of("f", {"fusions": 3}, "m.py:7").where
        'the budget at m.py:7'
    """
    if not isinstance(table, Mapping) or "functions" in table:
        raise wrong(table, where, 'a budget of this function, as in {"temp_bytes": "1 MiB"}')
    return replace(_budget({**table, "functions": [function]}, f"{where}: budget"), where=f"the budget at {where}")


def _budget(table: Mapping[str, object], where: str) -> Budget:
    stage = table.get("stage", "compiled")
    if stage != "compiled" and stage != "stablehlo":
        raise wrong(stage, f"{where}.stage", '"compiled" or "stablehlo"')
    own = {key: value for key, value in table.items() if key not in (*_SCOPE, "stage", "static")}
    static = _boolean(table.get("static", False), f"{where}.static")
    limits = tuple(_limit(name, found, where, static) for name, found in _flat(own, "", where))
    if not limits:
        raise ConfigError("has no limit", where=where, hint='add one, such as temp_bytes = { max_increase = "2%" }')
    functions, targets, severity = _scope(table, where)
    return Budget(limits, functions, targets, stage, severity, where.partition(": ")[2])


def _scope(table: Mapping[str, object], where: str) -> tuple[tuple[str, ...], tuple[str, ...], Severity]:
    functions, targets = (
        strings(table[key], f"{where}.{key}") if key in table else () for key in ("functions", "targets")
    )
    severity = table.get("severity", "error")
    if severity not in SEVERITIES:
        raise wrong(severity, f"{where}.severity", '"error", "warn" or "info"')
    return functions, targets, severity


def _flat(table: Mapping[str, object], prefix: str, where: str) -> Iterator[tuple[str, object]]:
    """Metrics and limits, flattened: TOML reads an unquoted `collectives.all-gather = ...` as a nested table."""
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
    """Whether a name is a prefix of longer metric names, as `collectives` is."""
    tail = name.rpartition(".")[2]
    return tail in (*KINDS, "op", "fusions", "collectives", "custom_calls", *FAMILIES)


def _limit(metric: str, value: object, where: str, static: bool = False) -> Limit:
    if measured_as(metric) is None:
        known = [*COUNTED, *FACTS, *(f"collectives.{family}" for family in FAMILIES)]
        if "." not in metric:
            known += [*_SCOPE, "stage", "static"]
        raise _unknown(f"unknown metric `{metric}`", metric, known, where)
    place = f"{where}.{metric}"
    if not isinstance(value, dict):
        return Limit(metric, most=amount(value, metric, place), static=static)
    _reject(value, LIMIT_KEYS, place)
    static = _boolean(value.get("static", static), f"{place}.static")
    most, least = (amount(value[key], metric, f"{place}.{key}") if key in value else None for key in ("max", "min"))
    growth, relative = _growth(value["max_increase"], metric, place) if "max_increase" in value else (None, False)
    if "ratchet" in value:
        if value["ratchet"] is not True or "max_increase" in value:
            raise ConfigError("`ratchet` is true and takes no `max_increase`", where=place)
        growth = 0.0
    if most is least is growth is None:
        raise ConfigError("has no limit", where=place, hint=f"use {', '.join(LIMIT_KEYS[:-1])}")
    return Limit(metric, most, least, growth, relative, static)


def _growth(value: object, metric: str, where: str) -> tuple[float, bool]:
    share = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return (
        (float(share[1]) / 100, True) if share else (amount(value, metric, f"{where}.max_increase", ' or "2%"'), False)
    )


def amount(value: object, metric: str, where: str, further: str = "") -> float:
    """A limit as a number; a limit of memory may have a unit.

    Raises:
        ConfigError: it is not a number of at least 0.

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
    if limit:  # `fusions` may be followed by a name, so a mistyped limit looks like one
        raise ConfigError(f"{value!r} is not a limit", where=where, hint=f"did you mean `{limit}`?")
    expected = 'bytes, as in 1024 or "64 MiB"' if is_bytes(metric) else "a number of at least 0"
    raise wrong(value, where, expected + further)


# ---- graph rules, read by the fields of their records

_SCOPE_SCHEMA = {"functions": _STRINGS.schema, "targets": _STRINGS.schema, "severity": {"$ref": "#/$defs/severity"}}
# Kinds of options, by the type of the field.
_OPTIONS: Mapping[object, Kind] = {
    str: _TEXT,
    tuple[str, ...]: _STRINGS,
    int: _whole(0),
    float: Kind(_number, {"type": "number", "minimum": 0}, "number", 0.5),
    bool: _BOOLEAN,
}


def rules(value: object, where: str, known: RuleTypes) -> tuple[RuleUse, ...]:
    """The table `[tool.hlodiff.rules]`.

    Args:
        value: the TOML value.
        where: file and table, for messages.
        known: the records of the rules by name.

    Raises:
        ConfigError: an unknown rule, severity or option.
    """
    if not isinstance(value, dict):
        raise wrong(value, where, 'a table, as in no-f64 = "error"')
    reject_unknown_keys(value, known, f"{TABLE}.rules", where.partition(": ")[0])
    uses = []
    for name, used in value.items():
        several = used if isinstance(used, list) else [used]
        uses += [_rule(name, known[name], one, f"{where}.{name}") for one in several]
    return tuple(uses)


def _rule(name: str, rule: type[Any], used: object, where: str) -> RuleUse:
    if isinstance(used, str):
        used = {"severity": used}
    if not isinstance(used, dict):
        raise wrong(used, where, 'a severity, as in "error", or a table')
    options = _options(rule)
    _reject(used, [*_SCOPE, *(option.name for option, _ in options)], where)
    for option, kind in options:
        if _is_required(option) and option.name not in used:
            example = json.dumps(option.metadata.get("example") or kind.example)
            hint = f"{name} = {{ {option.name} = {example} }}"
            raise ConfigError(f"`{option.name}` is missing", where=where, hint=hint)
    given = tuple(
        (option.name, _option(option, kind, used[option.name], where))
        for option, kind in options
        if option.name in used
    )
    functions, targets, severity = _scope(used, where)
    return RuleUse(name, functions, targets, severity, given)


def _options(rule: type[Any]) -> list[tuple[Field[Any], Kind]]:
    types = get_type_hints(rule)
    return [(option, _OPTIONS[types[option.name]]) for option in fields(rule)]


def _is_required(option: Field[Any]) -> bool:
    return option.default is MISSING and option.default_factory is MISSING


def _option(option: Field[Any], kind: Kind, value: object, where: str) -> OptionValue:
    read: OptionValue = kind.read(value, f"{where}.{option.name}")
    among = option.metadata.get("among")
    if among and read not in among:
        raise _unknown(f"unknown {option.metadata['noun']} `{read}`", str(read), among, where)
    return read


def _rule_schema(options: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    table = {"type": "object", "additionalProperties": False, "properties": {**_SCOPE_SCHEMA, **options}}
    one = {**table, "required": required} if required else {"anyOf": [_SCOPE_SCHEMA["severity"], table]}
    return {"anyOf": [one, {"type": "array", "items": one}]}


def _rules_schema(known: RuleTypes) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, rule in known.items():
        options = _options(rule)
        schemas = {
            option.name: {"enum": list(among)} if (among := option.metadata.get("among")) else kind.schema
            for option, kind in options
        }
        required = [option.name for option, _ in options if _is_required(option)]
        properties[name] = _rule_schema(schemas, required) if options else _ref("rule")
    return {"type": "object", "additionalProperties": False, "properties": properties}


# ---- the schema of a budget: names of metrics, with dots or as nested tables


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _limit_schema(amount: str, names: Mapping[str, Any], others: Any = False) -> dict[str, Any]:
    """The schema of an amount, or of a table of limits that may contain further metric names."""
    share = {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"}
    limits = {
        "max": _ref(amount),
        "min": _ref(amount),
        "max_increase": {"anyOf": [_ref(amount), share]},
        "ratchet": {"const": True},
        "static": {"type": "boolean"},
    }
    table = {
        "type": "object",
        "additionalProperties": others,
        "minProperties": 1,
        "properties": {**limits, **names},
        "not": {"required": ["ratchet", "max_increase"]},
    }
    return {"anyOf": [_ref(amount), table]}


def _metric_schema(metric: str) -> dict[str, str]:
    if metric == "collectives":
        return _ref("collectives")
    if metric in ("fusions", "custom_calls"):
        return _ref("by_name")
    return _ref("bytes_limit" if is_bytes(metric) else "count_limit")


def _dotted_schema() -> dict[str, Any]:
    """Schemas of quoted names such as `"collectives.all-gather"`, which TOML does not split."""
    families, kinds = ("|".join(words) for words in (FAMILIES, KINDS))
    count, size = _ref("count_limit"), _ref("bytes_limit")
    counted = [name for name in COUNTED if not is_bytes(name)]
    sizes = [name for name in COUNTED if is_bytes(name)]
    names = {
        rf"collectives\.({families})$": count,
        rf"collectives\.({families})\.bytes$": size,
        r"(op|fusions|custom_calls)\.[^.].*$": count,
    }
    whole = {rf"({'|'.join(counted)})$": count, rf"({'|'.join(sizes)})$": size}
    in_kind = {rf"^({kinds})\.{pattern}": limit for pattern, limit in {**whole, **names}.items()}
    return {**{f"^{pattern}": limit for pattern, limit in names.items()}, **in_kind}


def _budget_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "not": {"propertyNames": {"enum": [*_SCOPE, "stage", "static"]}},
        "properties": {
            **_SCOPE_SCHEMA,
            "stage": {"enum": ["compiled", "stablehlo"]},
            "static": {"type": "boolean"},
            **{metric: _metric_schema(metric) for metric in (*COUNTED, *FACTS)},
            "op": _ref("op"),
            **{kind: _ref("kind") for kind in KINDS},
        },
        "patternProperties": _dotted_schema(),
    }


def _definitions(graph_rules: RuleTypes) -> dict[str, Any]:
    number = {"type": "number", "minimum": 0}
    size = {"type": "string", "pattern": rf"^\s*\d+(\.\d+)?\s*({'|'.join(filter(None, _UNITS))})?\s*$"}
    in_kind = {name: limit for name, limit in _dotted_schema().items() if not name.startswith("^(" + KINDS[0])}
    return {
        "strings": {"type": "array", "items": _TEXT.schema},
        "severity": {"enum": list(SEVERITIES)},
        "rule": _rule_schema({}, []),
        "rules": _rules_schema(graph_rules),
        "budget": _budget_schema(),
        "count_amount": number,
        "bytes_amount": {"anyOf": [number, size]},
        "count_limit": _limit_schema("count_amount", {}),
        "bytes_limit": _limit_schema("bytes_amount", {}),
        "family": _limit_schema("count_amount", {"bytes": _ref("bytes_limit")}),
        "collectives": _limit_schema("count_amount", {family: _ref("family") for family in FAMILIES}),
        "op": {"type": "object", "minProperties": 1, "additionalProperties": _ref("count_limit")},
        "by_name": _limit_schema("count_amount", {}, _ref("count_limit")),
        "kind": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {**{metric: _metric_schema(metric) for metric in COUNTED}, "op": _ref("op")},
            "patternProperties": in_kind,
        },
    }


# ---- the table itself


def _key(kind: Kind, meaning: str, default: Any = MISSING, shown: str = "", **more: Any) -> Any:
    """A key of the table.

    Args:
        kind: kind of its value.
        meaning: description in docs/configuration.md and the JSON Schema.
        default: its default.
        shown: the default as docs/configuration.md shows it, if not the value.
        more: arguments of `dataclasses.field`.
    """
    return field(default=default, metadata={"kind": kind, "meaning": meaning, "shown": shown}, **more)


_FAILING = [*FAIL_ON, *(word for stage in STAGE_WORDS for word in (stage, *(f"{stage}.{name}" for name in FAIL_ON)))]
_FAIL_ON = Kind(fail_on, {"type": "array", "items": {"enum": _FAILING}}, "list of strings")
_CHANGES = Kind(
    changes,
    {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["fail_on"],
            "anyOf": [{"properties": {key: {"minItems": 1}}, "required": [key]} for key in ("functions", "targets")],
            "properties": {
                "functions": _STRINGS.schema,
                "targets": _STRINGS.schema,
                "fail_on": {"$ref": "#/properties/fail_on"},
            },
        },
    },
    "tables",
)
_BUDGETS = Kind(budgets, {"type": "array", "items": {"$ref": "#/$defs/budget"}}, "tables")
# The rules that there are depend on who reads the table, see `read_table`.
_RULES = Kind(lambda value, where: rules(value, where, {}), {"$ref": "#/$defs/rules"}, "table")

# Defined here because it needs `amount`, which also reads budgets.
_MEMORY = Kind(
    lambda value, where: amount(value, "memory_bytes", where),
    {"$ref": "#/$defs/bytes_amount"},
    'integer, or a string such as `"8 GiB"`',
)


@dataclass(frozen=True, slots=True)
class Config:
    """The values of `[tool.hlodiff]`, with defaults. The fields are its keys, in the order of the documentation.

    Args:
        root: the folder of the pyproject.toml; every relative path of the table starts here.
        snapshots: an absolute path if read from a file.
        env: sorted by name.
        x64, matmul_precision: None for the environment's or JAX's default.

    Example:
        >>> Config(root=Path("/project")).targets
        ('cpu',)
    """

    root: Path
    modules: tuple[str, ...] = _key(
        _STRINGS,
        'module names (`"pkg.registered"`), files or patterns of files (`"examples/*.py"`) that register functions',
        (),
    )
    path: tuple[str, ...] = _key(_STRINGS, "folders put on `sys.path` before the modules are imported", (".",))
    targets: tuple[str, ...] = _key(
        _STRINGS, "what a function without targets of its own is compiled for, see [targets](targets.md)", ("cpu",)
    )
    snapshots: Path = _key(_FOLDER, "the folder of the recorded programs; commit it", Path("snapshots"))  # noqa: RUF009
    jobs: int = _key(
        _COUNT,
        "worker processes; each takes about 1 GB with libtpu. `--jobs` overrides it",
        shown="cores, at most 4",
        default_factory=lambda: min(4, os.cpu_count() or 1),
    )
    timeout: float = _key(
        _SECONDS,
        "seconds that a worker may take for one task: to import a module, ask a function for its cases, or capture "
        "one program. Then it is ended, and the next task gets a new one; 0 means no limit. `--timeout` overrides it",
        1200.0,
        "`1200`",
    )
    memory: float | None = _key(
        _MEMORY,
        "memory limit of one worker, checked twice a second; a worker above it is stopped. Linux only",
        None,
        "nine tenths of the machine's or container's",
    )
    xla_flags: tuple[str, ...] = _key(_FLAGS, "flags for `XLA_FLAGS` of the workers", ())
    libtpu_init_args: tuple[str, ...] = _key(_FLAGS, "flags for `LIBTPU_INIT_ARGS` of the workers", ())
    env: tuple[tuple[str, str], ...] = _key(
        _VARIABLES,
        "other environment variables of the workers; `PYTHONHASHSEED` is 0 where neither this nor the shell sets it",
        (),
        "`{}`",
    )
    x64: bool | None = _key(_BOOLEAN, "whether 64-bit types are on", None, "left to JAX")
    matmul_precision: str | None = _key(
        _PRECISION,
        'JAX\'s default matmul precision: `"default"`, `"highest"`, `"bfloat16"`, ...',
        None,
        "left to JAX",
    )
    max_file_bytes: int = _key(_COUNT, "a program above this is stored compressed", 1024 * 1024)
    large_constants: Literal["hash", "ignore"] = _key(
        _CONSTANTS,
        "whether the numbers of constants of more than 64 elements are compared (by a hash), or only type and shape, "
        "as random weights need it",
        "hash",
    )
    limits: tuple[tuple[str, int], ...] = _key(_LIMITS, "how long a comparison may search, see below", (), "`{}`")
    relevance_threshold: float = _key(
        _SHARE,
        "changes of numbers below this share are counted in reports, not listed; nothing else depends on it, "
        "see [reading a report](reading-a-report.md#better-or-worse)",
        0.01,
        '`"1%"`',
    )
    fail_on: tuple[str, ...] = _key(
        _FAIL_ON, "classes of change that fail `check`, see [policy](policy.md)", FAIL_ON, "all classes"
    )
    changes: tuple[Changes, ...] = _key(
        _CHANGES, "`fail_on` for some functions and targets, see [policy](policy.md#what-fails)", ()
    )
    budgets: tuple[Budget, ...] = _key(_BUDGETS, "limits of metrics, see [policy](policy.md#budgets)", ())
    rules: tuple[RuleUse, ...] = _key(_RULES, "graph rules, see [policy](policy.md#rules)", (), "`{}`")


_KEYS = {key.name: key for key in fields(Config) if key.name != "root"}


def read_table(table: Mapping[str, object], file: Path, graph_rules: RuleTypes) -> Config:
    """Read the table `[tool.hlodiff]`.

    Args:
        table: the parsed TOML table.
        file: the pyproject.toml it is in.
        graph_rules: the records of the rules by name; only needed for a table with rules.

    Raises:
        ConfigError: an unknown key, or a value of the wrong kind.
    """
    where = os.path.relpath(file)
    reject_unknown_keys(table, _KEYS, TABLE, where)
    read: dict[str, Any] = {}
    for name, key in _KEYS.items():
        if name in table:
            value, at = table[name], f"{where}: [{TABLE}] {name}"
            read[name] = rules(value, at, graph_rules) if name == "rules" else key.metadata["kind"].read(value, at)
    config = Config(root=file.parent, **read)
    return replace(config, snapshots=config.root / config.snapshots)


# ---- derived from the definition


def schema(graph_rules: RuleTypes) -> dict[str, Any]:
    """The JSON Schema of the table, as in hlodiff/config_schema.json.

    Args:
        graph_rules: the records of the rules by name.
    """
    properties = {
        name: {**key.metadata["kind"].schema, "description": _plain(key.metadata["meaning"])}
        for name, key in _KEYS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"[{TABLE}] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "$defs": _definitions(graph_rules),
    }


def _plain(markdown: str) -> str:
    """Markdown as plain text, without a trailing "see below"."""
    return re.sub(r", see below$", "", re.sub(r"\[(\w+)\]\([^)]*\)", r"docs/\1.md", markdown)).replace("`", "")


def table_of_keys() -> str:
    """The Markdown table of keys in docs/configuration.md."""
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, key in _KEYS.items():
        more = key.metadata
        rows.append(f"| `{name}` | {more['kind'].words} | {more['shown'] or _shown(key.default)} | {more['meaning']} |")
    return "\n".join(rows) + "\n"


def _shown(default: object) -> str:
    return f"`{json.dumps(default.as_posix() if isinstance(default, Path) else default)}`"


# ---- the process environment


def process_environment() -> dict[str, str]:
    """A copy of the environment variables of this process.

    Returns:
        names and values.

    Example:
        >>> "PATH" in process_environment()
        True
    """
    return dict(os.environ)


def set_defaults(variables: Mapping[str, str]) -> None:
    """Set environment variables of this process that are not set yet.

    Args:
        variables: names and values.
    """
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def in_ci() -> bool:
    """Whether this runs in CI: the environment variable `CI` is set, and is neither `0` nor `false`.

    Returns:
        True in CI, where snapshots are written only if explicitly requested.

    Example:
        >>> in_ci()  # doctest: +SKIP
        False
    """
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false")


def refuse_in_ci(ci_write: bool, command: str) -> None:
    """Raise before snapshots are written in CI, where nobody sees what was accepted.

    Args:
        ci_write: whether writing in CI was allowed.
        command: the command to name in the hint.

    Raises:
        UsageError: this is CI, and writing was not allowed.
    """
    if in_ci() and not ci_write:
        hint = f"run it on your machine and commit what it wrote, or run `hlodiff {command} --ci-write`"
        raise UsageError("snapshots are not written in CI (the variable CI is set)", hint=hint)


def shown_path(path: Path) -> Path:
    """The path as typed here: relative if it is below the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
