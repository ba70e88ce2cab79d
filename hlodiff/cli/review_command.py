"""`hlodiff review`: walk through what an earlier `check` captured, and decide one function after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.accepting import Decision, accept, accept_record, decisions_text, find, reject
from hlodiff.cli.deciding import Wish, classes_of_program
from hlodiff.cli.leaving import FOLDER, pending_folder
from hlodiff.cli.output import color, near, width
from hlodiff.cli.waiting import Waiting, base_of, compared, kind_of_program, list_waiting, standing
from hlodiff.cli.waiting_records import WaitingRecord, base_record, standing_record, told_record
from hlodiff.config import Config, load
from hlodiff.diff.compared import Compared
from hlodiff.errors import UsageError
from hlodiff.report.escape import printable
from hlodiff.report.numbers import many
from hlodiff.report.record import Report, toolchain_changes
from hlodiff.report.terminal import to_terminal
from hlodiff.store import Key, writing

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
@options.ci_write
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    patterns: tuple[str, ...],
    classes: tuple[str, ...],
    folder: Path | None,
    ci_write: bool,
    project: Path,
) -> int:
    """Walk through what `hlodiff check` captured, in a terminal.

    Each function is shown with the report of all its targets; one key decides: a accept, r reject, s skip, m show more,
    q quit. What was decided before leaving stays decided. Without a terminal, `hlodiff accept` and `hlodiff reject` do
    the same.
    """
    options.refuse_in_ci(ci_write, "review")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        hint = "hlodiff accept NAME, or hlodiff reject NAME; `hlodiff check` prints the report"
        raise UsageError("review asks for keys, and this is no terminal", hint=hint)
    config = load(project)
    inner = folder / FOLDER if folder else None
    root = pending_folder(config, inner if inner and inner.is_dir() else folder)
    wish = Wish(words, targets, patterns, classes)
    found = find(config, root, wish or Wish(everything=True))
    review = _Review(config, root, folder is not None)
    review.walk(found.programs, found.records)
    decisions = [*review.decisions, *found.broken, *found.left]
    accepted = any(one.status == "accepted" for one in decisions)
    following = f"git add {near(config.snapshots)}" if accepted else "hlodiff check"
    remaining = 0 if folder else len(list_waiting(root))
    click.echo("\n" + decisions_text(decisions, remaining, following), nl=False)
    return 2 if any(one.status == "refused" for one in decisions) else 0


@dataclass(slots=True)
class _Review:
    """A walk through pending programs, name by name.

    Args:
        config: the project's.
        root: the folder they lie in.
        foreign: whether that folder is another machine's, from which nothing is deleted.
        decisions: what was decided so far.
    """

    config: Config
    root: Path
    foreign: bool
    decisions: list[Decision] = field(default_factory=list)

    def walk(self, programs: Sequence[Waiting], records: Sequence[WaitingRecord]) -> None:
        """Show one name after the other until there are no more or somebody leaves."""
        names: dict[str, list[Waiting]] = {}
        for one in programs:
            # Nobody has to look at programs that are the same: they are told last, all together.
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

    def decide(self, head: str, name: str, group: Sequence[Waiting]) -> bool:
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

    def decide_record(self, head: str, one: WaitingRecord) -> bool:
        """Show traces or growth and do what is asked for; False where somebody leaves."""
        base = base_record(self.config, one.key)
        if standing_record(one, base) != "ready":
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

    def _reject(self, meant: Iterable[tuple[Key, str]]) -> None:
        """Another machine's folder stays as it is."""
        self.decisions += [
            Decision(key, "rejected", (), own) if self.foreign else reject(key, self.root, own) for key, own in meant
        ]

    def _accept_record(self, one: WaitingRecord) -> None:
        with writing(near(self.config.snapshots)):
            self.decisions.append(accept_record(self.config, one, pending_folder(self.config)))

    def _accept(self, group: Sequence[Waiting]) -> None:
        with writing(near(self.config.snapshots)):
            self.decisions += [accept(self.config, one, pending_folder(self.config)) for one in group]

    def _ready(self, group: Sequence[Waiting]) -> list[Waiting]:
        """Those that may be accepted; of the others it is said why not."""
        ready = []
        for one in group:
            if standing(one, base_of(self.config, one.key)) == "ready":
                ready.append(one)
            else:
                self._accept([one])  # settles what is recorded already, refuses what is stale
        return ready

    def _looked_at(self, group: Sequence[Waiting]) -> Report:
        programs: list[Compared] = []
        toolchains: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = []
        for one in group:
            base = base_of(self.config, one.key)
            programs += compared(self.config, one, base)
            before = _toolchain(base.stored.snapshot.summary) if base.stored else {}
            toolchains.append((one.key.target, before, _toolchain(one.pending.snapshot.summary)))
        return Report(
            command="check",
            old=str(near(self.config.snapshots)),
            new=str(near(self.root)),
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


def _record_text(one: WaitingRecord, old: str | None, everything: bool = False) -> str:
    """What changed in traces or growth, as `check` said it."""
    told = told_record(one.key, old, one.pending.text, everything)
    lines = [f"{one.key.name}  {one.key.target} ({one.id}): {told.headline}", *(f"  {line}" for line in told.details)]
    return "".join(printable(line) + "\n" for line in lines)


def _text(report: Report) -> str:
    return to_terminal(report, width=width(), color=color(), footer=False)


def _same(group: Sequence[Waiting]) -> str:
    are = "is the same program" if len(group) == 1 else "are the same programs"
    names = ", ".join(dict.fromkeys(one.key.name for one in group))
    return printable(f"{many(len(group), 'program')} {are}, with another toolchain or figures: {names}") + "\n"


def _toolchain(summary: Mapping[str, object]) -> Mapping[str, object]:
    table = summary.get("toolchain")
    return table if isinstance(table, Mapping) else {}


def _title(name: str, programs: Sequence[Compared]) -> str:
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
