"""Growth: what is recorded of a case, and what makes `check` fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from hlodiff.anatomy.fits import CLASSES, Class, worse
from hlodiff.anatomy.growth import Growth
from hlodiff.anatomy.measure import QUANTITIES, WORDS
from hlodiff.policy.findings import Finding

RULE = "growth"
_VERSION = 1


def growth_record(function: str, case: str, growths: Sequence[Growth]) -> dict[str, Any]:
    """What `growth.yaml` holds of a case.

    Args:
        function: the registered function.
        case: its case, "" where it has only one.
        growths: how it grows, for each parameter.

    Returns:
        plain values in the order in which they are printed.
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
    """The recorded class of each quantity; what makes no sense is as if it were not there.

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
        growths: how it grows, for each parameter.
        record: what is recorded; None where nothing is.
        limits: how each quantity may grow at most.
        causes: for each parameter, where the growth comes from, in words.

    Returns:
        findings: a class that got worse or exceeds its limit fails, and so does one that is not recorded. A better one
        is told.
    """
    update = f"hlodiff update {name}"
    for growth in growths:
        recorded = recorded_classes(record, growth.parameter)
        beyond = [s for s in growth.series if s.name in limits and worse(s.fit.kind, cast(Class, limits[s.name]))]
        if beyond:
            said = "; ".join(f"{WORDS[s.name]} {s.fit.words}, at most {limits[s.name]} allowed" for s in beyond)
            details = (*_counts(growth, [s.name for s in beyond], record), *causes.get(growth.parameter, ()))
            yield Finding("error", RULE, name, None, f"with `{growth.parameter}`: {said}", "", tuple(details))
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
    told: bool,
) -> Iterator[Finding]:
    """One parameter against what is recorded."""
    pairs = [(s, recorded[s.name]) for s in growth.series if s.name in recorded]
    up = [(s, old) for s, old in pairs if worse(s.fit.kind, old)]
    down = [(s, old) for s, old in pairs if worse(old, s.fit.kind)]
    if up:
        said = "; ".join(f"{WORDS[s.name]} {s.fit.words}, recorded as {old}" for s, old in up)
        details = () if told else (*_counts(growth, [s.name for s, _ in up], record), *causes)
        advice = f"hlodiff update {name}"
        yield Finding("error", RULE, name, None, f"with `{growth.parameter}`: {said}", advice, tuple(details))
    elif down:
        said = "; ".join(f"{WORDS[s.name]} {s.fit.words}, recorded as {old}" for s, old in down)
        what = f"better than recorded with `{growth.parameter}`: {said}"
        yield Finding("info", RULE, name, None, what, f"hlodiff update {name}")


def _counts(growth: Growth, names: Sequence[str], record: Mapping[str, Any] | None) -> Iterator[str]:
    """The numbers behind a verdict, with those that were recorded."""
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
