"""One line for a changed program: what kind of change, what matters about it, and how large it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from hlodiff.differ.classify import is_argument
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.executed_count import ZERO
from hlodiff.differ.grouping import weight_of
from hlodiff.differ.moves import relocations
from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.metadata import is_library, own_frame
from hlodiff.hlo.model import Module
from hlodiff.report.executed import PER_CALL, differs_from_text, executed_pair, format_executed
from hlodiff.report.grouping import REPLACED, edit_groups_of
from hlodiff.report.stories import buffer_stories, constant_stories, stories
from hlodiff.report.wording import format_bytes, format_memory_space, format_pair, many, place


def format_unrolled(diff: ModuleDiff) -> Iterator[str]:
    """One sentence where copies of a body came in the place of a loop, or of some of its turns, or the reverse.

    Args:
        diff: of two programs.

    Returns:
        at most one sentence without markup; none of compiled programs, where XLA splits and merges copies.
    """
    if diff.old.stage != "stablehlo":
        return
    loops = {edit.kind for edit in diff.edits if any(s and s.opcode == "while" for s in (edit.old, edit.new))}
    if not loops:
        return
    sentences = [*_sentence(diff.old, diff.new, "became"), *_sentence(diff.new, diff.old, "was"), *_partly(diff)]
    yield from sentences[:1]


def _sentence(looped: Module, unrolled: Module, verb: str) -> Iterator[str]:
    from hlodiff.differ.unrolling import unrolling
    from hlodiff.report.program_analysis import place_of

    found = unrolling(looped, unrolled)
    if found is not None:
        here = "" if found.copies.where == found.loop else f" ({place_of(found.copies.where)})"
        yield f"the loop of {place_of(found.loop)} {verb} {found.copies.copies:,} copies of its body{here}"


def _partly(diff: ModuleDiff) -> Iterator[str]:
    from hlodiff.differ.unrolling import partial_unrolling
    from hlodiff.report.program_analysis import place_of

    found = partial_unrolling(diff.old, diff.new)
    if found is not None:
        turns = format_pair(f"{found.turns[0]:,}", f"{found.turns[1]:,}")
        old, new = found.copies
        words = f"holds {new} copies of its body" if new > 1 else f"no longer holds {old} copies of its body"
        yield (
            f"the loop of {place_of(found.loop)} {words} and turns less often ({turns})"
            if new > 1
            else (f"the loop of {place_of(found.loop)} {words} and turns more often ({turns})")
        )


def main_place(diff: ModuleDiff, packages: Sequence[str] = ()) -> str:
    """The line of the user's own code that most of the edits come from that matter most; "" where none is known.

    Example:
        >>> main_place(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ''
    """
    counts: dict[tuple[bool, int], Counter[str]] = {}
    for edit in diff.reported:
        frame = own_frame(edit.source)
        if edit.cause is None and frame is not None:
            arranged = set(edit.fields) <= _ARRANGED and edit.kind == "changed"
            rank = is_library(frame.file), 2 if arranged else weight_of(edit)
            counts.setdefault(rank, Counter())[place(edit.source, packages=packages)] += edit.count
    return counts[min(counts)].most_common(1)[0][0] if counts else ""


_ARRANGED = frozenset(["memory_space", "layout", "backend_config", "operands", "fusion_kind"])
_PLACE = re.compile(r"\.py:\d+")
Metrics = Mapping[str, tuple[float, float]]
SAME = "the same program"
"""The whole headline of a program without edits, where its schedule and tuning are the same too."""

_MOST_SENTENCES = 3
_COUNTED = (
    ("copies", "copy", "copies", "copy_bytes"),
    ("host_transfers", "host transfer", "", ""),
    ("host_callbacks", "host callback", "", ""),
)


def headline(
    program: ProgramComparison, stablehlo: ProgramComparison | None = None, packages: Sequence[str] = ()
) -> str:
    """Kind and size of a change, the few facts that a reviewer must not miss, and the line that it comes from.

    Args:
        program: one with status "changed".
        stablehlo: the other stage of a compiled program, where it is known: its edits say which line was written.
        packages: libraries whose own line is named, see `shown_place`.

    Returns:
        one line without markup.

    Example:
        >>> headline(ProgramComparison("f", "cpu", "compiled", "identical"))
        'the same program'
    """
    diff = program.diff
    if diff is None or diff.identical:
        return SAME + _other_channels(diff)
    counts = [f"{count:,} {kind}" for kind, count in diff.summary.items() if count]
    # Each computation as often as it is called, as edits are counted.
    total = int(diff.metrics.get("instructions", (0, 0))[0]) or max(diff.old.instruction_count(), 1)
    size = f"{', '.join(counts)} of {many(total, 'instruction')}"
    sentences = list(_sentences(program, diff, packages))[:_MOST_SENTENCES]
    written = stablehlo.diff if stablehlo is not None and program.stage == "compiled" else None
    if written is not None and not written.identical:
        constants = () if any(constant_stories(diff)) else constant_stories(written)
        sentences += [f"see StableHLO: {words}" for words in (*constants, *format_unrolled(written))]
    if not any(_PLACE.search(words) for words in sentences):
        where = main_place(written, packages) if written is not None and not written.identical else ""
        where = where or main_place(diff, packages)
        size += f", {where}" if where else ""
    return f"{', '.join(program.classes)}: {'; '.join([*sentences, size])}{_other_channels(diff)}"


def stories_of(program: ProgramComparison) -> Iterator[str]:
    """What happened to a changed program, most important first, without what numbers and lists of changes say.

    Example:
        >>> list(stories_of(ProgramComparison("f", "cpu", "compiled", "identical")))
        []
    """
    diff = program.diff
    if diff is None:
        return
    metrics = program.metrics()
    yield from format_unrolled(diff)
    yield from stories(diff)
    yield from buffer_stories(diff, metrics)
    yield from _moves(diff)
    yield from _constraints(diff, metrics)
    yield from _element_types(diff)


def _sentences(program: ProgramComparison, diff: ModuleDiff, packages: Sequence[str]) -> Iterator[str]:
    """What matters, most important first."""
    metrics = program.metrics()
    yield from format_unrolled(diff)
    yield from stories(diff, packages)
    yield from _moves(diff)
    yield from _constraints(diff, metrics)
    yield from _collectives(program)
    yield from _replaced(diff, packages)
    yield from _element_types(diff)
    yield from _memories(diff)
    for name, one, several, size in _COUNTED:
        yield from _of_one_call(program, name, one, several, size)
    old, new = metrics.get("loops", (0, 0))
    if old != new:
        yield _more_or_less(old, new, "loop")


def _replaced(diff: ModuleDiff, packages: Sequence[str]) -> Iterator[str]:
    """Subgraphs that others came in the place of, largest first: what they were, what they are, and the line."""
    edits = [edit for edit in diff.reported if edit.is_replaced]
    groups = edit_groups_of(edits, diff.old.stage, packages=packages) if edits else ()
    for group in [group for group in groups if group.kind == REPLACED][:1]:
        yield f"{group.kind} {group.what} ({group.where})" if group.where else f"{group.kind} {group.what}"


def _moves(diff: ModuleDiff) -> Iterator[str]:
    """What runs elsewhere now, then which arguments and values went to the host's memory or came from there."""
    runs: dict[tuple[str, str], int] = {}
    for edit in diff.reported:
        for change in edit.changes:
            if change.field == "compute_type":
                pair = (change.old or "device", change.new or "device")
                runs[pair] = runs.get(pair, 0) + edit.count
    for one in relocations(diff) if not runs else ():
        runs[one.old, one.new] = runs.get((one.old, one.new), 0) + one.count
    for (old, new), count in runs.items():
        yield f"{many(count, 'operation')} now {'runs' if count == 1 else 'run'} on the {new} instead of the {old}"
    if not runs:
        yield from _host_calls(diff)
    yield from _memories(diff, with_host=True)


def _memories(diff: ModuleDiff, with_host: bool = False) -> Iterator[str]:
    """Which arguments and values are in another memory: the host's, or those of the device."""
    found: dict[tuple[str, str, str], int] = {}
    for edit in diff.reported:
        for change in edit.changes:
            if (
                change.field == "memory_space"
                and any("host" in space for space in (change.old, change.new)) == with_host
            ):
                what = "argument" if is_argument(edit, diff) else "value"
                count = edit.count
                if placed := _results_in_host(edit, diff) if with_host else 0:
                    what, count = "result", placed
                key = (what, format_memory_space(change.old), format_memory_space(change.new))
                found[key] = found.get(key, 0) + count
    for (what, old, new), count in sorted(found.items(), key=lambda item: (item[0][0], -item[1])):
        yield f"{many(count, what)} now in {new} instead of {old}"


def _results_in_host(edit: Edit, diff: ModuleDiff) -> int:
    """By how many of the program's results more or fewer are in the host's memory, where an edit is about these."""
    sides = ((edit.old, diff.old), (edit.new, diff.new))
    if not all(site and (site.computation, site.instruction) == _result(module) for site, module in sides):
        return 0
    counts = [len(_HOST_SPACES.findall(site.text)) for site, _ in sides if site]
    return abs(counts[1] - counts[0])


def _result(module: Module) -> tuple[int, int]:
    return module.entry, module.entry_computation.root


_HOST_SPACES = re.compile(r"pinned_host|S\(5\)")


def _host_calls(diff: ModuleDiff) -> Iterator[str]:
    """Added and removed host calls, where the differ could not follow what they called."""
    counts = {"added": 0, "removed": 0}
    for edit in diff.reported:
        site = edit.new or edit.old
        if site and edit.kind in counts and '"HostExecute"' in site.text:
            counts[edit.kind] += edit.count
    moved = counts["removed"] - counts["added"]
    if moved:
        way = "from the host to the device" if moved > 0 else "from the device to the host"
        yield f"{many(abs(moved), 'computation')} moved {way}"


def _constraints(diff: ModuleDiff, metrics: Metrics) -> Iterator[str]:
    """Constraints of the text; where loops were added or removed, a count of the text says nothing of a run."""
    loops = metrics.get("loops", (0, 0))
    for name, words in (("sdy.sharding_constraint", "sharding constraint"), ("sdy.reshard", "reshard")):
        old, new = diff.op_counts.get(name, (0, 0))
        if old != new and (loops[0] == loops[1] or not old or not new):
            yield _more_or_less(old, new, words)


def _collectives(program: ProgramComparison) -> Iterator[str]:
    """Added and removed collectives, with their bytes: these are what a one-word change of a sharding costs."""
    for name in program.executed():
        family = name.removeprefix("collectives.")
        if family != name:
            yield from _of_one_call(program, name, family, "", f"collective_bytes.{family}")


def _of_one_call(program: ProgramComparison, metric: str, one: str, several: str, size: str) -> Iterator[str]:
    """A count of what one call does: `2 all-reduces more (4 -> 6)`; one that is not known is compared with none."""
    old, new = executed_pair(program, metric)
    if old.is_same(new):
        return
    executed = f",{PER_CALL}" if differs_from_text(program, metric) else ""
    if old.exact is not None and new.exact is not None:
        carried = [each.exact or 0 for each in executed_pair(program, size)] if size else [0, 0]
        words = _more_or_less(old.exact, new.exact, one, several, (carried[0], carried[1]))
        yield words.removesuffix(")") + f"{executed})" if words.endswith(")") else words
    elif new == ZERO or old == ZERO:
        known = format_executed(old if new == ZERO else new)
        yield f"{several or one + 's'} {'gone' if new == ZERO else 'added'} ({known})"
    else:
        yield f"{several or one + 's'} {format_pair(format_executed(old), format_executed(new))}"


def _element_types(diff: ModuleDiff) -> Iterator[str]:
    named = bool(diff.arguments.retyped)
    # What only hands a value on is no value of its own; a fusion is one where nothing in it changed its type.
    carriers = CARRIERS - {"constant"}
    values = _retyped(diff, named, carriers) or _retyped(diff, named, carriers - {"fusion"})
    for (old, new), count in sorted(values.items(), key=lambda item: -item[1])[:2]:
        yield f"{many(count, 'value')} now {new} instead of {old}"


def _retyped(diff: ModuleDiff, named: bool, left_out: Container[str]) -> Counter[tuple[str, str]]:
    """How many values have another type; arguments only where nothing else names them."""
    counts: Counter[tuple[str, str]] = Counter()
    for edit in diff.reported:
        site = edit.new or edit.old
        argument = is_argument(edit, diff)
        if (argument and named) or (not argument and site is not None and site.opcode in left_out):
            continue
        for change in edit.changes:
            if change.field == "element_type" and _is_rounding(change.old, change.new):
                counts[change.old, change.new] += edit.count
    return counts


_NUMBERS = re.compile(r"(bf|f|c|s|u|i|ui)\d+\w*")


def _is_rounding(old: str, new: str) -> bool:
    """Whether both types are of one kind of numbers; a mask or an index in the place of a number is another value."""
    kinds = [match[1] if (match := _NUMBERS.fullmatch(word)) else None for word in (old, new)]
    return None not in kinds and len({"f" if kind == "bf" else kind for kind in kinds}) == 1


def _more_or_less(old: float, new: float, one: str, several: str = "", size: tuple[float, float] = (0, 0)) -> str:
    """`2 all-gathers more (now 4, 52.0 KiB)`; what is new or gone altogether is called so."""
    count = many(int(abs(new - old)), one, several)
    carried = f" ({format_bytes(size[1] or size[0])})" if any(size) and not (old and new) else ""
    if not old:
        return f"{count} added{carried}"
    if not new:
        return f"{count} gone{carried}"
    return f"{count} {'more' if new > old else 'fewer'} ({format_pair(f'{old:,.0f}', f'{new:,.0f}')})"


def _other_channels(diff: ModuleDiff | None) -> str:
    if diff is None:
        return ""
    channels: list[tuple[str, tuple[Edit, ...]]] = [("schedule", diff.schedule), ("tuning", diff.tuning)]
    parts = [f"{name} differs in {many(sum(e.count for e in edits), 'place')}" for name, edits in channels if edits]
    return f" ({', '.join(parts)})" if parts else ""
