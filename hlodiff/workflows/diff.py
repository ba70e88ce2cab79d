"""`hlodiff diff`: compares files, folders and git revisions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.errors import UsageError
from hlodiff.normalizer.constants import format_elided
from hlodiff.progress import progress
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.workflows.configuration import load_if_any
from hlodiff.workflows.sides import Pair, Side, compare_sides, open_sides, pair

if TYPE_CHECKING:
    from hlodiff.differ.passes.dumps import Dump
    from hlodiff.policy.findings import Finding
    from hlodiff.tracing.compare import TraceComparison
    from hlodiff.workflows.source_lines import SourceLines

PAGE = "diff.html"
"""The page file in the suggested next command."""

MOST_PROGRAMS = 20_000
"""The most programs that one `diff` compares: a report holds them all (1 GB if all differ); input may be untrusted."""

_WHOLE = "see whether the file is whole; `hlodiff diff --help` lists what can be read"


def diff_sides(
    old: str,
    new: str | None,
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    *,
    project: Path = Path(),
    verify: bool = False,
    everything: bool = False,
    passes: bool = False,
    modules: Sequence[str] = (),
) -> Report:
    """Compare the programs of two names; see `open_sides`.

    Args:
        old, new: a path, a revision, or a range where `new` is None.
        names, targets: patterns; all programs where empty.
        project: where to look for the configuration; two files need none.
        verify: whether to check that applying the edits gives the new program.
        everything: whether the report lists every change.
        passes: whether to report which XLA pass made programs differ; both sides must be folders with pass dumps.
        modules: regular expressions for modules of pass dumps; all if empty.

    Returns:
        the report.

    Raises:
        UsageError: a side cannot be compared, has no matching program, or has no pass dump.
        StoreError: a revision cannot be read.
    """
    config = load_if_any(project)
    dumps: tuple[dict[str, Dump], dict[str, Dump]] = {}, {}
    if passes:
        from hlodiff.workflows.passes import dump_sides, pass_dumps, with_passes  # all that captures programs

        dumps = pass_dumps(old, new, modules)
        sides = dump_sides(dumps, (old, new or ""))
    else:
        sides = open_sides(old, new, project)
    chosen = [one for one in pair(*sides, in_order=True) if _is_chosen(one, names, targets)]
    scenarios: tuple[TraceComparison, ...] = ()
    findings: tuple[Finding, ...] = ()
    if not targets and sides[0].tree is not None and sides[1].tree is not None:
        from hlodiff.policy.scenarios import judge_scenarios
        from hlodiff.workflows.scenarios import compared_trees  # imports all of capture, which two files do not need

        scenarios = compared_trees(sides[0].tree, sides[1].tree, names)
        findings = judge_scenarios(scenarios, command="diff", everything=everything)
    _check_sides(sides, chosen, bool(scenarios), bool(names or targets))
    limits = Limits(**dict(config.limits)) if config else DEFAULTS
    with progress(len(chosen), "comparing") as step:
        compared = compare_sides(
            *sides, limits, pairs=chosen, verify=verify, on_compared=lambda program: step(program.label, 1)
        )
    programs = tuple(replace(one, advice=one.advice or _WHOLE) if one.broken else one for one in compared.programs)
    if passes:
        programs = tuple(with_passes(one, dumps[0].get(one.name), dumps[1].get(one.name), limits) for one in programs)
    sources: SourceLines | None = None
    if config and (sides[0].tree is not None or sides[1].tree is not None):
        # Python source lines are known only for committed snapshots, not for plain files and other folders.
        from hlodiff.workflows.source_lines import of_trees

        sources = of_trees(config.root, config.snapshots, (sides[0].tree, sides[1].tree))
    return Report(
        "diff", sides[0].label, sides[1].label, programs,
        toolchain=toolchain_changes(compared.toolchains),
        notes=(*sides[0].notes, *sides[1].notes, *((*_unknown(programs), *_replayed(programs)) if verify else ())),
        root=str(config.root if config else project.absolute()),
        all=everything,
        findings=findings,
        scenarios=scenarios,
        threshold=config.relevance_threshold if config else 0.01,
        source_line=sources,
    )  # fmt: skip


def diff_exit_code(report: Report, fail_on_changes: bool) -> int:
    """2 if something could not be compared, 1 if anything differs and `fail_on_changes` is set, else 0.

    Example:
        >>> diff_exit_code(Report("diff", "a", "b", ()), True)
        0
    """
    if any(one.broken for one in report.programs) or any(one.status == "not_checked" for one in report.scenarios):
        return 2
    statuses = [*(one.status for one in report.programs), *(one.status for one in report.scenarios)]
    return int(fail_on_changes and any(status in ("changed", "added", "removed") for status in statuses))


def following_diff(programs: Sequence[ProgramComparison], typed: Sequence[str], form: str, brief: bool) -> str:
    """The next command after a diff: the complete list after a short one, or the page with both graphs.

    Args:
        programs: the compared programs.
        typed: the words of the command that compared them, without form, output and `--brief`.
        form: the requested form.
        brief: whether only verdicts were requested.

    Returns:
        the command; "" if nothing differs, something could not be judged, or the page was requested.

    Example:
        >>> changed = ProgramComparison("f", None, "compiled", "changed")
        >>> following_diff([changed], ["hlodiff", "diff", "old.hlo", "my new.hlo"], "text", False)
        "hlodiff diff old.hlo 'my new.hlo' --format html -o diff.html"
    """
    is_whole = not any(one.broken for one in programs)  # else the hint on the broken program comes first
    if form == "html" or not (is_whole and any(one.status == "changed" for one in programs)):
        return ""
    further = () if brief else ("--format", "html", "-o", PAGE)
    return shlex.join([*typed, *further])


def _is_chosen(one: Pair, names: Sequence[str], targets: Sequence[str]) -> bool:
    side = one[1] or one[0]
    assert side is not None
    name_fits = not names or any(fnmatchcase(side.name, name) for name in names)
    return name_fits and (not targets or any(fnmatchcase(side.target or "", target) for target in targets))


def _check_sides(sides: tuple[Side, Side], chosen: Sequence[Pair], has_scenarios: bool, has_patterns: bool) -> None:
    old, new = sides
    if not (old.programs or new.programs or has_scenarios):
        raise UsageError("; ".join(dict.fromkeys((*old.notes, *new.notes))) or "there is nothing to compare")
    if old.single != new.single and not any(before and after for before, after in chosen):
        counts = ("one program", "many") if old.single else ("many programs", "one")
        what = f"{old.label} is {counts[0]}, {new.label} is {counts[1]}, and none has its name"
        raise UsageError(what, hint="compare two files or two folders")
    if has_patterns and not chosen and not has_scenarios:
        raise UsageError("no program of these names and targets is on either side")
    if len(chosen) > MOST_PROGRAMS:
        what = f"these are {len(chosen):,} programs, and one report holds at most {MOST_PROGRAMS:,}"
        raise UsageError(what, hint="choose some of them: --name 'model*', --target cpu")


def _replayed(programs: Sequence[ProgramComparison]) -> list[str]:
    """One line for each verified stage; programs without edits share one line."""
    counts = {
        (one.name, one.target, one.stage): sum(
            edit.count for edits in (one.diff.edits, one.diff.schedule, one.diff.tuning) for edit in edits
        )
        for one in programs
        if one.replayed and one.diff
    }
    edited = {(name, target) for (name, target, _), count in counts.items() if count}
    words = []
    for program in programs:
        count = counts.get((program.name, program.target, program.stage))
        if count is None or (program.name, program.target) not in edited:
            continue
        many = f"the {count:,} edits turn" if count > 1 else "the 1 edit turns"
        what = f"{many} the old program into the new one" if count else "the same edge by edge"
        words.append(f"{program.label}, {program.stage}: replayed: {what}")
    same = len({(name, target) for name, target, _ in counts} - edited)
    programs_are = "1 program without edits is" if same == 1 else f"{same:,} programs without edits are"
    return [*words, *([f"replayed: {programs_are} the same edge by edge"] if same else [])]


def _unknown(programs: Sequence[ProgramComparison]) -> list[str]:
    """One line for each program that could not be verified because its constants have no values."""
    return [
        f"{one.label}, {one.stage}: {format_elided(one.diff.elided)}"
        for one in programs
        if one.diff and one.diff.elided and one.replayed is False and not one.diff.identical
    ]
