"""`hlodiff list`: registered functions and whether they are recorded; what this machine can compile for."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import click

from hlodiff import capture
from hlodiff.capture import Discovery, discover
from hlodiff.cli import options
from hlodiff.cli.output import emit, tell
from hlodiff.config import Config
from hlodiff.errors import ConfigError, UsageError
from hlodiff.report.lines import json_text, printable
from hlodiff.report.wording import many
from hlodiff.snapshots import FolderTree, Key, list_snapshots, stale_of
from hlodiff.workflows import load
from hlodiff.workflows.scenarios import scenario_states
from hlodiff.workflows.select import ChosenFunctions, choose


@click.command(
    "list",
    epilog="""\b
Examples:
  hlodiff list 'train*'
  hlodiff list --targets
""",
)
@options.names
@options.target
@click.option("--targets", "machine", is_flag=True, help="What this machine can compile for, and what is missing.")
@options.plain_form
@options.output
@options.timeout
@options.project
def command(
    names: tuple[str, ...], targets: tuple[str, ...], machine: bool, form: str, output: str | None, project: Path
) -> int:
    """Show registered functions, where they are registered, their targets, and whether they have snapshots.

    NAME is a function, a case or a pattern; all where none is given. Nothing is compiled.

    With --targets instead: what this machine can compile for; for the rest, why not and what to install. Compiling for
    an accelerator needs its package, but not the accelerator. No project is needed.
    """
    if machine:
        if names:
            raise UsageError("--targets is about this machine, not about functions", hint="hlodiff list --targets")
        emit(_targets_of_machine(targets, form, project), output)
        return 0
    config = load(project)
    discovery = discover(config)
    chosen = choose(config, discovery, names, targets)
    tree = FolderTree(config.snapshots)
    recorded = dict.fromkeys(list_snapshots(tree).keys)
    stale = dict.fromkeys(stale_of(tree, [key for key in chosen.registered if key in recorded]))
    rows = [(key, "stale" if key in stale else "recorded" if key in recorded else "new") for key in chosen.registered]
    rows += [(key, "orphaned") for key in chosen.orphaned]
    traces = scenario_states(config, chosen.scenarios)
    emit(_json(rows, discovery, traces) if form == "json" else _text(rows, discovery, chosen, traces), output)
    return 0


def _targets_of_machine(patterns: tuple[str, ...], form: str, project: Path) -> str:
    statuses = capture.targets(_config(project))
    found = [one for one in statuses if not patterns or any(fnmatchcase(one.name, pattern) for pattern in patterns)]
    if form == "json":
        rows = [{"name": s.name, "available": s.available, "reason": s.reason, "install": s.install} for s in found]
        return json_text({"format_version": "1.0", "targets": rows})
    wide = max((len(status.name) for status in found), default=0)
    lines = []
    for status in found:
        lines.append(f"{status.name:<{wide}}  {'yes' if status.available else 'no '}  {status.reason}")
        if status.install:
            lines.append(f"{'':<{wide}}       install: {status.install}")
    available = sum(status.available for status in found)
    lines.append(f"{available} of {len(found)} targets available; next: hlodiff list")
    return "".join(printable(line) + "\n" for line in lines)


def _config(project: Path) -> Config:
    """The project's configuration, or the defaults if there is none that can be read: targets depend on the machine."""
    try:
        return load(project)
    except ConfigError as error:
        if error.hint != "hlodiff init":  # a configuration exists, but has a mistake
            tell(f"note: {error}\nnote: so its targets and environment are not used here")
        return Config(root=project.absolute())


def _places(discovery: Discovery) -> dict[str, str]:
    return {found.name: f"{found.file}:{found.line}" for found in discovery.functions}


def _text(
    rows: list[tuple[Key, str]], discovery: Discovery, chosen: ChosenFunctions, traces: list[tuple[str, str, str]]
) -> str:
    places = _places(discovery)
    lines: list[str] = []
    for function in dict.fromkeys(key.function for key, _ in rows):
        lines.append(f"{function}  ({places.get(function, 'no longer registered')})")
        own = [(key, state) for key, state in rows if key.function == function]
        for case in dict.fromkeys(key.case for key, _ in own):
            states = [f"{key.target} {state}" for key, state in own if key.case == case]
            lines.append(f"  {case + ': ' if case else ''}{', '.join(states)}")
    lines += [f"{name}  ({place or 'no longer registered'})\n  scenario: {state}" for name, place, state in traces]
    problems = {found.name: found.problem for found in discovery.functions if found.problem}
    lines += [f"note: the cases of `{name}` cannot be listed: {problem}" for name, problem in problems.items()]
    lines += [
        f"note: `{found.name}{'/' if case else ''}{case}` cannot be captured: {what}"
        for found in discovery.functions
        for case, what in found.wrong
    ]
    lines += [f"note: {printable(folder)}: a summary.yaml, but no snapshot's place" for folder in chosen.strays]
    states = [*(state for _, state in rows), *(state for _, _, state in traces)]
    new, orphaned, stale = (states.count(state) for state in ("new", "orphaned", "stale"))
    following = "hlodiff update" if new or stale else "hlodiff update --prune" if orphaned else "hlodiff check"
    functions = many(len({key.function for key, _ in rows}), "function")
    functions += f", {many(len(traces), 'scenario')}" if traces else ""
    counts = [f"{len(states) - new - orphaned - stale} recorded", *([f"{new} new"] if new else [])]
    counts += [f"{stale} stale since a merge"] if stale else []
    counts += [f"{orphaned} orphaned"] if orphaned else []
    lines.append(f"{functions}, {', '.join(counts)}; next: {following}")
    return "".join(printable(line, lines=True) + "\n" for line in lines)


def _json(rows: list[tuple[Key, str]], discovery: Discovery, traces: list[tuple[str, str, str]]) -> str:
    places = _places(discovery)
    programs = [
        {
            "function": key.function,
            "case": key.case,
            "target": key.target,
            "snapshot": state,
            "registered_at": places.get(key.function),
        }
        for key, state in rows
    ]
    scenarios = [{"name": name, "record": state, "registered_at": place or None} for name, place, state in traces]
    return json_text({"format_version": "1.0", "programs": programs, "scenarios": scenarios})
