"""One line for a changed program: what kind of change, what matters about it, and how large it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlodiff.diff.classes import is_argument
from hlodiff.diff.compared import Compared
from hlodiff.diff.displaced import displaced
from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.report.numbers import bytes_in_words, many
from hlodiff.report.places import place_in_words
from hlodiff.report.unrolled import unrolled_in_words

Metrics = Mapping[str, tuple[float, float]]
SAME = "the same program"
"""The whole headline of a program without edits, where its schedule and tuning are the same too."""

_MOST_SENTENCES = 3
_COUNTED = (
    ("copies", "copy", "copies", "copy_bytes"),
    ("host_transfers", "host transfer", "", ""),
    ("host_callbacks", "host callback", "", ""),
    ("loops", "loop", "", ""),
)


def headline(program: Compared) -> str:
    """Kind and size of a change, and the few facts that a reviewer must not miss.

    Args:
        program: one with status "changed".

    Returns:
        one line without markup.

    Example:
        >>> headline(Compared("f", "cpu", "compiled", "identical"))
        'the same program'
    """
    diff = program.diff
    if diff is None or diff.identical:
        return SAME + _other_channels(diff)
    counts = [f"{count:,} {kind}" for kind, count in diff.summary.items() if count]
    size = f"{', '.join(counts)} of {many(max(diff.old.instruction_count(), 1), 'instruction')}"
    said = list(_sentences(diff, program.metrics()))[:_MOST_SENTENCES]
    return f"{', '.join(program.classes)}: {'; '.join([*said, size])}{_other_channels(diff)}"


def _sentences(diff: ModuleDiff, metrics: Metrics) -> Iterator[str]:
    """What matters, most important first."""
    yield from _donations(diff)
    yield from _moves(diff)
    yield from _constraints(diff)
    yield from _collectives(metrics)
    yield from _element_types(diff)
    yield from unrolled_in_words(diff, metrics.get("loops", (0, 0)))
    for name, one, several, size in _COUNTED:
        old, new = metrics.get(name, (0, 0))
        if old != new:
            yield _more_or_less(old, new, one, several, metrics.get(size, (0, 0)))


def _donations(diff: ModuleDiff) -> Iterator[str]:
    changes = [(change.old, change.new, edit.count) for edit in diff.edits for change in edit.changes[:1]
               if change.field == "alias"]  # fmt: skip
    lost = sum(count for _, new, count in changes if new in NOT_DONATED)
    won = sum(count for old, _, count in changes if old in NOT_DONATED)
    for count, word in ((lost, "no longer donated"), (won, "donated now")):
        if count:
            yield f"{many(count, 'argument')} {'is' if count == 1 else 'are'} {word}"


NOT_DONATED = ("none", "not donated")


def _moves(diff: ModuleDiff) -> Iterator[str]:
    """What runs elsewhere now, then which arguments and values lie elsewhere."""
    runs: dict[tuple[str, str], int] = {}
    lies: dict[tuple[str, str, str], int] = {}
    for edit in diff.edits:
        for change in edit.changes:
            if change.field == "compute_type":
                pair = (change.old or "device", change.new or "device")
                runs[pair] = runs.get(pair, 0) + edit.count
            elif change.field == "memory_space":
                what = "argument" if is_argument(edit, diff) else "value"
                key = (what, place_in_words(change.old), place_in_words(change.new))
                lies[key] = lies.get(key, 0) + edit.count
    for one in displaced(diff) if not runs else ():
        runs[one.old, one.new] = runs.get((one.old, one.new), 0) + one.count
    for (old, new), count in runs.items():
        yield f"{many(count, 'operation')} now {'runs' if count == 1 else 'run'} on the {new} instead of the {old}"
    if not runs:
        yield from _host_calls(diff)
    for (what, old, new), count in sorted(lies.items(), key=lambda item: (item[0][0], -item[1])):
        yield f"{many(count, what)} now in {new} instead of {old}"


def _host_calls(diff: ModuleDiff) -> Iterator[str]:
    """Calls of the host that came or went, where the differ could not follow what they called."""
    counts = {"added": 0, "removed": 0}
    for edit in diff.edits:
        site = edit.new or edit.old
        if site and edit.kind in counts and '"HostExecute"' in site.text:
            counts[edit.kind] += edit.count
    moved = counts["removed"] - counts["added"]
    if moved:
        way = "from the host to the device" if moved > 0 else "from the device to the host"
        yield f"{many(abs(moved), 'computation')} moved {way}"


def _constraints(diff: ModuleDiff) -> Iterator[str]:
    for name, words in (("sdy.sharding_constraint", "sharding constraint"), ("sdy.reshard", "reshard")):
        old, new = diff.op_counts.get(name, (0, 0))
        if old != new:
            yield _more_or_less(old, new, words)


def _collectives(metrics: Metrics) -> Iterator[str]:
    """Collectives that came or went, with what they carry: these are what a one-word change of a sharding costs."""
    for name, (old, new) in metrics.items():
        family = name.removeprefix("collectives.")
        if family != name and old != new:
            yield _more_or_less(old, new, family, size=metrics.get(f"collective_bytes.{family}", (0, 0)))


def _element_types(diff: ModuleDiff) -> Iterator[str]:
    counts: dict[tuple[str, str], int] = {}
    for edit in diff.edits:
        for change in edit.changes:
            if change.field == "element_type" and _is_short(change.old, change.new):
                counts[change.old, change.new] = counts.get((change.old, change.new), 0) + edit.count
    for (old, new), count in sorted(counts.items(), key=lambda item: -item[1])[:2]:
        yield f"{many(count, 'value')} now {new} instead of {old}"


def _is_short(*types: str) -> bool:
    """Whether types are those of arrays: the types of a tuple are its elements' and are told there."""
    return all(len(word) <= 12 and "," not in word for word in types)


def _more_or_less(old: float, new: float, one: str, several: str = "", size: tuple[float, float] = (0, 0)) -> str:
    """`2 all-gathers more (now 4, 52.0 KiB)`; what is new or gone altogether is called so."""
    count = many(int(abs(new - old)), one, several)
    carried = f" ({bytes_in_words(size[1] or size[0])})" if any(size) and not (old and new) else ""
    if not old:
        return f"{count} added{carried}"
    if not new:
        return f"{count} gone{carried}"
    return f"{count} {'more' if new > old else 'fewer'} ({old:,.0f} -> {new:,.0f})"


def _other_channels(diff: ModuleDiff | None) -> str:
    if diff is None:
        return ""
    channels: list[tuple[str, tuple[Edit, ...]]] = [("schedule", diff.schedule), ("tuning", diff.tuning)]
    parts = [f"{name} differs in {many(sum(e.count for e in edits), 'place')}" for name, edits in channels if edits]
    return f" ({', '.join(parts)})" if parts else ""
