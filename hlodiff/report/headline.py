"""One line for a changed program, and one for all programs of a report.

The first is the kind of change, its most important facts and its size, the other one how many changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hlodiff.differ.classify import MEANINGS, OTHER_RESULTS
from hlodiff.differ.comparison import ProgramComparison, Status
from hlodiff.differ.grouping import weight_of
from hlodiff.differ.metrics import ZERO
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.metadata import is_library, own_frame
from hlodiff.hlo.model import PROGRAM_NAMES
from hlodiff.policy.findings import SCENARIO_RULES, of_policy
from hlodiff.report.grouping import REPLACED, edit_groups_of
from hlodiff.report.numbers import PER_CALL, differs_from_text, executed_pair, format_executed, format_executed_pair
from hlodiff.report.report import Report, State, outcomes
from hlodiff.report.sentences import (
    ProgramSentences,
    constant_sentences,
    format_unrolled,
    more_or_less,
    other_memories,
    program_sentences,
)
from hlodiff.report.wording import format_next, format_pair, format_targets, many, place

if TYPE_CHECKING:
    from hlodiff.report.function_view import ProgramView
    from hlodiff.report.view import ReportView
    from hlodiff.tracing.compare import TraceComparison


def main_place(diff: ModuleDiff, packages: Sequence[str] = ()) -> str:
    """The line of the user's code behind most of the heaviest edits; "" if unknown.

    Example:
        >>> from hlodiff.hlo.model import Module
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
SAME = "the same program"
"""The whole headline of a program without edits, also in schedule and tuning."""

_MOST_SENTENCES = 3
_COUNTED = (
    ("copies", "copy", "copies", "copy_bytes"),
    ("host_transfers", "host transfer", "", ""),
    ("host_callbacks", "host callback", "", ""),
)


def headline(
    program: ProgramComparison,
    stablehlo: ProgramComparison | None = None,
    packages: Sequence[str] = (),
    known: ProgramSentences | None = None,
) -> str:
    """Kind and size of a change, the few facts that a reviewer must not miss, and its line.

    Args:
        program: a program with status "changed".
        stablehlo: StableHLO of a compiled program, if known; its edits give the edited line.
        packages: libraries whose own line is shown, see `shown_place`.
        known: result of `program_sentences` for it, if already computed.

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
    # Each computation once per call, as edits are counted.
    total = int(diff.metrics.get("instructions", (0, 0))[0]) or max(diff.old.instruction_count(), 1)
    size = f"{', '.join(counts)} of {many(total, 'instruction')}"
    known = known or program_sentences(program, packages)
    sentences = list(_sentences(program, diff, packages, known))[:_MOST_SENTENCES]
    written = stablehlo.diff if stablehlo is not None and program.stage == "compiled" else None
    if written is not None and not written.identical:
        constants = () if any(constant_sentences(diff)) else constant_sentences(written)
        sentences += [f"see StableHLO: {words}" for words in (*constants, *format_unrolled(written))]
    if not any(_PLACE.search(words) for words in sentences):
        where = main_place(written, packages) if written is not None and not written.identical else ""
        where = where or main_place(diff, packages)
        size += f", {where}" if where else ""
    return f"{', '.join(program.classes)}: {'; '.join([*sentences, size])}{_other_channels(diff)}"


def _sentences(
    program: ProgramComparison, diff: ModuleDiff, packages: Sequence[str], known: ProgramSentences
) -> Iterator[str]:
    """Sentences on the change, most important first."""
    metrics = program.metrics()
    yield from (*known.unrolled, *known.happened, *known.moved, *known.constraints)
    for name in program.executed():  # with their bytes: the cost of a one-word change of a sharding
        family = name.removeprefix("collectives.")
        if family != name:
            yield from _of_one_call(program, name, family, "", f"collective_bytes.{family}")
    edits = [edit for edit in diff.reported if edit.is_replaced]
    groups = edit_groups_of(edits, diff.old.stage, packages=packages) if edits else ()
    for group in [group for group in groups if group.kind == REPLACED][:1]:  # the largest
        yield f"{group.kind} {group.what} ({group.where})" if group.where else f"{group.kind} {group.what}"
    yield from known.types
    yield from other_memories(diff)
    for name, one, several, size in _COUNTED:
        yield from _of_one_call(program, name, one, several, size)
    old, new = metrics.get("loops", (0, 0))
    if old != new:
        yield more_or_less(old, new, "loop")


def _of_one_call(program: ProgramComparison, metric: str, one: str, several: str, size: str) -> Iterator[str]:
    """The change of an executed count: `2 all-reduces more (4 -> 6)`; an inexact count is only compared with 0."""
    old, new = executed_pair(program, metric)
    if old.is_same(new):
        return
    executed = f",{PER_CALL}" if differs_from_text(program, metric) else ""
    if old.exact is not None and new.exact is not None:
        carried = [each.exact or 0 for each in executed_pair(program, size)] if size else [0, 0]
        words = more_or_less(old.exact, new.exact, one, several, (carried[0], carried[1]))
        yield words.removesuffix(")") + f"{executed})" if words.endswith(")") else words
    elif new == ZERO or old == ZERO:
        known = format_executed(old if new == ZERO else new)
        yield f"{several or one + 's'} {'gone' if new == ZERO else 'added'} ({known})"
    else:
        yield f"{several or one + 's'} {format_pair(*format_executed_pair(old, new))}"


def _other_channels(diff: ModuleDiff | None) -> str:
    if diff is None:
        return ""
    channels: list[tuple[str, tuple[Edit, ...]]] = [("schedule", diff.schedule), ("tuning", diff.tuning)]
    parts = [f"{name} differs in {many(sum(e.count for e in edits), 'place')}" for name, edits in channels if edits]
    return f" ({', '.join(parts)})" if parts else ""


# --- The last line of every report: `3 changed, 1 new, 2 not checked, 44 unchanged`, and the next command.

_WORDS = {"identical": "unchanged", "not_checked": "not checked", "over_budget": "over budget"}
_OF_CHECK = {"added": "new", "removed": "orphaned"}


def format_totals(report: Report | ReportView) -> str:
    """The totals and the next command.

    Example:
        >>> format_totals(Report("diff", "a", "b", ()))
        'nothing to compare'
    """
    counts = report.totals()
    scenarios = scenario_totals(report.scenario_states(), report.command) if report.scenarios else ""
    if not counts["programs"]:
        words = scenarios or "nothing to compare"
    else:
        differing = ("changed", "added", "removed")
        parts = [f"{counts[key]:,} {format_status(key, report.command)}" for key in differing if counts[key]]
        if counts["passing"]:
            passing = "all" if counts["passing"] == counts["changed"] > 1 else f"{counts['passing']:,}"
            verb = "passes" if counts["passing"] == 1 else "pass"
            parts[0] += f" ({f'{passing} {verb}' if counts['changed'] > 1 else verb})"
        parts += [f"{counts['over_budget']:,} over budget"] if counts["over_budget"] else []
        parts += [f"{counts['broken']:,} could not be judged"] if counts["broken"] else []
        unchecked = counts["not_checked"] - counts["broken"]
        parts += [f"{unchecked:,} not checked"] if unchecked else []
        if counts["identical"] or not parts:
            names = _unchanged(report, counts["identical"]) if parts else ()
            parts.append(f"unchanged: {', '.join(names)}" if names else f"{counts['identical']:,} unchanged")
        words = ", ".join(parts) + (f"; {scenarios}" if scenarios else "")
    further = [finding for finding in report.further_findings() if finding.severity != "info"]
    rules = Counter(f.rule for f in further if f.rule not in SCENARIO_RULES and not of_policy(f))
    words += "".join(f", {many(count, f'{rule} finding')}" for rule, count in sorted(rules.items()))
    warned = sum(of_policy(finding) and finding.severity == "warning" for finding in further)
    words += f", {many(warned, 'warning')}" if warned else ""
    return f"{words}; {format_next(report.next)}" if report.next else words


_MOST_UNCHANGED = 3


def _unchanged(report: Report | ReportView, count: int) -> tuple[str, ...]:
    """The functions that changed on no target, if they are few and all that is unchanged; else ()."""
    by_name: dict[str, list[Status]] = {}
    for (name, _), status in outcomes(report.programs).items():
        by_name.setdefault(name, []).append(status)
    same = {name: len(found) for name, found in by_name.items() if set(found) == {"identical"}}
    return tuple(same) if len(same) <= _MOST_UNCHANGED and sum(same.values()) == count else ()


def format_changed(programs: Iterable[ProgramComparison | ProgramView]) -> list[str]:
    """Where a function changed: ` on cpu (1a2b3c4d)`, and the targets where the compiled program is the same.

    Example:
        >>> stages = (("stablehlo", "changed"), ("compiled", "identical"))
        >>> format_changed(ProgramComparison("f", "cpu", stage, status) for stage, status in stages)
        ['changed in StableHLO only, on cpu']
    """
    programs = tuple(programs)
    same = {one.target for one in programs if (one.stage, one.status) == ("compiled", "identical")}
    found: dict[str, dict[str, None]] = {}
    for one in programs:
        if one.status == "changed":
            words = "changed in StableHLO only," if one.target in same else "changed"
            found.setdefault(words, {})[f"{one.target or ''}{f' ({one.id})' if one.id else ''}"] = None
    parts = [(words, format_targets(tuple(found[words]))) for words in sorted(found, key=len)]
    return [f"{words}{on}" if on else words.rstrip(",") for words, on in parts]


def format_meanings(programs: Iterable[ProgramView]) -> str:
    """What the classes of changed programs mean, most severe first; "" if nothing changed.

    Args:
        programs: all of a report, both stages of each.

    Example:
        >>> from hlodiff.report.function_view import ProgramView
        >>> format_meanings([ProgramView("f", "cpu", "compiled", "changed", "interface, numerics")])
        'interface: arguments or results; numerics: constants, types, precision'
    """
    return "; ".join(f"{name}: {words}" for name, words in class_meanings(programs).items())


def class_meanings(programs: Iterable[ProgramView]) -> dict[str, str]:
    """The classes of changed programs, most severe first, with what each means.

    Args:
        programs: all of a report, both stages of each.

    Example:
        >>> class_meanings([])
        {}
    """
    programs = tuple(programs)
    same = {(one.name, one.target) for one in programs if (one.stage, one.status) == ("compiled", "identical")}
    changed = [one for one in programs if one.status == "changed"]
    found = {word for program in changed for word in program.word.split(", ")}
    meanings: dict[str, str] = {name: words for name, words in MEANINGS.items() if name in found}
    if "structure" in meanings and any((one.name, one.target) not in same for one in changed):
        meanings["structure"] += f", {OTHER_RESULTS}"
    return meanings


def format_status(status: str, command: str) -> str:
    """What became of a program or scenario, in the words of "check" or "diff"; the same in every form.

    Example:
        >>> format_status("added", "check"), format_status("not_checked", "diff")
        ('new', 'not checked')
    """
    return _OF_CHECK[status] if command == "check" and status in _OF_CHECK else _WORDS.get(status, status)


def format_checked(report: Report) -> str:
    """How many programs were compared; a program is a function, case and target, in both stages.

    Example:
        >>> format_checked(Report("check", "a", "b", ()))
        '0 programs'
    """
    compared = looked_at(report)
    words = many(len(outcomes(compared)), "program")
    scenarios = checked_scenarios(report.scenarios)
    if not compared:
        return scenarios or words
    # Files of a diff belong to no function.
    functions = dict.fromkeys(program.name.partition("/")[0] for program in compared if program.target)
    on = list(dict.fromkeys(program.target for program in compared if program.target))
    parts = [words, f"{many(len(functions), 'function')} on {', '.join(on)}" if functions else ""]
    words = f"{': '.join(filter(None, parts))}, {_format_stages(compared)}"
    return f"{words}; {scenarios}" if scenarios else words


def looked_at(report: Report) -> list[ProgramComparison]:
    """Programs that were captured or read: not those whose function is no longer registered.

    Example:
        >>> looked_at(Report("check", "a", "b", (ProgramComparison("f", "cpu", "compiled", "removed"),)))
        []
    """
    skipped = ("not_checked", "removed") if report.command == "check" else ("not_checked",)
    return [program for program in report.programs if program.status not in skipped]


def _format_stages(compared: Sequence[ProgramComparison]) -> str:
    """`StableHLO and compiled HLO of each`, or of how many."""
    every = {(program.name, program.target) for program in compared}
    counts = {
        word: len({(p.name, p.target) for p in compared if p.stage == stage}) for stage, word in PROGRAM_NAMES.items()
    }
    if all(count in (0, len(every)) for count in counts.values()):
        return f"{' and '.join(word for word, count in counts.items() if count)} of each"
    return " and ".join(f"{word} of {count:,}" for word, count in counts.items())


# --- Scenarios. Problems with one are findings, see `policy.scenarios`.

_SCENARIO_ORDER: tuple[State, ...] = ("changed", "added", "removed", "not_checked", "over_budget", "identical")


def scenario_totals(states: Sequence[State], command: str) -> str:
    """How many scenarios changed; "" if there are none.

    Example:
        >>> scenario_totals(["changed", "identical"], "check")
        'scenarios: 1 changed, 1 unchanged'
    """
    words = {state: format_status(state, command) for state in _SCENARIO_ORDER}
    words["not_checked"] = f"could not be {'judged' if command == 'check' else 'compared'}"
    counts = Counter(states)
    text = ", ".join(f"{counts[state]:,} {words[state]}" for state in _SCENARIO_ORDER if counts[state])
    return f"scenarios: {text}" if text else ""


def checked_scenarios(scenarios: Sequence[TraceComparison]) -> str:
    """How many scenarios were run; "" for none.

    Example:
        >>> checked_scenarios([])
        ''
    """
    ran = sum(one.new is not None for one in scenarios)
    return f"{many(ran, 'scenario')} on cpu" if ran else ""
