"""Budgets of variants: `@hlodiff.variants(budget={"outer": {"launches": 1}})`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hlodiff.capture.variants import VariantRun, VariantsResult
from hlodiff.config import amount, closest
from hlodiff.errors import ConfigError
from hlodiff.inspect.variants_report import COUNTS, Variant
from hlodiff.report.wording import format_bytes, format_count

Limits = Mapping[str, Mapping[str, float]]


def variant_limits(varied: VariantsResult) -> Limits:
    """The budget of a computation, checked.

    Args:
        varied: the result, with its unchecked budget.

    Returns:
        limits by variant and count.

    Raises:
        ConfigError: it names a variant or a count that does not exist, or a limit is no number.

    Example:
        >>> budget = {"outer": {"launches": 1}}
        >>> variant_limits(VariantsResult("g", (VariantRun("outer"),), (), "0.10.2", "m.py:3", budget))
        {'outer': {'launches': 1}}
    """
    where = f"{varied.where}: budget"
    names = [ran.name for ran in varied.variants]
    return {
        name: _limits(limits, f"{where}.{name}")
        for name, limits in _table(varied.budget if varied.budget is not None else {}, where).items()
        if _known(name, names, "variant", where)
    }


def _limits(limits: object, where: str) -> dict[str, float]:
    table = _table(limits, where)
    return {
        count: amount(most, count, f"{where}.{count}")
        for count, most in table.items()
        if _known(count, COUNTS, "count", where)
    }


def _table(value: object, where: str) -> Mapping[str, object]:
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise ConfigError(f"must be a table, not {value!r}", where=where, hint='budget={"outer": {"launches": 1}}')


def _known(name: str, names: Sequence[str], what: str, where: str) -> bool:
    if name in names:
        return True
    near = closest(name, names)
    hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(names)}"
    raise ConfigError(f"there is no {what} `{name}`", where=where, hint=hint)


def over_limits(limits: Limits, variants: Sequence[Variant], ran: Sequence[VariantRun]) -> Iterator[str]:
    """The counts that exceed their limits.

    Args:
        limits: by variant and count.
        variants: their counts.
        ran: the same variants, with their executables.

    Returns:
        one line for each count over its limit; a count that XLA does not report is over too, since its limit has no
        effect.

    Example:
        >>> list(over_limits({"outer": {"fusions": 1}}, [Variant("outer", fusions=3)], [VariantRun("outer")]))
        ['outer: 3 fusions, at most 1 allowed']
    """
    for variant, each in zip(variants, ran, strict=True):
        for count, most in () if variant.problem else limits.get(variant.name, {}).items():
            found = getattr(variant, count)
            if found is None:
                yield f"{variant.name}: {count} is limited and not known"
            elif found > most:
                what = f"{_format_amount(count, found)} {count}, at most {_format_amount(count, most)} allowed"
                yield f"{variant.name}: {what}{_launched(each) if count in _LAUNCHED else ''}"


_LAUNCHED = ("executables", "eager", "launches")


def _launched(ran: VariantRun) -> str:
    """The executables that a call launches: they show a function compiled in parts, or an eager operation."""
    names = [f"{each.name}{' (eager)' if each.eager else ''}" for each in ran.executables if each.launches]
    return f": {', '.join(names)}" if names else ""


def _format_amount(count: str, number: float) -> str:
    return format_bytes(number) if count == "bytes_accessed" else format_count(number)
