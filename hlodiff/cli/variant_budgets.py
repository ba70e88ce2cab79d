"""What variants of a computation may have at most: `@hlodiff.variants(budget={"outer": {"launches": 1}})`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hlodiff.capture.varied import Ran, Varied
from hlodiff.config import closest
from hlodiff.config_policy import amount
from hlodiff.errors import ConfigError
from hlodiff.report.numbers import bytes_in_words, count_in_words
from hlodiff.report.variants import COUNTS, Variant

Limits = Mapping[str, Mapping[str, float]]


def variant_limits(varied: Varied) -> Limits:
    """The budget of a computation, checked.

    Args:
        varied: with the budget as it was written.

    Returns:
        limits by variant and count.

    Raises:
        ConfigError: it names a variant or a count that does not exist, or a limit is no number.

    Example:
        >>> variant_limits(Varied("g", (Ran("outer"),), (), "0.10.2", "m.py:3", {"outer": {"launches": 1}}))
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


def over_limits(limits: Limits, variants: Sequence[Variant], ran: Sequence[Ran]) -> Iterator[str]:
    """What is over its limit.

    Args:
        limits: by variant and count.
        variants: what was counted.
        ran: the same variants, with their executables.

    Returns:
        one line for each count that is over; a count that XLA does not tell is over too: its limit guards nothing.

    Example:
        >>> list(over_limits({"outer": {"fusions": 1}}, [Variant("outer", fusions=3)], [Ran("outer")]))
        ['outer: 3 fusions, at most 1 allowed']
    """
    for variant, each in zip(variants, ran, strict=True):
        for count, most in () if variant.problem else limits.get(variant.name, {}).items():
            found = getattr(variant, count)
            if found is None:
                yield f"{variant.name}: XLA does not tell {count}, which is limited"
            elif found > most:
                what = f"{_words(count, found)} {count}, at most {_words(count, most)} allowed"
                yield f"{variant.name}: {what}{_launched(each) if count in _LAUNCHED else ''}"


_LAUNCHED = ("executables", "eager", "launches")


def _launched(ran: Ran) -> str:
    """Which executables a call runs: a jitted function that became several, or an operation that stands outside."""
    names = [f"{each.name}{' (eager)' if each.eager else ''}" for each in ran.executables if each.launches]
    return f": {', '.join(names)}" if names else ""


def _words(count: str, number: float) -> str:
    return bytes_in_words(number) if count == "bytes_accessed" else count_in_words(number)
