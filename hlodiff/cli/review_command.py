"""`hlodiff review`: walk through what an earlier `check` captured, and decide one function after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import color, width
from hlodiff.config import Config, shown_path
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import UsageError
from hlodiff.report.lines import printable
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.report.text import to_terminal
from hlodiff.report.wording import many
from hlodiff.snapshots import Key, writing
from hlodiff.workflows.accept import (
    Decision,
    Selection,
    accept_program,
    accept_record,
    classes_of_program,
    decisions_text,
    find,
    pending_folder_of,
    reject,
)
from hlodiff.workflows.ci import refuse_in_ci
from hlodiff.workflows.configuration import load
from hlodiff.workflows.pending import (
    PendingProgram,
    base_of,
    compare_pending,
    kind_of_program,
    list_pending,
    pending_folder,
    standing,
)
from hlodiff.workflows.pending_records import PendingRecordView, base_record, record_summary, standing_record
from hlodiff.workflows.staleness import Freshness

_KEYS = "a accept   r reject   s skip   m show more   q quit"
_QUIT = ("q", "\x04", "")  # Ctrl-D; Ctrl-C interrupts as everywhere


@click.command("review")
@options.pending_words
@options.target
@options.pattern
@options.change_class
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Look at what another machine captured, as CI did.",
)
@options.any_age
@options.ci_write
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    patterns: tuple[str, ...],
    classes: tuple[str, ...],
    folder: Path | None,
    any_age: bool,
    ci_write: bool,
    project: Path,
) -> int:
    """Walk through what `hlodiff check` captured, in a terminal.

    Each function is shown with the report of all its targets; one key decides: a accept, r reject, s skip, m show more,
    q quit. What was decided before leaving stays decided. Without a terminal, `hlodiff accept` and `hlodiff reject` do
    the same.
    """
    refuse_in_ci(ci_write, "review")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        hint = "hlodiff accept NAME, or hlodiff reject NAME; `hlodiff check` prints the report"
        raise UsageError("review asks for keys, and this is no terminal", hint=hint)
    config = load(project)
    root = pending_folder_of(config, folder)
    selection = Selection(words, targets, patterns, classes)
    found = find(config, root, selection or Selection(everything=True))
    review = _Review(config, root, Freshness(config, folder is not None, any_age))
    review.walk(found.programs, found.records)
    decisions = [*review.decisions, *found.broken, *found.left]
    accepted = any(one.status == "accepted" for one in decisions)
    following = f"git add {shown_path(config.snapshots)}" if accepted else "hlodiff check"
    remaining = 0 if folder else len(list_pending(root))
    click.echo("\n" + decisions_text(decisions, remaining, following), nl=False)
    return 2 if any(one.status == "refused" for one in decisions) else 0


@dataclass(slots=True)
class _Review:
    """A walk through pending programs, name by name.

    Args:
        config: the project's.
        root: the folder they lie in.
        freshness: knows what has changed since, and whether that folder is another machine's, from which nothing goes.
        decisions: what was decided so far.
    """

    config: Config
    root: Path
    freshness: Freshness
    decisions: list[Decision] = field(default_factory=list)

    def walk(self, programs: Sequence[PendingProgram], records: Sequence[PendingRecordView]) -> None:
        """Show one name after the other until the last one, or until somebody leaves."""
        names: dict[str, list[PendingProgram]] = {}
        for one in programs:
            # Programs that are the same need no look: they are listed last, all together.
            claimed = one.pending.kind == "facts"
            same_program = claimed and kind_of_program(self.config, one, base_of(self.config, one.key)) == "facts"
            names.setdefault("" if same_program else one.key.name, []).append(one)
        same = names.pop("", [])
        groups = [*names.items(), *([("", same)] if same else [])]
        last = len(groups) + len(records)
        for number, (name, group) in enumerate(groups, 1):
            if not self.decide(f"[{number}/{last}]", name, group):
                return
        for number, record in enumerate(records, len(groups) + 1):
            if not self.decide_record(f"[{number}/{last}]", record):
                return

    def decide(self, head: str, name: str, group: Sequence[PendingProgram]) -> bool:
        """Show one name and do what is asked for; False where somebody leaves."""
        ready = self._ready(group)
        if not ready:
            return True
        shown = self._looked_at(ready) if name else None
        click.echo(f"\n{head} {_text(shown) if shown else _same(ready)}", nl=False)
        more = _text(replace(shown, all=True, stacks=True)) if shown else ""
        key = _asked(_title(name, shown.programs) if shown else "all of them", more)
        if key == "a":
            self._accept(ready)
        elif key == "r":
            self._reject((one.key, one.id) for one in ready)
        return key not in _QUIT

    def decide_record(self, head: str, one: PendingRecordView) -> bool:
        """Show traces or growth and do what is asked for; False where somebody leaves."""
        base = base_record(self.config, one.key)
        if standing_record(one, base) != "ready" or self.freshness.refusal(one.key, one.pending.origin):
            self._accept_record(one)  # settles what is recorded already, refuses what is stale
            return True
        click.echo(f"\n{head} {_record_text(one, base.text)}", nl=False)
        title = printable(f"{one.key.name} ({one.key.target})")
        key = _asked(title, _record_text(one, base.text, everything=True))
        if key == "a":
            self._accept_record(one)
        elif key == "r":
            self._reject([(one.key, one.id)])
        return key not in _QUIT

    def _reject(self, selected: Iterable[tuple[Key, str]]) -> None:
        """Another machine's folder stays as it is."""
        self.decisions += [
            Decision(key, "rejected", (), own) if self.freshness.foreign else reject(key, self.root, own)
            for key, own in selected
        ]

    def _accept_record(self, one: PendingRecordView) -> None:
        with writing(shown_path(self.config.snapshots)):
            self.decisions.append(accept_record(self.config, one, pending_folder(self.config), self.freshness))

    def _accept(self, group: Sequence[PendingProgram]) -> None:
        with writing(shown_path(self.config.snapshots)):
            own = pending_folder(self.config)
            self.decisions += [accept_program(self.config, one, own, self.freshness) for one in group]

    def _ready(self, group: Sequence[PendingProgram]) -> list[PendingProgram]:
        """Those that may be accepted; the others are settled or refused with the reason."""
        ready = []
        for one in group:
            changes = self.freshness.refusal(one.key, one.pending.origin)
            if not changes and standing(one, base_of(self.config, one.key)) == "ready":
                ready.append(one)
            else:
                self._accept([one])  # settles what is recorded already, refuses what is stale
        return ready

    def _looked_at(self, group: Sequence[PendingProgram]) -> Report:
        programs: list[ProgramComparison] = []
        toolchains: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = []
        for one in group:
            base = base_of(self.config, one.key)
            programs += compare_pending(self.config, one, base)
            before = _toolchain(base.stored.snapshot.summary) if base.stored else {}
            toolchains.append((one.key.target, before, _toolchain(one.pending.snapshot.summary)))
        return Report(
            command="check",
            old=str(shown_path(self.config.snapshots)),
            new=str(shown_path(self.root)),
            programs=tuple(programs),
            toolchain=toolchain_changes([each for each in toolchains if each[1]]),
            root=str(self.config.root),
        )


def _asked(title: str, more: str) -> str:
    """The key that decides; `m` shows more and asks again."""
    while True:
        click.echo(f"{title}: {_KEYS} ", nl=False)
        key = _key()
        click.echo(key if key.isprintable() else "")
        if key in ("a", "r", "s", *_QUIT):
            return key
        if key == "m" and more:
            click.echo("\n" + more, nl=False)


def _record_text(one: PendingRecordView, old: str | None, everything: bool = False) -> str:
    """What changed in traces or growth, as `check` shows it."""
    summary = record_summary(one.key, old, one.pending.text, everything)
    lines = [
        f"{one.key.name}  {one.key.target} ({one.id}): {summary.headline}",
        *(f"  {line}" for line in summary.details),
    ]
    return "".join(printable(line) + "\n" for line in lines)


def _text(report: Report) -> str:
    return to_terminal(report, width=width(), color=color(), footer=False)


def _same(group: Sequence[PendingProgram]) -> str:
    are = "is the same program" if len(group) == 1 else "are the same programs"
    names = ", ".join(dict.fromkeys(one.key.name for one in group))
    return printable(f"{many(len(group), 'program')} {are}, with another toolchain or figures: {names}") + "\n"


def _toolchain(summary: Mapping[str, object]) -> Mapping[str, object]:
    table = summary.get("toolchain")
    return table if isinstance(table, Mapping) else {}


def _title(name: str, programs: Sequence[ProgramComparison]) -> str:
    """The name and the classes of its change on all targets: `train_step (structure, cost)`."""
    found: dict[str, None] = {}
    for target in dict.fromkeys(program.target for program in programs):
        own = [program for program in programs if program.target == target]
        found |= dict.fromkeys(classes_of_program(own) or ("new",))
    return printable(f"{name} ({', '.join(found)})")


def _key() -> str:
    """One key, in lower case; "" where there will be no more."""
    try:
        return click.getchar().lower()
    except EOFError:
        return ""
