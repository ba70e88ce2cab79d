"""Growth: the record of a case, and what makes `check` fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from hlodiff.differ.growth import CLASSES, QUANTITIES, WORDS, Class, Growth, worse
from hlodiff.policy.findings import Finding

RULE = "growth"
_VERSION = 1


def growth_record(function: str, case: str, growths: Sequence[Growth]) -> dict[str, Any]:
    """The content of `growth.yaml` for a case.

    Args:
        function: the registered function.
        case: its case; "" if it has only one.
        growths: growth for each parameter.

    Returns:
        plain values in printing order.
    """
    head = {"format_version": _VERSION, "function": function, **({"case": case} if case else {})}
    target = {"target": growths[0].target} if growths else {}
    return head | target | {"parameters": {growth.parameter: _one(growth) for growth in growths}}


def _one(growth: Growth) -> dict[str, Any]:
    found: dict[str, Any] = {"sizes": list(growth.sizes)}
    for series in growth.series:
        found[series.name] = {"class": series.fit.kind, "values": list(series.values)}
    return found


def recorded_classes(record: Mapping[str, Any] | None, parameter: str) -> dict[str, Class]:
    """The recorded class of each quantity; invalid values are ignored.

    Example:
        >>> recorded_classes({"parameters": {"n": {"instructions": {"class": "linear"}}}}, "n")
        {'instructions': 'linear'}
    """
    table = _table(_table(record, "parameters"), parameter)
    classes = {name: _table(table, name).get("class") for name in QUANTITIES}
    return {name: cast(Class, kind) for name, kind in classes.items() if kind in CLASSES}


def _table(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def checked_record(record: Mapping[str, Any], function: str, case: str) -> None:
    """Refuse a record that `growth_record` cannot have made; it may be untrusted.

    Args:
        record: content of a growth.yaml.
        function, case: the expected ones.

    Raises:
        ValueError: the record is invalid; the message says why.

    Example:
        >>> checked_record({"format_version": 1, "function": "g", "target": "cpu", "parameters": {}}, "f", "")
        Traceback (most recent call last):
        ...
        ValueError: they are about 'g'
    """
    about = "/".join(str(record[name])[:100] for name in ("function", "case") if name in record)
    if about != "/".join([function, *([case] if case else [])]):
        raise ValueError(f"they are about {about!r}")
    known = ["format_version", "function", *(["case"] if case else []), "target", "parameters"]
    parameters = record.get("parameters")
    if list(record) != known or not isinstance(record["target"], str) or not isinstance(parameters, Mapping):
        raise ValueError("they have missing or unknown fields")
    for parameter, table in parameters.items():
        if not isinstance(table, Mapping) or list(table) != ["sizes", *QUANTITIES] or not _numbers(table["sizes"]):
            raise ValueError(f"`{str(parameter)[:100]}` has missing or unknown fields")
        for name in QUANTITIES:
            _checked_quantity(name, table["sizes"], table[name])


def _checked_quantity(name: str, sizes: Sequence[int], table: Any) -> None:
    good = isinstance(table, Mapping) and list(table) == ["class", "values"] and _numbers(table["values"])
    if not good or len(table["values"]) != len(sizes) or table["class"] not in CLASSES:
        raise ValueError(f"{WORDS[name]} have missing or unknown fields")


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 63 for one in value)


def changed_growth(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What changed between two records: classes, parameters, and the new counts.

    Args:
        old: what is recorded; None if nothing is.
        new: what was found.

    Returns:
        sentences (() if only counts differ), and lines of details.

    Example:
        >>> changed_growth({"parameters": {"n": {}}}, {"parameters": {}})[0]
        ('growth with `n` is recorded, and the case names no such sizes any more',)
    """
    changes, details = [], []
    for parameter in _table(new, "parameters"):
        table, before = _table(_table(new, "parameters"), parameter), recorded_classes(old, parameter)
        now = recorded_classes(new, parameter)
        was = {name: f", recorded as {before[name]}" for name in before if before[name] != now.get(name)}
        if not before or was:
            words = (f"{WORDS[name]} {now[name]}{was.get(name, '')}" for name in now if not before or name in was)
            changes.append(f"with `{parameter}`: {'; '.join(words)}")
        details.append(f"at {parameter} {_listed(table.get('sizes'))}")
        for name in now:
            values = _table(_table(_table(old, "parameters"), parameter), name).get("values")
            recorded = _listed(values)
            found = _listed(_table(table, name).get("values"))
            details.append(
                f"{WORDS[name]}: {found}" + (f" (recorded: {recorded})" if recorded not in ("", found) else "")
            )
    for parameter in _table(old, "parameters"):
        if parameter not in _table(new, "parameters"):
            changes.append(f"growth with `{parameter}` is recorded, and the case names no such sizes any more")
    return tuple(changes), tuple(details)


def _listed(values: Any) -> str:
    return ", ".join(f"{value:,}" for value in values) if _numbers(values) else ""


def judge_growth(
    name: str,
    growths: Sequence[Growth],
    record: Mapping[str, Any] | None,
    limits: Mapping[str, str],
    causes: Mapping[str, Sequence[str]],
) -> Iterator[Finding]:
    """Judge how a case grows.

    Args:
        name: function and case.
        growths: growth for each parameter.
        record: the record; None if there is none.
        limits: the worst allowed growth class of each quantity.
        causes: for each parameter, the causes of growth as text.

    Returns:
        findings: a class that got worse, exceeds its limit or is not recorded fails. A better one is reported.
    """
    update = f"hlodiff update {name}"
    for growth in growths:
        recorded = recorded_classes(record, growth.parameter)
        beyond = [s for s in growth.series if s.name in limits and worse(s.fit.kind, cast(Class, limits[s.name]))]
        if beyond:
            words = "; ".join(f"{WORDS[s.name]} {s.fit.words}, at most {limits[s.name]} allowed" for s in beyond)
            details = (*_counts(growth, [s.name for s in beyond], record), *causes.get(growth.parameter, ()))
            yield Finding("error", RULE, name, None, f"with `{growth.parameter}`: {words}", "", tuple(details))
        if not recorded:
            what = f"how it grows with `{growth.parameter}` is not recorded"
            yield Finding("error", RULE, name, None, what, update)
            continue
        yield from _against(name, growth, recorded, record, causes.get(growth.parameter, ()), bool(beyond))
    known = {growth.parameter for growth in growths}
    for parameter in _table(record, "parameters"):
        if parameter not in known:
            what = f"growth with `{parameter}` is recorded, and the case names no such sizes any more"
            yield Finding("error", RULE, name, None, what, update)


def _against(
    name: str,
    growth: Growth,
    recorded: Mapping[str, Class],
    record: Mapping[str, Any] | None,
    causes: Sequence[str],
    is_repeated: bool,
) -> Iterator[Finding]:
    """Compare one parameter with the record."""
    pairs = [(s, recorded[s.name]) for s in growth.series if s.name in recorded]
    up = [(s, old) for s, old in pairs if worse(s.fit.kind, old)]
    down = [(s, old) for s, old in pairs if worse(old, s.fit.kind)]
    if up:
        words = "; ".join(f"{WORDS[s.name]} {s.fit.words}, recorded as {old}" for s, old in up)
        details = () if is_repeated else (*_counts(growth, [s.name for s, _ in up], record), *causes)
        advice = f"hlodiff update {name}"
        yield Finding("error", RULE, name, None, f"with `{growth.parameter}`: {words}", advice, tuple(details))
    elif down:
        words = "; ".join(f"{WORDS[s.name]} {s.fit.words}, recorded as {old}" for s, old in down)
        what = f"better than recorded with `{growth.parameter}`: {words}"
        yield Finding("info", RULE, name, None, what, f"hlodiff update {name}")


def _counts(growth: Growth, names: Sequence[str], record: Mapping[str, Any] | None) -> Iterator[str]:
    """The counts behind a verdict, with the recorded ones."""
    old = _table(_table(record, "parameters"), growth.parameter)
    sizes = ", ".join(f"{size:,}" for size in growth.sizes)
    yield f"at {growth.parameter} {sizes}"
    for name in names:
        values = ", ".join(f"{value:,}" for value in growth.quantity(name).values)
        before = _table(old, name).get("values")
        same = isinstance(before, list) and old.get("sizes") == list(growth.sizes)
        numbers = [f"{v:,}" if isinstance(v, int) else "?" for v in before] if same and isinstance(before, list) else []
        was = f" (recorded: {', '.join(numbers)})" if numbers else ""
        yield f"{WORDS[name]}: {values}{was}"
