"""`hlodiff diff OLD NEW`: compare files, folders or git revisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit_report
from hlodiff.differ.comparison import ProgramComparison, with_compiler
from hlodiff.differ.elided_constants import in_words
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.errors import DiffError, UsageError, expected_error
from hlodiff.hlo.model import PROGRAM_NAMES, Module
from hlodiff.policy import judge_scenarios
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.snapshots import Tree
from hlodiff.tracing.compare import TraceComparison
from hlodiff.workflows.configuration import load_if_any
from hlodiff.workflows.progress import progress
from hlodiff.workflows.sides import Pair, Side, Sides, open_sides, pair

_BUG = "this is a bug in hlodiff: please report it with both programs, {old} and {new}"
Toolchain = Mapping[str, Any]
_WHOLE = "see whether the file is whole; `hlodiff diff --help` lists what can be read"


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("-n", "--name", "names", multiple=True, metavar="GLOB", help="Only programs of these names.")
@options.target
@options.form
@options.output
@options.detail
@click.option("--exit-code", is_flag=True, help="Exit 1 where the programs differ.")
@click.option("--verify", is_flag=True, help="Prove that the edits are all there is: carry them out and compare.")
@options.project
def command(
    old: str,
    new: str | None,
    names: tuple[str, ...],
    targets: tuple[str, ...],
    form: str,
    output: str | None,
    everything: bool,
    stacks: bool,
    exit_code: bool,
    verify: bool,
    project: Path,
) -> int:
    """Compare the programs of OLD with those of NEW.

    \b
    Each is one of
      a program file      old.hlo, dump.txt, program.mlir, module.pb
      a folder            of snapshots, of an XLA dump (--xla_dump_to), or of program files
      a git revision      main, HEAD~3, v1.2:snapshots
    or both together
      a range, as in git  main..HEAD, main...HEAD (since HEAD left main)
      a revision alone    main (against the snapshots as they are here)

    Programs in folders are paired by their relative names. Exits 0 whatever it finds (see --exit-code), and 2 where a
    program could not be read or the edits, carried out with --verify, do not give the new program.
    """
    config = load_if_any(project)  # two files can be compared anywhere
    limits = Limits(**dict(config.limits)) if config else DEFAULTS
    sides = open_sides(old, new, project)
    chosen = [one for one in pair(*sides) if _is_chosen(one, names, targets)]
    trees = sides[0].tree, sides[1].tree
    scenarios = _scenarios(*trees, names) if not targets else ()
    if not any(side.programs for side in sides) and not scenarios:
        raise UsageError("; ".join(dict.fromkeys((*sides[0].notes, *sides[1].notes))) or "there is nothing to compare")
    if sides[0].single != sides[1].single and not any(before and after for before, after in chosen):
        raise _one_with_many(*sides)
    if (names or targets) and not chosen and not scenarios:
        raise UsageError("no program of these names and targets is on either side")
    programs: list[ProgramComparison] = []
    with progress(len(chosen), "comparing") as step:
        for one in chosen:
            programs.append(_compare(one, verify, limits))
            step(programs[-1].label, 1)
    toolchains = _toolchains(chosen)
    upgraded = {label for label, (old_one, new_one) in toolchains.items() if old_one != new_one}
    programs = list(with_compiler(programs, lambda program: (program.name, program.target) in upgraded))
    report = Report(
        "diff", sides[0].label, sides[1].label, tuple(programs),
        toolchain=toolchain_changes([(target or "", *both) for (_, target), both in toolchains.items()]),
        notes=(*sides[0].notes, *sides[1].notes, *_unknown(programs), *_replayed(programs)),
        root=str(config.root if config else project.absolute()),
        all=everything,
        stacks=stacks,
        findings=judge_scenarios(scenarios, command="diff", everything=everything),
        scenarios=scenarios,
    )  # fmt: skip
    emit_report(report, form, output)
    return _verdict(programs, scenarios, exit_code)


def _one_with_many(old: Sides, new: Sides) -> UsageError:
    counts = ("one program", "many") if old.single else ("many programs", "one")
    what = f"{old.label} is {counts[0]}, {new.label} is {counts[1]}, and none has its name"
    return UsageError(what, hint="compare two files or two folders")


def _verdict(programs: Sequence[ProgramComparison], scenarios: Sequence[TraceComparison], exit_code: bool) -> int:
    if any(program.broken for program in programs) or any(one.status == "not_checked" for one in scenarios):
        return 2
    statuses = [*(program.status for program in programs), *(one.status for one in scenarios)]
    return int(exit_code and any(status in ("changed", "added", "removed") for status in statuses))


def _is_chosen(one: Pair, names: Sequence[str], targets: Sequence[str]) -> bool:
    side = one[1] or one[0]
    assert side is not None
    name_fits = not names or any(fnmatchcase(side.name, name) for name in names)
    return name_fits and (not targets or any(fnmatchcase(side.target or "", target) for target in targets))


def _compare(one: Pair, verify: bool, limits: Limits) -> ProgramComparison:
    old, new = one
    try:
        if old is not None and new is not None:
            compared = _compare_both(old, new, limits)
            return _verified(compared, old, new) if verify else compared
        side, status = (new, "added") if new is not None else (old, "removed")
        assert side is not None
        return _one_sided(side, status)
    except Exception as error:
        side, known = new or old, expected_error(error)
        assert side is not None
        reason = str(known)
        return ProgramComparison(
            side.name, side.target, side.stage, "not_checked", reason=reason, advice=known.hint or _WHOLE, broken=True
        )


def _verified(compared: ProgramComparison, old: Side, new: Side) -> ProgramComparison:
    """The same, once its edits were seen to turn the old program into the new one."""
    assert compared.diff is not None
    outcome = compared.diff.replay()
    if not outcome.missing:
        return replace(compared, replayed=outcome.complete)
    more = outcome.missing - len(outcome.failures)
    what = ["internal error: the edits do not turn the old program into the new one", *outcome.failures]
    return ProgramComparison(
        compared.name, compared.target, compared.stage, "not_checked", replayed=False, broken=True,
        reason="\n".join([*what, f"and {more} more"] if more else what),
        advice=_BUG.format(old=old.where, new=new.where),
    )  # fmt: skip


def _replayed(programs: Sequence[ProgramComparison]) -> list[str]:
    """One line for each stage that was proved, those of programs without any edit together."""
    counts = {(one.name, one.target, one.stage): _edits(one) for one in programs if one.replayed and one.diff}
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
    """One line for each program that looks the same, or was to be proved, and holds constants without their values."""
    return [
        f"{one.label}, {one.stage}: {in_words(one.diff.elided)}"
        for one in programs
        if one.diff and one.diff.elided and (one.diff.identical or one.replayed is False)
    ]


def _edits(program: ProgramComparison) -> int:
    channels = (program.diff.edits, program.diff.schedule, program.diff.tuning) if program.diff else ()
    return sum(edit.count for edits in channels for edit in edits)


def _one_sided(side: Side, status: str) -> ProgramComparison:
    from hlodiff.differ.metrics import op_counts

    module = side.load()
    counts = op_counts(module)
    return ProgramComparison(
        side.name, side.target, module.stage, "added" if status == "added" else "removed", op_counts=counts
    )


def _compare_both(old: Side, new: Side, limits: Limits) -> ProgramComparison:
    from hlodiff.differ import diff

    before, after = old.load(), new.load()
    if before.stage != after.stage:
        what = f"{old.where} is {PROGRAM_NAMES[before.stage]}, {new.where} is {PROGRAM_NAMES[after.stage]}"
        raise DiffError(what, hint="compare programs of the same stage")
    found = diff(before, after, limits=limits)
    status = "identical" if found.identical else "changed"
    facts = _facts(old, new, before, after)
    return ProgramComparison(
        new.name, new.target, after.stage, "changed" if status == "changed" else "identical", found, *facts
    )


def _facts(old: Side, new: Side, before: Module, after: Module) -> tuple[dict[str, float], dict[str, float]]:
    """Numbers beside the programs: from summaries, or what only raw text shows; the two do not mix."""
    if old.recorded != new.recorded:
        return {}, {}
    if old.recorded:
        return dict(old.facts()), dict(new.facts())
    from hlodiff.differ.metrics import raw_metrics

    return raw_metrics(before), raw_metrics(after)


def _scenarios(old: Tree | None, new: Tree | None, names: Sequence[str]) -> tuple[TraceComparison, ...]:
    if old is None or new is None:
        return ()
    from hlodiff.workflows.scenarios import compared_trees  # all that captures programs: two files need none of it

    return compared_trees(old, new, names)


def _toolchains(chosen: Sequence[Pair]) -> dict[tuple[str, str | None], tuple[Toolchain, Toolchain]]:
    """What made both sides of each program, where that is known and both are of one target."""
    return {
        (new.name, new.target): (old.toolchain, new.toolchain)
        for old, new in chosen
        if old and new and old.target == new.target and old.toolchain is not None and new.toolchain is not None
    }
