"""What a reviewer reads first about each changed function: the verdict, its numbers, the line and its effect.

Computed once for all output formats: the order (causes before consequences, worst first), which results are equal on
several targets and reported once, and how many are listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hlodiff.differ.classify import CLASSES
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.loops import LOOPS, has_data_loop
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.collectives import FAMILIES
from hlodiff.report.edits import NAMED, format_beside, format_listed
from hlodiff.report.function_view import (
    ChangedLine,
    FunctionView,
    Number,
    NumberTotals,
    ProgramView,
    StageView,
    TargetVerdict,
    Verdict,
)
from hlodiff.report.grouping import EditGroup, Key, change_view, changed_fields, collective_of, importance
from hlodiff.report.headline import format_status
from hlodiff.report.joined_groups import with_both_halves, with_loop_moves, without_moves
from hlodiff.report.line_edits import DONATED, MOST_CHANGED_LINES, ChangedLines
from hlodiff.report.main_edit import main_edit, new_and_gone, written_name
from hlodiff.report.numbers import (
    EACH_TURN,
    MEMORY,
    by_how_much,
    change_size,
    entered_otherwise,
    executed_pair,
    format_number,
    key_numbers,
    memory_note,
    part_of,
    pass_lines,
    short_part,
)
from hlodiff.report.report import Report, format_settings
from hlodiff.report.sentences import (
    DONATED_NOW,
    NO_LONGER_DONATED,
    REORDERED,
    RESHARDED,
    compiler_sentences,
    constant_sentences,
    donation_sentences,
    interface_sentences,
    kinds_of_changed_arguments,
    reordered_write,
)
from hlodiff.report.shared_text import (
    MOST_BY_COMPILER,
    MOST_COMPILED,
    MOST_WRITTEN,
    ProgramText,
    ReportTexts,
    differs,
    format_marks,
    limits_of,
)
from hlodiff.report.verdict import (
    both_sides,
    decisive_numbers,
    format_short,
    has_unknown,
    is_unknown_work,
    judged,
    metric_of,
    other_memory,
    other_work,
    verdict_of,
)
from hlodiff.report.whole_fusions import with_whole_cost
from hlodiff.report.whole_program import compared_with_all
from hlodiff.report.wording import (
    ARROW,
    Place,
    format_arrow,
    format_bytes,
    format_classes,
    format_place,
    format_targets,
    many,
)

WORST: tuple[Verdict, ...] = ("worse", "mixed", "better", "same")
"""The order in which verdicts are listed."""
_NOT_COMPILED = "no compiled program changed"  # the verdict on a function whose StableHLO alone changed
_ROUNDED = "floating-point results may differ"  # after the verdict on a function at the same cost
_RESHARDED_RESULTS = re.compile(rf"\bresults? (?:is|are) {RESHARDED}")
# Results are then renumbered, and so is the output that an argument is donated to.
_OTHER_RESULTS = re.compile(r"\d (?:results? instead of|new (?:argument|result)s?|(?:argument|result)s? gone)")
_RENUMBERED = re.compile(r" instead of output | are donated to other results")
_OF_SHARDING = re.compile(r"[\d,]+ (?:argument|result)s? of another shape on each device: [^;]*$")
_LONGEST_CAUSE = 80  # characters
_FEWEST_PATHS = 1
# No single line caused these: arguments, results and memory belong to the whole program.
_OF_WHOLE = re.compile(r"\d+ (?:new )?(?:arguments?|results?)\b|[\d,]+ operations? (?:added|gone)\b|temp ")


ChangedFunctions = tuple[tuple[ProgramView, ...], tuple[FunctionView, ...], tuple[ChangedLine, ...]]
"""Programs, changed functions and edited lines, see `changed_functions`."""


def changed_functions(texts: ReportTexts) -> ChangedFunctions:
    """Programs with their verdicts, changed functions worst first, and lines that changed several of them.

    What a view says of each program besides is added by `view_builder`: a text lists functions.

    Args:
        texts: result of `texts_of` for a report.

    Example:
        >>> from hlodiff.report.shared_text import texts_of
        >>> changed_functions(texts_of(Report("diff", "a", "b", ())))
        ((), (), ())
    """
    report = texts.report
    numbers: dict[str, list[int]] = {}
    for number, program in enumerate(report.programs):
        numbers.setdefault(program.name, []).append(number)
    by_name: dict[str, list[ProgramText]] = {}
    for text in texts.program_texts:
        by_name.setdefault(text.name, []).append(text)
    programs = tuple(_program_view(program, report.threshold) for program in report.programs)
    lines = ChangedLines(report)
    found = [
        _function_view(name, own, by_name.get(name, []), texts, programs, lines)
        for name, own in numbers.items()
        if any(differs(report.programs[number]) or programs[number].has_verdict for number in own)
    ]
    ranks = {view.name: _weight(view, (report.programs[n] for n in numbers[view.name])) for view, _ in found}
    views = sorted(
        (view for view, _ in found), key=lambda view: (WORST.index(view.verdict), [-n for n in ranks[view.name]])
    )
    # Edited lines that changed several functions, most functions first, without their changes.
    edited = [own for _, own in found]
    by_text = {line.edit: replace(line, changes=(), runs=0) for own in reversed(edited) for line in own}
    counts = Counter(text for own in edited for text in dict.fromkeys(line.edit for line in own))
    several = [by_text[text] for text, count in counts.most_common(MOST_CHANGED_LINES) if count > 1]
    return programs, tuple(views), tuple(several)


def _program_view(program: ProgramComparison, threshold: float) -> ProgramView:
    diff = program.diff if program.status == "changed" else None
    numbers = key_numbers(program) if program.status in ("changed", "added", "removed") else ()
    numbers = judged(program, numbers, threshold) if diff else numbers or other_memory(program, threshold)
    return ProgramView(
        name=program.name,
        target=program.target,
        stage=program.stage,
        status=program.status,
        word=", ".join(program.classes) if diff else "",
        edited=sum(diff.summary.values()) if diff else 0,
        numbers=numbers,
        reason=program.reason,
        advice=program.advice,
        broken=program.broken,
        recorded=program.recorded,
        id=program.id,
        verdict=verdict_of(
            numbers,
            reordered_write(diff) is not None or is_unknown_work(diff, numbers),
            other_work(program) if diff else (),
        ),
    )


def without_lines(function: FunctionView, shown: Iterable[ChangedLine]) -> FunctionView:
    """Drops the texts of edited lines that are shown above, and such lines if they have no changes.

    Args:
        function: a function of a view.
        shown: lines that are shown once for several functions.

    Example:
        >>> line = ChangedLine("net.py:4", "", "x", "y")
        >>> function = FunctionView("f", "same", "", stages=(StageView("stablehlo", (), "", (line,)),))
        >>> without_lines(function, [line]).stages
        ()
    """
    known = {line.edit for line in shown}

    def left(stage: StageView) -> StageView:
        lines = [
            line.without_text() if line.edit in known else line
            for line in stage.lines
            if line.changes or line.edit not in known
        ]
        return replace(stage, lines=tuple(lines))

    stages = tuple(left(stage) if stage.stage == "stablehlo" else stage for stage in function.stages)
    return replace(function, stages=tuple(one for one in stages if one.what or one.lines or one.left or one.notes))


def _function_view(
    name: str,
    numbers: Sequence[int],
    own: Sequence[ProgramText],
    texts: ReportTexts,
    programs: Sequence[ProgramView],
    lines: ChangedLines,
) -> tuple[FunctionView, tuple[ChangedLine, ...]]:
    """The view of one function, and the edited lines behind all its StableHLO changes, shared or not."""
    report = texts.report
    compared = list(dict.fromkeys(programs[n].target for n in numbers if programs[n].status != "not_checked"))
    # The program that decides each target's verdict: the compiled one if it has a verdict.
    chosen: dict[str | None, int] = {}
    for n in numbers:
        if programs[n].has_verdict and (programs[n].target not in chosen or programs[n].stage == "compiled"):
            chosen[programs[n].target] = n
    verdicts = _verdicts_by_target([programs[n] for n in numbers], [programs[n] for n in chosen.values()])
    several = {} if report.all else {one.edit_group.key: one.number for one in texts.shared}
    stages = tuple(_written_then_compiled(own, several, lines))
    whole = stages  # with changes shared between functions: each function reports its cause
    if any(edit_group.key in several for text in own for edit_group in text.edit_groups):
        written = [text for text in own if text.stage == "stablehlo"]
        whole = (*_written_then_compiled(written, (), lines), *(s for s in stages if s.stage == "compiled"))
    # Where the compiled program is the same, its loops turn as often and it rounds alike, whatever StableHLO says.
    same = {programs[n].target for n in numbers if (programs[n].stage, programs[n].status) == ("compiled", "identical")}
    by_target = {target: report.programs[n] for target, n in chosen.items() if target not in same}
    worded = _verdict_in_words(verdicts, len(compared), by_target)
    verdict, sentence = worded.verdict, worded.sentence
    is_lowered_only = bool(chosen) and all(target in same for target in chosen)
    is_lowered_only &= all(programs[n].stage == "stablehlo" for n in chosen.values())
    sentence = _NOT_COMPILED if is_lowered_only else sentence
    if not verdicts:  # the schedule or the tuning alone
        sentence = next((stage.what for stage in stages if stage.what), "the same program")
        stages = whole = ()
    shared = {one.number for one in texts.shared}.intersection(n for text in own for n in texts.numbers(text))
    where, cause = _who_did_it(own, whole, lines, report.programs[numbers[0]])
    rounded: dict[str | None, None] = {}
    if verdict == "same":
        numeric = (report.programs[n] for n in numbers if "numerics" in report.programs[n].classes)
        rounded = dict.fromkeys(program.target for program in numeric if program.target not in same)
        on = [target for one in verdicts for target in one.targets]
        elsewhere = format_targets([target for target in rounded if target]) if len(rounded) < len(on) else ""
        sentence += f", {_ROUNDED}{elsewhere}" if rounded else ""
    at = where.at if where else ""
    caller = f", called from {where.caller.partition(' (')[0]}" if where and where.caller else ""
    # No number shows added large constants or what only the compiler decided differently.
    firsts = [report.programs[text.programs[0]] for text in own]
    constants = _first_words(constant_sentences, sorted(firsts, key=lambda one: one.stage != "stablehlo"))
    by_compiler = _first_words(compiler_sentences, [one for one in firsts if one.by_compiler])
    known = [words for words in ("" if constants in sentence else constants, by_compiler) if words]
    if not stages and any(programs[n].status == "identical" and programs[n].has_verdict for n in numbers):
        known.append("the program is the same")
    if verdicts and not known and not cause:
        happened = _what_happened(sentence, own, whole, report)
        has_place = ".py:" in happened
        joined = "; " if _OF_WHOLE.match(happened) else " at "
        at = happened if has_place else joined.join(filter(None, (happened, at)))
    elif cause and at and DONATED not in cause:
        edited = next((line for stage in whole for line in stage.lines if line.where in lines.edited), None)
        at = " at ".join(filter(None, (written_name(edited) if edited else "", at)))
    # Callers notice arguments and results whatever else was edited; new results may follow from new arguments.
    lowered = [text for text in own if text.stage == "stablehlo"]
    came = () if cause else _first_of(text.known.arguments or text.known.results for text in lowered)
    came += _first_of(text.known.constants for text in lowered) + _selects_of_nan(lowered)
    came = tuple(words if len(words) <= _LONGEST_CAUSE else words.partition(":")[0] for words in came)  # without paths
    came = tuple(words for words in came if words.partition(":")[0] not in at)
    if len(cause) > _LONGEST_CAUSE:  # the stage below has the paths
        cause = _in_short(cause, firsts)
    # Where others are donated now, what is aliased less is not the bytes of those that are not.
    if NO_LONGER_DONATED in cause and not _first_words(_donated_now, firsts):
        cause += _no_longer_aliased([programs[n] for n in chosen.values()], sentence)
    own_margins = [one for (of, _), one in report.margins.items() if of == name]
    margin = max(own_margins, key=lambda one: one.share, default=None)
    view = FunctionView(
        name=name,
        verdict=verdict,
        sentence="; ".join(filter(None, (sentence, *known, *came, cause, at + caller))),
        largest=worded.largest,
        against=worded.against,
        happened=" at ".join(filter(None, (cause.partition(":")[0], at))) if NO_LONGER_DONATED in cause else at,
        what=_in_a_few_words([report.programs[n] for n in numbers], stages),
        where=where,
        targets=verdicts,
        stages=stages,
        shared=format_marks(shared, texts.listed),
        folded=name in texts.folded,
        budget=margin.words if margin else "",
        budget_target=margin.target if margin else None,
        is_lowered_only=is_lowered_only,
        is_at_equal_turns=worded.is_at_equal_turns,
        is_partly_known=worded.is_partly_known,
        is_rounded=bool(rounded),
        arguments=next(
            (kinds for one in lowered or own if (kinds := kinds_of_changed_arguments(one.program.diff))), ()
        ),
    )
    return view, tuple(line for stage in whole if stage.stage == "stablehlo" for line in stage.lines if line.is_edited)


def _in_short(cause: str, programs: Iterable[ProgramComparison]) -> str:
    """A cause without the paths of its arguments; those of donations grouped, as far as that is short."""
    donated = [words for one in programs if one.diff for words in donation_sentences(one.diff, _FEWEST_PATHS)]
    # A compiled program has no paths.
    grouped = {words.partition(": ")[0]: words for words in donated if ": " in words and len(words) <= _LONGEST_CAUSE}
    short = [sentence.partition(": ")[0] for sentence in cause.split("; ")]
    return "; ".join(grouped.get(words, words) for words in short)


def _donated_now(diff: ModuleDiff) -> Iterator[str]:
    return (words for words in donation_sentences(diff) if DONATED_NOW in words)


def _no_longer_aliased(programs: Iterable[ProgramView], said: str) -> str:
    """How many bytes are no longer aliased, on the first target if they differ; "" if some target aliases as many.

    Args:
        programs: the programs that decide, one for each target.
        said: the words before, which may have the number already.
    """
    compiled = [one for one in programs if one.stage == "compiled"]
    found = [(number, one.target) for one in compiled for number in one.numbers if number.name == "aliased"]
    if not found or min(number.old - number.new for number, _ in found) <= 0:
        return ""
    (number, target), *_ = found
    if f"{number.name} {format_bytes(number.old)}" in said:
        return ""
    sizes = {other.old - other.new for other, _ in found}
    # Not the bytes of the arguments: one that fits no result was donated, but never aliased.
    size = f"{number.name} -{format_bytes(number.old - number.new)}"
    return f", {size}" + (f" ({target})" if len(sizes) > 1 and target else "")


def _first_words(sentences: Callable[[ModuleDiff], Iterable[str]], programs: Iterable[ProgramComparison]) -> str:
    """The first of these sentences about the programs; "" if there is none."""
    return next((words for one in programs if one.diff for words in sentences(one.diff)), "")


# --- better or worse -------------------------------------------------------------------------------------------------


def _verdicts_by_target(programs: Iterable[ProgramView], decisive: Iterable[ProgramView]) -> tuple[TargetVerdict, ...]:
    """The verdict of each target, worst first; targets with equal verdicts share one.

    If the compiled program is identical, so is the cost, whatever the StableHLO counts.
    """
    kept = {p.target for p in programs if p.stage == "compiled" and p.status == "identical" and not p.has_verdict}
    found: dict[object, TargetVerdict] = {}
    for program in decisive:
        target = program.target
        listed = sorted((one for one in program.numbers if one.relevant), key=lambda one: -one.rank)
        small = sorted(one.least for one in program.numbers if one.least and not one.relevant)
        one = TargetVerdict((), program.verdict, tuple(listed), len(program.numbers) - len(listed), tuple(small))
        one = TargetVerdict((), "same") if target in kept else one
        same = found.setdefault(one, one)
        found[one] = replace(same, targets=(*same.targets, *([target] if target else [])))
    largest_first = sorted(found.values(), key=lambda one: -one.numbers[0].rank if one.numbers else 0.0)
    return tuple(sorted(largest_first, key=lambda one: WORST.index(one.verdict)))


def _weight(view: FunctionView, programs: Iterable[ProgramComparison]) -> tuple[int, float]:
    """On how many targets a function has its verdict, and how much the most important change of each weighs, in all.

    Weights are shares of the function: a small one that is hit on one target may have the largest.
    """
    on = sum(len(one.targets) or 1 for one in view.targets if one.verdict == view.verdict)
    marks = (view.verdict,) if view.verdict in ("worse", "better") else ("worse", "better")
    ranks: dict[str | None, list[float]] = {}
    for one in view.targets:
        for target in one.targets or (None,):
            ranks.setdefault(target, []).extend(number.rank for number in one.numbers if number.mark in marks)
    for program in programs:
        works = other_work(program) if program.diff else ()
        ranks.setdefault(program.target, []).extend(work.rank for work in works if work.way in marks)
    return on, sum(max(own, default=0.0) for own in ranks.values())


class _WordedVerdict(NamedTuple):
    """The verdict over all targets, its sentence, and its first numbers with the targets that have them.

    `against` is the first number that speaks against the verdict.
    `is_at_equal_turns` says that numbers of it hold at equal trip counts only, of loops whose length depends on data.
    """

    verdict: Verdict
    sentence: str
    largest: str = ""
    against: str = ""
    is_at_equal_turns: bool = False
    is_partly_known: bool = False


def _verdict_in_words(
    verdicts: Sequence[TargetVerdict], compared: int, programs: Mapping[str | None, ProgramComparison]
) -> _WordedVerdict:
    """The verdict over all targets, in words."""
    diffs = {target: program.diff for target, program in programs.items()}
    by: dict[Verdict, list[TargetVerdict]] = {}
    for one in verdicts:
        by.setdefault(one.verdict, []).append(one)
    words: dict[Verdict, list[str]] = {}
    parts: list[str] = []
    largest: list[str] = []
    opposed, firsts = "", list[str]()
    is_at_equal_turns = is_partly_known = False
    for verdict, group in by.items():
        if verdict == "same":
            continue
        targets = [target for one in group for target in one.targets]
        # Not shown by any number.
        known: dict[str, list[str | None]] = {}
        opposite: dict[str, list[str | None]] = {}
        for target in targets or (None,):
            for work in other_work(programs[target]) if target in programs else ():
                if work.is_known:
                    of = known if verdict in ("mixed", work.way) else opposite
                    of.setdefault(work.words, []).append(target)
        decisive = [(one, decisive_numbers(one.numbers, verdict)) for one in group]
        of_memory = [
            one for one, chosen in decisive if has_unknown(one.numbers) and all(n.name in MEMORY for n in chosen)
        ]
        group = [*(one for one in group if one not in of_memory), *of_memory]  # numbers of work first
        in_group, alone = (
            [*_on_targets(known, total), *_numbers(verdict, group, with_sizes=True, total=total)]
            for total in (len(targets), compared)
        )
        words[verdict] = [*in_group, *_all_collectives(group, programs)]
        firsts += alone[:1]
        is_first, most = not largest, 3 if verdict == "mixed" else 1
        largest = largest or [*alone[:most], *(_all_collectives(group, programs, most) if alone else ())]
        doubt = ""
        if len(of_memory) == len(group) or (of_memory and verdict != "worse"):
            unjudged = [target for one in of_memory for target in one.targets]
            where = f" on {' and '.join(unjudged)}" if len(unjudged) < len(targets) else ""
            size = _unknown_work(of_memory, programs)
            size = "" if any(size in part for part in parts) else size
            doubt = f", total work cannot be judged{where}{size}"
        elif verdict != "worse" and any(has_unknown(one.numbers) for one in group):
            doubt, is_partly_known = _AS_FAR_AS_KNOWN, True
        # Less of a kind of memory is better, or the price of something, only if there are not more turns.
        is_any = verdict != "worse"
        changing = (one for one, chosen in decisive if is_any or not all(number.comparable for number in chosen))
        condition = "" if doubt else _at_equal_turns(changing, diffs)
        is_at_equal_turns |= bool(condition)
        on = _on(targets, compared) + condition
        # Lower numbers are not certainly better if a buffer is written in a different order.
        is_lower = verdict == "mixed" and not any(one.mark == "worse" and one.relevant for one in group[0].numbers)
        if is_lower and any(reordered_write(diffs.get(target)) for target in group[0].targets or (None,)):
            doubt = f", but a buffer is written in another order{doubt}"
        listed = ", ".join(words[verdict]) or ("" if doubt.startswith(", total") else "no executed number changed")
        if verdict != "mixed":  # less of one thing does not hide more of another, nor the reverse
            other: Verdict = "worse" if verdict == "better" else "better"
            against = sorted(group, key=lambda one: not decisive_numbers(one.numbers, other))
            against_it = [*_on_targets(opposite, len(targets)), *_numbers(other, against, with_sizes=True)]
            listed = ", but ".join(filter(None, (listed, *against_it[:1])))
            opposed = next(iter(against_it), "") if is_first else opposed
        parts.append(f"{verdict}{on}: {listed}{doubt}" if listed else f"{verdict}{on}: {doubt.removeprefix(', ')}")
    if not words:
        return _same_cost(verdicts, compared, programs)
    overall: Verdict = next(iter(words)) if len(words) == 1 or set(words) == {"worse", "mixed"} else "mixed"
    if overall == "mixed" and len(firsts) > 1:  # on some targets it is better
        opposed = firsts[-1]
    sentence = _with_turns_said_once("; ".join(parts))
    return _WordedVerdict(overall, sentence, ", ".join(largest), opposed, is_at_equal_turns, is_partly_known)


def _same_cost(
    verdicts: Sequence[TargetVerdict], compared: int, programs: Mapping[str | None, ProgramComparison]
) -> _WordedVerdict:
    """The verdict where nothing speaks for one, with what is not known."""
    diffs = {target: program.diff for target, program in programs.items()}
    on = _on([target for one in verdicts for target in one.targets], compared)
    doubt = _AS_FAR_AS_KNOWN if any(has_unknown(one.numbers) for one in verdicts) else ""
    condition = "" if doubt else _at_equal_turns(verdicts, diffs)
    doubt = f"{doubt}{_unknown_work(verdicts, programs)}" if doubt else condition
    targets = [target for one in verdicts for target in one.targets]
    unknown = [target for target in targets if target in programs and other_work(programs[target])]
    only = _on(unknown, compared) if len(unknown) < len(targets) else ""
    doubt += f", not counting matrix products{only}" if unknown else ""
    flags = bool(condition), doubt.startswith(_AS_FAR_AS_KNOWN)
    return _WordedVerdict("same", f"same cost{on}{doubt}", "", "", *flags)


def _on_targets(words: Mapping[str, Sequence[str | None]], total: int) -> list[str]:
    """Changed costs with their targets if others of the verdict do not have them."""
    return [f"{said} ({', '.join(filter(None, on))})" if len(on) < total else said for said, on in words.items()]


_EQUAL_TURNS = " at equal trip counts"
_AS_FAR_AS_KNOWN = ", as far as trip counts are known"


def _with_turns_said_once(sentence: str) -> str:
    """A verdict that says once which turns are counted, and not with each number.

    Example:
        >>> _with_turns_said_once(f"worse{_EQUAL_TURNS}: more flops (4 -> 6{EACH_TURN}), but fewer copies (4 -> 2{EACH_TURN})")
        'worse at equal trip counts (one turn of each loop of unknown length): more flops (4 -> 6), but fewer copies (4 -> 2)'
    """  # noqa: E501
    if sentence.count(EACH_TURN) < 2 or _EQUAL_TURNS not in sentence:
        return sentence
    turns = f" ({EACH_TURN.removeprefix(' with ')})"
    return sentence.replace(EACH_TURN, "").replace(_EQUAL_TURNS, f"{_EQUAL_TURNS}{turns}", 1)


def _all_collectives(
    group: Sequence[TargetVerdict], programs: Mapping[str | None, ProgramComparison], most: int | None = None
) -> Iterator[str]:
    """The bytes of all collectives, if more kinds of them changed than the first line names.

    They are those of the first target, named if others have another number; of another one where they changed far more.
    `most` is how many numbers the line has; None for all that decide.
    """
    first = group[0]
    kinds = [number for number in first.numbers if number.name in FAMILIES and number.relevant]
    shown = [number for number in decisive_numbers(first.numbers, first.verdict)[:most] if number.name in FAMILIES]
    known = {
        target: tuple(count.exact for count in executed_pair(programs[target], "collective_bytes"))
        for one in group
        for target in one.targets or (None,)
        if target in programs
    }
    if shown and len(kinds) > len(shown) and known:
        share = max(_by_share(*pair) for pair in known.values())
        target, (old, new) = next(item for item in known.items() if 2 * _by_share(*item[1]) >= share)
        if old is not None and new is not None and (old or new):
            of = f" ({target})" if target and len(set(known.values())) > 1 else ""
            as_before = " as before" if old == new else ""
            yield f"all collectives {format_arrow(old, new, format_bytes)}{as_before}{of}"


def _by_share(old: int | None, new: int | None) -> float:
    return abs(new - old) / max(old, 1) if old is not None and new is not None else -1.0


def _unknown_work(group: Sequence[TargetVerdict], programs: Mapping[str | None, ProgramComparison]) -> str:
    """Why work cannot be judged: loops that are entered more or less often, or both sides of its first number.

    That is of a collective, else flops, else any; none of which one side may be more than twice its lower bound.
    """
    found = [(one.targets or (None,), number) for one in group for number in one.numbers if has_unknown((number,))]
    found.sort(key=lambda item: (item[1].name not in FAMILIES, item[1].name != "flops"))
    for targets, number in found:
        sides = executed_pair(programs[targets[0]], metric_of(number)) if targets[0] in programs else ()
        if sides and (why := entered_otherwise(*sides)):
            return f" ({why})"
        if not any(one.is_wide for one in sides):
            is_only = sum(len(one.targets) for one in group) < 2
            return f" ({both_sides(number, '' if is_only else targets[0] or '')})"
    return ""


def _at_equal_turns(group: Iterable[TargetVerdict], diffs: Mapping[str | None, ModuleDiff | None]) -> str:
    """The condition under which numbers hold if trip counts depend on data; else ""."""
    found = filter(None, (diffs.get(target) for one in group for target in one.targets or (None,)))
    return _EQUAL_TURNS if any(all(map(has_data_loop, (one.old, one.new))) for one in found) else ""


def _on(targets: Sequence[str], compared: int) -> str:
    if not targets:
        return ""
    if len(targets) == 1:
        return f" on {targets[0]}"
    return f" on {len(targets)} targets" if len(targets) == compared else f" on {len(targets)} of {compared} targets"


def _numbers(
    verdict: Verdict,
    group: Sequence[TargetVerdict],
    show: Callable[[Number, str], str] = format_short,
    with_sizes: bool = False,
    total: int = 0,
) -> list[str]:
    """The decisive numbers of the first target, and of one that has none of these, where they are largest.

    A number names its target if others have it with another value, or not at all. If the function has `total` targets,
    more than the group, a number that all of the group have names them all.

    With sizes, by how much a number changed that is a range or per iteration.
    """
    found = []
    before = ""
    targets = [target for one in group for target in one.targets]
    every = ", ".join(targets) if len(targets) < total else ""
    for of, number in _decisive_of_all(verdict, group):
        target = of.targets[0] if of.targets else None
        looks = number.name, show(number, "")
        is_same = all(any(looks == (other.name, show(other, "")) for other in one.numbers) for one in group)
        if with_sizes and not number.comparable:
            pair, which = part_of(number)
            is_only = max(len(targets), total) == 1
            where = "" if is_only or target is None else f" on {target}"
            size = f"{pair}{short_part(which, before)}" if pair else format_number(replace(number, per=""))
            found.append(f"{looks[1]} ({size}{where})")
            before = which
        else:
            found.append(show(number, every if is_same else target or ""))
    return found


def _decisive_of_all(verdict: Verdict, group: Sequence[TargetVerdict]) -> list[tuple[TargetVerdict, Number]]:
    """The decisive numbers of the first target, the last exchanged for that of a target that has none of them.

    Each is of the target where it is largest; a mixed verdict weighs the numbers of one target.
    """
    first = group[0]
    chosen = [(first, number) for number in decisive_numbers(first.numbers, verdict)]
    if verdict == "mixed" or not chosen:
        return chosen
    marked = [(one, [n for n in one.numbers if n.relevant and n.mark == verdict]) for one in group]
    # Of collectives first those that all of these targets have more or less of.
    on_all = set[str]({*FAMILIES}).intersection(*({number.name for number in own} for _, own in marked))
    if chosen[0][1].name in FAMILIES and on_all.isdisjoint(number.name for _, number in chosen):
        shared = sorted((n for n in marked[0][1] if n.name in on_all), key=lambda number: -number.rank)
        chosen = [*((first, number) for number in shared[:1]), *chosen][:2]
    names = {number.name for _, number in chosen}
    for one, own in marked:
        if own and names.isdisjoint(number.name for number in own):
            chosen = [*chosen[:1], (one, decisive_numbers(one.numbers, verdict)[0])]
            break
    return [
        max(
            [pair, *((one, number) for one, own in marked for number in own if number.name == pair[1].name)],
            key=lambda item: item[1].rank,
        )
        for pair in chosen
    ]


# --- what happened ---------------------------------------------------------------------------------------------------


def _first_of(sentences: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The sentences of the first program that has some."""
    return next(filter(None, sentences), ())


def _selects_of_nan(texts: Sequence[ProgramText]) -> tuple[str, ...]:
    """By how many more or fewer operations give NaN, with the targets if not all have them."""
    on: dict[str, list[str]] = {}
    for text in texts:
        for words in text.known.nans:
            on.setdefault(words, []).extend(text.targets)
    every = sum(len(text.targets) for text in texts)
    return tuple(words + (format_targets(targets) if len(targets) < every else "") for words, targets in on.items())


def _in_a_few_words(programs: Sequence[ProgramComparison], stages: Sequence[StageView]) -> str:
    """The classes of the changes, and the most important sentence or else the first change."""
    kinds = format_classes(((one.target, one.classes) for one in programs if one.status == "changed"), CLASSES)
    candidates = (
        stage.what or next((format_listed(change) for line in stage.lines for change in line.changes), "")
        for stage in stages
    )
    words = next(filter(None, candidates), "")
    return ": ".join(filter(None, (kinds, words)))


def _written_then_compiled(
    own: Sequence[ProgramText], elsewhere: Collection[Key], lines: ChangedLines
) -> Iterator[StageView]:
    """StableHLO changes, then compiled ones, without those listed `elsewhere`.

    Equal changes of several targets are listed once.
    """
    written = any(text.stage == "stablehlo" and text.edit_groups for text in own)
    reported_before: set[str] = set()
    edited: set[str] = set()
    changed: set[str] = set()
    is_retyped = False
    for stage in ("stablehlo", "compiled"):
        of_stage = [text for text in own if text.stage == stage]
        groups: dict[object, tuple[EditGroup, dict[str, None]]] = {}
        costs: dict[object, set[str]] = {}
        lines.counted_on.clear()
        lines.in_all.clear()
        for text in of_stage:
            listed = [edit_group for edit_group in text.edit_groups if edit_group.key not in elsewhere]
            if stage == "compiled" and len(listed) > 1:
                from hlodiff.report.combined_collectives import with_combined_collectives
                from hlodiff.report.net_work import without_rearranged

                listed = with_combined_collectives(listed, lines.report)
                listed = without_rearranged(listed, lines.report, text.programs[0])
            if stage == "compiled":
                listed = [with_whole_cost(edit_group, lines.report) for edit_group in listed]
            if len(listed) > 1:
                places = lines.line_of, lines.scope_of
                listed = with_both_halves(listed, lines.part_of, *places, are_apart=lines.are_two_edits)
            if text.program.diff is not None and "while" in text.program.diff.op_counts:
                listed = with_loop_moves(listed, lines.turns_of, lines.each_edit_of)
            if len(listed) > 1:
                listed = without_moves(listed, lambda one: next(filter(None, lines.by_edit(one)[::-1]), None))
            for edit_group in listed:
                # Without its name: on other targets its shape, count or size may differ.
                change = change_view(edit_group, lines.report)
                words = format_listed(replace(change, what=NAMED.sub(r"\1", change.what)))
                # A StableHLO change is listed once; its cost may differ because targets lower callees differently.
                shown = edit_group.key, words, "" if stage == "stablehlo" else format_beside(change, stage)
                first, targets = groups.setdefault(shown, (edit_group, {}))
                targets.update(dict.fromkeys(text.targets))
                costs.setdefault(shown, set()).add(change.cost)
                if len(costs[shown]) > 1:
                    lines.counted_on[first.key] = next(iter(targets), "")
        most = MOST_WRITTEN if stage == "stablehlo" else MOST_COMPILED if written else MOST_BY_COMPILER
        listed_groups = list(groups.values())
        known = edited, changed, written and not lines.report.all
        views = list(_stage_views(of_stage, listed_groups, most, lines, reported_before, known, is_retyped))
        if stage == "stablehlo":
            changed.update(edit_group.where for edit_group, _ in listed_groups)
            is_numeric = any("numerics" in text.program.classes for text in of_stage)
            is_retyped = is_numeric and any(_is_of_types(edit_group) for edit_group, _ in listed_groups)
        edited.update(line.where for view in views for line in view.lines if line.is_edited)
        yield from views


def _stage_views(
    own: Sequence[ProgramText],
    groups: Sequence[_Listed],
    most: int,
    lines: ChangedLines,
    reported_before: set[str],
    known: _Known,
    is_retyped: bool,
) -> Iterator[StageView]:
    """Views of a stage, one per set of targets with equal results.

    `reported_before` has the sentences so far; `is_retyped` if values have other types in the StableHLO.
    """
    report = lines.report
    reported = " ".join(words for text in own for words in text.sentences)
    chosen = [item for item in groups if not _is_reported(item[0], reported)]
    most, count = len(chosen) if report.all else most, len(chosen)
    is_compiled = bool(own) and own[0].stage == "compiled"
    if not report.all and count > 1:
        chosen = [item for item in chosen if not _is_of_copies(item[0], report)] or chosen
        if not is_compiled:
            from hlodiff.report.net_work import NetWork

            left = {*NetWork(report).without_undone(edit_group for edit_group, _ in chosen)}
            chosen = [item for item in chosen if item[0] in left]
    arranged: list[ProgramText] = []
    if len(chosen) > 1:
        chosen, arranged = _chosen(chosen, own, most, lines, known, is_retyped)
        most = max(most, len(chosen)) if is_compiled else most
    by_targets: dict[tuple[str, ...], list[EditGroup]] = {text.targets: [] for text in own}
    for edit_group, on in chosen:
        by_targets.setdefault(tuple(on), []).append(edit_group)

    def compare_with_all(shown: Collection[EditGroup]) -> None:
        for text in own:
            # The cost of a StableHLO change is that of its first target.
            of_text = {
                edit_group: on
                for edit_group, on in chosen
                if edit_group in shown and (not text.targets or text.targets[0] in (on if is_compiled else [*on][:1]))
            }
            found: dict[EditGroup, list[str]] = {}
            for edit_group, words in compared_with_all([*of_text], text.programs[0], report):
                found.setdefault(edit_group, []).append(words)
            for edit_group, parts in found.items():
                is_named = len(of_text[edit_group]) > len(text.targets) and is_compiled
                on_target = f"on {text.targets[0]} " if is_named else ""
                lines.in_all.setdefault(edit_group, "; ".join(f"{on_target}{words}" for words in parts))

    if is_compiled:  # all that is chosen is listed, though not of one set of targets
        compare_with_all({edit_group for edit_group, _ in chosen})
    found: list[StageView] = []
    shown = 0
    said = [(words, text.targets) for text in own for words in text.sentences]
    arrangements = [(words, text.targets) for text in arranged if (words := _arrangement(text))]
    reported_on = _by_targets([*said, *arrangements], by_targets)
    noted = [(f"passes: {line}", text.targets) for text in own for line in pass_lines(text.program)]
    noted += [(f"memory: {words}", text.targets) for text in own if (words := memory_note(text.program))]
    of = {id(text.program): text.targets for text in own}
    for words, programs in limits_of(text.program for text in own).items():
        noted += [(f"limits: {words}", of[id(program)]) for program in programs]
    noted_on = _by_targets(noted, by_targets)
    for targets, edit_groups in sorted(by_targets.items(), key=lambda item: -len(item[0])):
        with_callers = not is_compiled and not _setting(own, report)
        listed = _shown_once(
            () if is_compiled else (line for view in found for line in view.lines),
            lines.listed(
                edit_groups,
                most - shown,
                with_callers,
                as_given=is_compiled,
                compare_with_all=None if is_compiled else compare_with_all,
            ),
        )
        are_shared = not groups and any(text.edit_groups for text in own)
        if with_callers and not edit_groups and not found and not are_shared:  # the sentence covers all changes
            listed = lines.only(report.programs[own[0].programs[0]])
        fresh = [words for words in reported_on.get(targets, ()) if words not in reported_before]
        if any(RESHARDED in words for words in reported_before):  # new shapes per device follow from that
            fresh = [words for words in fresh if not _OF_SHARDING.match(words)]
        what = "; ".join(fresh)
        reported_before.update(reported_on.get(targets, ()))
        view = StageView(own[0].stage, targets, what, listed, notes=tuple(noted_on.get(targets, ())))
        if view.what or view.lines or view.notes:
            found.append(view)
            shown += sum(len(line.changes) for line in listed)
    if count > shown and not (found and (found[-1].lines or found[-1].what)):
        found.append(StageView(own[0].stage, tuple(dict.fromkeys(target for text in own for target in text.targets))))
    yield from found[:-1]
    yield from [replace(found[-1], left=count - shown)] if found else []


def _is_of_copies(edit_group: EditGroup, report: Report) -> bool:
    """Whether operations only take other copies of the values that they took."""
    changes = changed_fields(edit_group, report)
    return bool(changes) and all(one.of_copies for one in changes)


def _is_of_types(edit_group: EditGroup) -> bool:
    """Whether a change converts values, or gives them another type."""
    return "convert" in edit_group.group[1:3] or "element_type" in edit_group.fields


def _arrangement(text: ProgramText) -> str:
    """How programs differ of which no change explains anything; "" if they have other operations."""
    diff = text.program.diff
    if diff is not None and all(_is_of_results(edit, diff) for edit in diff.reported):
        return "the same operations, other results returned"
    from hlodiff.report.net_work import work_counts

    is_of_others = diff is not None and any(old != new for old, new in work_counts(diff))
    return "" if is_of_others else "mostly the same operations, arranged differently"


def _is_of_results(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether all that differs is the tuple that a program returns."""
    site = edit.new
    return (
        edit.kind == "changed"
        and {*edit.fields} <= {"shape", "operands", "layout"}
        and site is not None
        and site.opcode == "tuple"
        and (site.computation, site.instruction) == (diff.new.entry, diff.new.entry_computation.root)
    )


_Listed = tuple[EditGroup, dict[str, None]]
"""A change, and the targets that have it."""
_Known = tuple[Collection[str], Collection[str], bool]
"""The edited lines, the lines whose StableHLO changed, and whether a compiled program is one of changed StableHLO."""


def _chosen(
    groups: Sequence[_Listed],
    own: Sequence[ProgramText],
    most: int,
    lines: ChangedLines,
    known: _Known,
    is_retyped: bool,
) -> tuple[list[_Listed], list[ProgramText]]:
    """Changes in the order in which they are listed; of a compiled program those that explain something.

    Of collectives come first those of the kind that has more or less of them now: others are removed here and added
    there. Of one kind first those of edited lines: the compiler may combine others in another way. Of other operations
    first those of lines whose StableHLO changed: elsewhere the compiler only rearranges what is unchanged.

    Returns:
        the changes, and the programs of which no change explains anything: their operations are only arranged
        differently.
    """
    from hlodiff.report.net_work import NetWork  # a single change is listed as it is

    edited, changed, is_known = known
    ranked = sorted(groups, key=lambda item: importance(item[0]))
    net = Counter[str]()
    for edit_group, _ in ranked:
        net[collective_of(edit_group)] += edit_group.by(lambda cost: cost.collective)
    work, is_compiled = NetWork(lines.report, is_retyped), own[0].stage == "compiled"

    def rank(edit_group: EditGroup) -> tuple[object, ...]:
        if (name := collective_of(edit_group)) and not (is_compiled and work.is_moved(edit_group)):
            by = abs(edit_group.by(lambda cost: cost.collective))
            return 0, -abs(net[name]), bool(edit_group.collective), edit_group.where not in edited, -by
        is_elsewhere = bool(changed) and edit_group.where not in changed
        if not is_compiled:
            return 1, edit_group.weight, is_elsewhere
        return 1, max(edit_group.weight, work.is_moved(edit_group)), *work.rank(edit_group, is_elsewhere)

    ranked.sort(key=lambda item: rank(item[0]))
    if not is_compiled:
        return ranked, []
    real = [n for n, (edit_group, _) in enumerate(ranked) if not (is_known and work.is_moved(edit_group))]
    are_few = len(ranked) <= most
    others = [n for n in real if are_few or not is_known or work.explains(ranked[n][0])]
    if is_known and (unrelated := {target for text in own if _is_unrelated(text) for target in text.targets}):
        others = [n for n in others if not unrelated.issuperset(ranked[n][1])]
    exchanged = [n for n in real if is_known and work.is_other_operation(ranked[n][0])]  # where nothing else explains
    firsts = [
        next((n for n in (*others, *exchanged) if not ranked[n][1].keys().isdisjoint(text.targets)), None)
        for text in own
    ]
    # Behind a collective, the operation that accounts for most of the other numbers of its target.
    accounting = [n for n in others if work.accounts_for_most(ranked[n][0])]
    seconds = [
        next((n for n in accounting if not ranked[n][1].keys().isdisjoint(text.targets)), None)
        for text, first in zip(own, firsts, strict=True)
        if is_known and first is not None and collective_of(ranked[first][0])
    ]
    firsts += [n for n in seconds if n is not None][:1]  # a report fits on a screen
    most = max(most, len({n for n in firsts if n is not None}))
    numbers = [*dict.fromkeys([*(n for n in firsts if n is not None), *others])][:most]
    arranged = [
        text
        for text in own
        if all(ranked[n][1].keys().isdisjoint(text.targets) for n in real)
        and any(not on.keys().isdisjoint(text.targets) for _, on in ranked)
        and all(map(work.is_moved, text.edit_groups))  # with those that other functions share
    ]
    return [item for n, item in enumerate(ranked) if n in numbers], arranged


def _is_unrelated(text: ProgramText) -> bool:
    """Whether the two programs are not matched: all of one is removed, and all of the other added."""
    diff = text.program.diff
    return diff is not None and any(hit.name == "unrelated" for hit in diff.limit_hits)


def _shown_once(before: Iterable[ChangedLine], lines: Iterable[ChangedLine]) -> tuple[ChangedLine, ...]:
    """Lines of Python without their text where it was shown before: a lambda is on the line of its function."""
    shown = {(line.edit, line.was.partition(" (")[0]) for line in before}
    found = []
    for line in lines:
        key = line.edit, line.was.partition(" (")[0]
        found.append(line.without_text() if key in shown else line)
        shown.add(key)
    return tuple(found)


def _by_targets(
    texts: Iterable[tuple[str, tuple[str, ...]]], known: dict[tuple[str, ...], list[EditGroup]]
) -> dict[tuple[str, ...], list[str]]:
    """Sentences by the set of targets that have them; adds new sets to `known`."""
    on: dict[str, dict[str, None]] = {}
    for words, targets in texts:
        on.setdefault(words, {}).update(dict.fromkeys(targets))
    found: dict[tuple[str, ...], list[str]] = {}
    for words, of in on.items():
        same = next((targets for targets in known if set(targets) == set(of)), tuple(of))
        found.setdefault(same, []).append(words)
        known.setdefault(same, [])
    return found


def _is_reported(edit_group: EditGroup, reported: str) -> bool:
    """Whether a sentence about arguments already covers the whole change.

    In another order they have other numbers, and are donated to other results.
    """
    fields = edit_group.fields
    if fields and set(fields) <= {"alias", "attribute:parameter_number"}:
        is_reordered = REORDERED in reported
        if "alias" not in fields:
            return is_reordered
        is_renumbered = is_reordered or bool(_OTHER_RESULTS.search(reported))
        return "donated" in reported or (is_renumbered and bool(_RENUMBERED.search(edit_group.what)))
    if edit_group.group[1:3] == ("return", "return"):
        return fields == ("sharding",) and bool(_RESHARDED_RESULTS.search(reported))
    is_argument = edit_group.group[1:3] == ("parameter", "parameter")
    return (
        is_argument and fields == ("sharding",) and RESHARDED in reported and ARROW in reported.partition(RESHARDED)[2]
    )


def _what_happened(
    sentence: str,
    own: Sequence[ProgramText],
    stages: Sequence[StageView],
    report: Report,
) -> str:
    """The one change that explains the verdict: in StableHLO if that changed, else in the compiled program."""
    changed = [text for text in own if text.edit_groups]
    first = next((text for text in changed if text.stage == "stablehlo"), next(iter(changed), None))
    if first is None:
        return ""
    lines = [line for stage in stages if stage.stage == first.stage for line in stage.lines]
    diff = report.programs[first.programs[0]].diff
    known = (sentence, first.sentences, lines, first.edit_groups)
    if diff is None:
        return main_edit(*known)
    counts = dict(diff.op_counts)
    alike = [report.programs[n].diff for text in changed if text.stage == first.stage for n in text.programs]
    nets = {
        sum(new - old for opcode in LOOPS for old, new in [one.op_counts.get(opcode, (0, 0))]) for one in alike if one
    }
    if len(nets) > 1:  # the targets have other loops of their own
        counts |= dict.fromkeys(LOOPS, (0, 0))
    return main_edit(*known, new_and_gone(diff.reported), counts)


def _setting(own: Iterable[ProgramText], report: Report) -> str:
    """The settings of the project that changed the lowered program."""
    written = [text for text in own if report.toolchain and text.stage == "stablehlo" and text.edit_groups]
    return format_settings(report, [report.programs[n] for text in written for n in text.programs]) if written else ""


def _who_did_it(
    own: Sequence[ProgramText],
    stages: Sequence[StageView],
    lines: ChangedLines,
    program: ProgramComparison,
) -> tuple[Place | None, str]:
    """The line of Python that caused the change, and the cause in words if it is not a line of the function.

    The line is the first listed one if it is the user's own, else that of the first change that has one.
    """
    report = lines.report
    listed = [line for stage in stages for line in stage.lines]
    edited = next((lines.edited[line.where] for line in listed if line.where in lines.edited), None)
    if not any(line.is_edited and not line.is_elsewhere for line in listed):
        if setting := _setting(own, report):
            return None, setting
        written = (report.programs[text.programs[0]] for text in own if text.stage == "stablehlo")
        cause = _first_words(interface_sentences, written)
        if cause:  # no line of the function caused it, but another one may have been edited
            return edited or lines.of_registration(program, cause), cause
    first = next((line.where for line in listed if line.where), "")
    if first in lines.edited:
        return lines.edited[first], ""
    groups = [group for text in own for group in text.edit_groups]
    places = [place for group in groups for place in lines.by_edit(group)[::-1] if place]
    if not places:
        places = [place for group in groups if (place := lines.near(group))]
    known = [place for place in places if format_place(place) == first]
    mine = [place for place in (*known, *places) if not place.library and not report.packages]
    return next(iter((*mine, *known, *places)), None), ""


# --- all functions together ------------------------------------------------------------------------------------------


def overall(functions: Sequence[FunctionView]) -> str:
    """One sentence on all functions together; "" if nothing changed.

    Example:
        >>> overall([FunctionView("f", "worse", "worse on cpu: flops +8 %", "flops +8 %")])
        'worse on cpu: flops +8 %'
        >>> overall([FunctionView(name, "same", "same cost", is_rounded=True) for name in "fg"])
        '2 programs changed: 2 at the same cost, floating-point results may differ'
    """
    if len(functions) < 2:
        return functions[0].sentence if functions else ""
    counts = Counter(view.verdict for view in functions)
    words = {"worse": "worse", "mixed": "mixed", "better": "better", "same": "at the same cost"}
    alone = sum(view.is_lowered_only for view in functions)
    counts["same"] -= alone
    parts: list[str] = []
    for verdict in (verdict for verdict in WORST if counts[verdict]):
        alike = [view for view in functions if view.verdict == verdict and not view.is_lowered_only]
        parts.append(f"{counts[verdict]:,} {words[verdict]}{_reserves(alike)}")
    if rounded := sum(view.is_rounded for view in functions):
        parts.append(_ROUNDED if rounded == counts["same"] else _ROUNDED.replace("may", f"of {rounded:,} may"))
    parts += [f"{alone:,} in StableHLO only"] if alone else []
    first = functions[0]
    noun = "function" if any(one.targets for view in functions for one in view.targets) else "program"
    text = f"{many(len(functions), noun)} changed: {', '.join(parts)}"
    if alone == len(functions):
        text = f"{_NOT_COMPILED}; {many(len(functions), noun)} changed in StableHLO only"
    text += "".join(f", {kind}" for kind in first.arguments if all(kind in view.arguments for view in functions))
    is_same = len({view.happened for view in functions}) == 1  # one edit made them all
    happened = f"; {first.happened}" if first.happened and (is_same or first.largest) else ""
    # Numbers weigh differently, so that another function may have the largest percentage.
    numbers = ", but ".join(filter(None, (first.largest, first.against)))
    return f"{text}; mainly {first.name}, {numbers}{happened}" if first.largest else text + happened


def _reserves(functions: Sequence[FunctionView]) -> str:
    """On which trip counts the verdicts of functions depend: all of them, or how many."""
    counted = [
        (_EQUAL_TURNS, sum(view.is_at_equal_turns for view in functions)),
        (_AS_FAR_AS_KNOWN, sum(view.is_partly_known for view in functions)),
    ]
    parts = [
        words if count == len(functions) else f", {count:,} of them {words.removeprefix(',').strip()}"
        for words, count in counted
        if count
    ]
    return "".join(parts)


def totals_by_number(functions: Iterable[FunctionView]) -> tuple[NumberTotals, ...]:
    """In how many programs each number got worse or better by more than the threshold, the most frequent first.

    Example:
        >>> totals_by_number([FunctionView("f", "same", "same cost")])
        ()
    """
    found: dict[tuple[str, str], list[tuple[tuple[float, float], str]]] = {}
    for view in functions:
        for one in view.targets:
            for number in one.numbers:
                labels = [f"{view.name} on {target}" for target in one.targets] or [view.name]
                words = by_how_much(number) if number.old and number.new else format_short(number)
                size = change_size(number)
                found.setdefault((number.name, number.mark), []).extend(
                    (size, f"{words}, {label}" if words else label) for label in labels
                )
    sides: dict[str, dict[str, tuple[int, str]]] = {}
    for (name, mark), members in found.items():
        if mark:
            sides.setdefault(name, {})[mark] = (len(members), max(members, key=lambda member: member[0])[1])
    rows = [
        NumberTotals(name, *both.get("worse", (0, "")), *both.get("better", (0, ""))) for name, both in sides.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.worse - row.better))


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A row of the table: the functions and targets with identical results.

    Args:
        name, also: the functions.
        targets: () if unknown.
        verdict: a verdict, or "new" and "orphaned" (in a diff "added" and "removed") for programs of one side.
        largest: the decisive change of a number.
        sides: the same with its values before and after; "" if functions that share the row have different values.
        where: the line of Python.
    """

    name: str
    targets: tuple[str, ...]
    verdict: str
    largest: str = ""
    where: str = ""
    also: tuple[str, ...] = ()
    sides: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All functions of the row."""
        return (self.name, *self.also)

    @property
    def label(self) -> str:
        """`train_step`, `loss and 7 more`."""
        if len(self.also) == 1:
            return f"{self.name}, {self.also[0]}"
        return self.name + (f" and {len(self.also):,} more" if self.also else "")


def verdict_rows(
    functions: Sequence[FunctionView], programs: Sequence[ProgramView], command: str
) -> tuple[VerdictRow, ...]:
    """The table: a row for each function and verdict, worst first; functions with identical results share one row.

    Args:
        functions: the view's functions.
        programs: the view's programs; those of one side get a row too.
        command: "check" or "diff", which have different words for programs of one side.

    Example:
        >>> verdict_rows([FunctionView("f", "same", "same cost")], (), "diff")
        ()
    """
    rows: list[VerdictRow] = []
    for view in functions:
        where = view.where.at if view.where else ""
        by: dict[Verdict, list[TargetVerdict]] = {}
        for one in view.targets:
            by.setdefault(one.verdict, []).append(one)
        for verdict, group in by.items():
            most = {"mixed": 3, "same": 0}.get(verdict, 1)
            targets = tuple(target for one in group for target in one.targets)
            margin = view.budget if view.budget_target in (targets or (None,)) else ""
            largest, sides = (
                "; ".join(filter(None, (", ".join(words[:most]), margin)))
                for words in (_numbers(verdict, group), _numbers(verdict, group, both_sides))
            )
            if not largest and verdict == next((one for one in by if one != "same"), None):
                largest = view.largest  # not shown by any number
            rows.append(VerdictRow(view.name, targets, verdict, largest, where, sides=sides))
    rows.sort(key=lambda row: WORST.index(row.verdict))
    judged_names = {view.name for view in functions}
    for program in programs:  # results of an older hlodiff have no verdicts
        if program.status == "changed" and program.name not in judged_names:
            where = program.where.at if program.where else ""
            on = (program.target,) if program.target else ()
            rows.append(VerdictRow(program.name, on, "changed", program.headline, where))
    found_once: dict[tuple[str, str], dict[str, None]] = {}
    for program in programs:
        if program.status in ("added", "removed"):
            word = format_status(program.status, command)
            found_once.setdefault((program.name, word), {})[program.target or ""] = None
    rows += [VerdictRow(name, tuple(filter(None, on)), word) for (name, word), on in found_once.items()]
    found: dict[object, VerdictRow] = {}
    for row in rows:
        same = replace(row, name="", sides="")
        known = found.get(same)
        sides = row.sides if known is None or known.sides == row.sides else ""
        found[same] = replace(known, also=(*known.also, row.name), sides=sides) if known else row
    return tuple(found.values())
