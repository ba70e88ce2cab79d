"""The command to type after a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlodiff.config import in_ci
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.policy import FAILED, PROGRAM_RULES, SCENARIO_RULES, UNJUDGED, Finding, exit_code, of_policy
from hlodiff.policy.growth import RULE as GROWTH_RULE
from hlodiff.snapshots import Key
from hlodiff.tracing.compare import TraceComparison
from hlodiff.workflows import scenarios as scenario_workflow


def following_all(
    programs: tuple[ProgramComparison, ...],
    findings: tuple[Finding, ...],
    scenarios: tuple[TraceComparison, ...],
    kept: Mapping[Key, str],
) -> str:
    """The command to type next, for programs, growth and scenarios; `kept` waits for `accept`."""
    plain = tuple(finding for finding in findings if finding.rule not in SCENARIO_RULES)
    both = [following(programs, exit_code(plain), plain), scenario_workflow.following(scenarios, kept)]
    commands = [command for command in both if command]
    if len(commands) < 2:
        return commands[0] if commands else ""
    for verb in ("hlodiff update", "hlodiff accept"):
        if all(command.startswith(verb) or command == "hlodiff review" for command in commands):
            return _joined(verb, commands)
    return commands[0]


def _joined(verb: str, commands: Sequence[str]) -> str:
    """Two commands as one: for few names by name."""
    if verb == "hlodiff update":
        return commands[0] if commands[0] == commands[1] == "hlodiff update --prune" else verb
    names = dict.fromkeys(name for command in commands for name in command.removeprefix(verb).split())
    return f"{verb} {' '.join(names)}" if len(names) <= 3 and "hlodiff review" not in commands else "hlodiff review"


def following(programs: tuple[ProgramComparison, ...], code: int, findings: Sequence[Finding] = ()) -> str:
    """The command to type next; "" where there is none."""
    if code == UNJUDGED:
        return _once_judged(programs, findings)
    if code == FAILED:
        return _once_failed(programs, findings)
    # What passes is no failure, and yet its snapshot is no longer what the function compiles to.
    names = list(dict.fromkeys(program.name for program in programs if program.id and not in_ci()))
    return f"hlodiff accept {' '.join(names)}" if 0 < len(names) <= 3 else "hlodiff review" if names else ""


def _once_judged(programs: tuple[ProgramComparison, ...], findings: Sequence[Finding]) -> str:
    broken = [program for program in programs if program.broken]
    stuck = [finding for finding in _further(findings) if finding.severity == "broken"]
    if stuck and not broken:
        once = "once it can be judged" if of_policy(stuck[0]) else "once it is repaired"
        return f"hlodiff check {stuck[0].program}, {once}"
    if not broken:
        return next((program.advice for program in programs if program.recorded and program.advice), "")
    advice = [program.advice for program in broken if program.advice.startswith("hlodiff ")]
    return _heal_all(advice, broken) if advice else f"hlodiff check {broken[0].name}, once it is repaired"


def _heal_all(advice: Sequence[str], broken: Sequence[ProgramComparison]) -> str:
    """One command for all that is broken, where recording it again repairs all of it, as after a merge."""
    if len(dict.fromkeys(advice)) == 1 or not all(one.advice.startswith("hlodiff update ") for one in broken):
        return advice[0]
    names = dict.fromkeys(one.name for one in broken)
    return f"hlodiff update {' '.join(names)}" if len(names) <= 3 else "hlodiff update"


def _once_failed(programs: tuple[ProgramComparison, ...], findings: Sequence[Finding]) -> str:
    further = _further(findings)
    differing = dict.fromkeys(p.name for p in programs if p.status in ("changed", "added"))
    grown = [f for f in further if f.rule == GROWTH_RULE and f.severity == "error"]
    acceptable = [f.program for f in grown if f.advice.startswith("hlodiff accept ")]
    differing |= dict.fromkeys(acceptable)
    # Accepting makes a program the recorded one, and does not bring it into its budgets.
    over = dict.fromkeys(f.program for f in findings if f.severity == "error" and of_policy(f))
    if over and differing.keys() <= over.keys():
        return f"hlodiff check {' '.join(list(over)[:3])}, once within limits"
    differing = {name: None for name in differing if name not in over}
    if not differing:
        advice = [f.advice for f in further if f.severity == "error" and f.advice.startswith("hlodiff ")]
        orphaned = any(program.status == "removed" for program in programs)
        return "hlodiff update --prune" if orphaned else next(iter(advice), "")
    names = " ".join(differing) if len(differing) <= 3 else ""
    # In CI the pending folder is on another machine than the reader of the log.
    if in_ci() or not all(p.id for p in programs if p.status in ("changed", "added")):
        return f"hlodiff update {names}".rstrip()
    if names:
        return f"hlodiff accept {names}"
    changed = [program for program in programs if program.status in ("changed", "added")]
    by_compiler = not acceptable and all(one.by_compiler for one in changed)
    return "hlodiff accept --class toolchain" if by_compiler else "hlodiff review"


def _further(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.rule not in PROGRAM_RULES]
