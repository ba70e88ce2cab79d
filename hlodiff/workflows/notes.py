"""Notes that `check` adds to its report: what it skipped, what was probably renamed, which patterns match nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from hlodiff.capture import Discovery
from hlodiff.config import TABLE, Config, closest
from hlodiff.differ.comparison import ProgramComparison, Status
from hlodiff.hlo.fingerprint import program_fingerprint
from hlodiff.report.wording import format_command, many
from hlodiff.snapshots import Key
from hlodiff.workflows.select import ChosenFunctions

_MOST_NAMES = 3


def skipped_notes(uncompiled: Sequence[Key], discovery: Discovery, chosen: ChosenFunctions) -> tuple[str, ...]:
    """Report notes on what a run skipped because it only lowers.

    Args:
        uncompiled: programs whose compiled HLO was not compared.
        discovery: what is registered.
        chosen: the programs of the run.

    Returns:
        one note for compiled programs and one for scenarios and cases that would have to run; () if nothing was
        skipped.
    """
    notes = []
    if uncompiled:
        named = _listed([f"{key.name} on {key.target}" for key in uncompiled])
        notes.append(f"compiled HLO was not looked at: {named}; `hlodiff check` without --stage compiles")
    functions = {key.function for key in chosen.registered}
    run = [f"scenario {found.name}" for found in chosen.scenarios.registered]
    run += [f"parity of {found.name}" for found in discovery.functions if found.parity and found.name in functions]
    if run:
        notes.append(f"not run, so not looked at: {_listed(run)}; `hlodiff check` without --stage runs them")
    return tuple(notes)


def as_before_notes(skipped: int, all_of_them: int) -> tuple[str, ...]:
    """Report note on programs that were not lowered again.

    Example:
        >>> as_before_notes(2, 3)[0][:44]
        '2 of 3 programs were not lowered again: noth'
    """
    if not skipped:
        return ()
    were, it = ("was", "it") if skipped == 1 else ("were", "them")
    what = f"{skipped:,} of {many(all_of_them, 'program')} {were} not lowered again"
    return (f"{what}: nothing that was read for {it} has changed since (--fresh lowers all)",)


def outdated_notes(keys: Sequence[Key]) -> tuple[str, ...]:
    """Report note on equal programs whose recorded arguments or results have other paths or donations.

    Example:
        >>> outdated_notes([Key("f", "", "cpu")])[0].partition(": ")[2]
        'f on cpu; `hlodiff update f` records them'
    """
    if not keys:
        return ()
    named = _listed([f"{key.name} on {key.target}" for key in keys])
    command = format_command("hlodiff update", dict.fromkeys(key.name for key in keys))
    return (f"same program, other paths or donations of arguments or results: {named}; `{command}` records them",)


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more])


_Label = tuple[str, str | None]


def renamed(programs: Iterable[ProgramComparison], *, recorded: bool = True) -> tuple[str, ...]:
    """Report notes on new programs that equal orphaned ones.

    Args:
        programs: programs of a check.
        recorded: whether the old ones are snapshots, so that a command can move them.

    Returns:
        a note for each pair of names; if there are snapshots, with the command that records the new one and deletes the
        old one.

    Example:
        >>> renamed([ProgramComparison("f", "cpu", "compiled", "added")])
        ()
    """
    programs = tuple(programs)
    removed, added = _contents(programs, "removed"), _contents(programs, "added")
    pairs: dict[tuple[str, str], None] = {}
    for (name, target), stages in added.items():
        # A program that was only lowered has no compiled stage.
        olds = [old for (old, on), known in removed.items() if on == target and known.items() >= stages.items()]
        if len(olds) == 1:
            pairs[olds[0], name] = None
    return tuple(
        f"{old} was probably renamed to {new} (identical program)"
        + (f"; to move its snapshot: `hlodiff update --prune {new} {old}`" if recorded else "")
        for old, new in pairs
    )


def _contents(programs: Iterable[ProgramComparison], status: Status) -> dict[_Label, dict[str, str]]:
    """The fingerprint of each program by stage; it ignores instruction names."""
    contents: dict[_Label, dict[str, str]] = {}
    for one in programs:
        if one.status == status and one.module is not None:
            contents.setdefault((one.name, one.target), {})[one.stage] = program_fingerprint(one.module)
    return contents


_Patterns = tuple[str, ...]


def idle_patterns(config: Config, discovery: Discovery) -> tuple[str, ...]:
    """Report notes on patterns that match no registered function or target.

    Args:
        config: the configuration without the budgets of registered functions.
        discovery: everything that is registered.

    Returns:
        a note for each such pattern; () if cases are unknown, because patterns may match them.

    Example:
        >>> from pathlib import Path
        >>> idle_patterns(Config(Path(".")), Discovery(()))
        ()
    """
    if any(found.problem for found in discovery.functions):
        return ()
    requests = discovery.requests()
    names = dict.fromkeys(
        name for one in requests for name in (one.function, f"{one.function}/{one.case}" if one.case else one.function)
    )
    targets = dict.fromkeys(one.target for one in requests)
    notes: dict[str, None] = {}
    for table, functions, on in _tables(config):
        for word, patterns, known in (("function", functions, names), ("target", on, targets)):
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) for name in known):
                    near = closest(pattern, known)
                    hint = f", did you mean `{near}`?" if near else ""
                    notes[f"[{TABLE}] {table}: no {word} fits `{pattern}`{hint}"] = None
    return tuple(notes)


def _tables(config: Config) -> Iterator[tuple[str, _Patterns, _Patterns]]:
    for number, table in enumerate(config.changes, 1):
        yield f"changes {number}", table.functions, table.targets
    for number, budget in enumerate(config.budgets, 1):
        yield f"budgets {number}", budget.functions, budget.targets
    for use in config.rules:
        yield f"rules.{use.rule}", use.functions, use.targets
