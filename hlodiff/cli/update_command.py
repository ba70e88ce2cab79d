"""`hlodiff update`: compile registered functions and write what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import click

from hlodiff.capture import Captured, NotChecked, Outcome, discover, one_worker_for_both
from hlodiff.cli import options
from hlodiff.cli.capturing import captured
from hlodiff.cli.growth_checking import update_growth
from hlodiff.cli.leaving import Leaving, pending_folder
from hlodiff.cli.output import emit, near, tell
from hlodiff.cli.recording import Stored, compare, parse, record
from hlodiff.cli.registered import Chosen, choose, load_stored, requests_for
from hlodiff.cli.scenario_runs import update_scenarios
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config, load
from hlodiff.diff.limits import Limits
from hlodiff.errors import HlodiffError, StoreError
from hlodiff.report.escape import json_text, printable
from hlodiff.report.headline import headline
from hlodiff.report.numbers import many
from hlodiff.store import FutureFormatError, Key, StaleError, remove_snapshot, write_snapshot, writing

_RECORDED = ("new", "changed", "repaired", "healed", "facts")
_STATUSES = (*_RECORDED, "unchanged", "orphaned", "deleted", "not checked", "failed")


@click.command("update")
@options.names
@options.target
@click.option("--prune", is_flag=True, help="Delete snapshots of functions that are registered no more.")
@options.plain_form
@options.output
@options.ci_write
@options.jobs
@options.project
@one_worker_for_both()
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    prune: bool,
    form: str,
    output: str | None,
    ci_write: bool,
    jobs: int | None,
    project: Path,
) -> int:
    """Compile registered functions and record those whose program changed.

    NAME is a function, a case (`function/case`) or a pattern (`train*`); all functions where none is given. A snapshot
    whose program is the same is not touched. A program that cannot be compiled here keeps the snapshot it has. In CI
    (the variable CI is set) nothing is written unless --ci-write is given.
    """
    options.refuse_in_ci(ci_write, "update")
    config = load(project)
    with writing(near(config.snapshots)):
        discovery = discover(config)
        chosen = choose(config, discovery, names, targets)
        run = _Run(config, Leaving(pending_folder(config), config.max_file_bytes))
        try:
            run.update_all(chosen, jobs)
            run.orphans(chosen, prune)
            run.scenarios(chosen, jobs, prune)
            growth = update_growth(config, discovery, chosen, names, jobs, prune)
            run.settled(Key(row.key.function, row.key.case, "growth") for row in growth if row.status != "not checked")
            run.settled(row.key for row in run.traces)
        except KeyboardInterrupt:
            done = sum(row.status in _RECORDED for row in run.rows.values())
            tell(f"{many(done, 'program')} recorded; `hlodiff update` goes on with the others")
            raise
    rows = [run.rows[key] for key in (*chosen.registered, *chosen.orphaned) if key in run.rows]
    rows += [*(_Row(row.key, row.status, row.what, row.log) for row in growth), *run.traces]
    text = "".join(line + "\n" for line in _text(rows, chosen.notes(), config))
    emit(_json(rows) if form == "json" else text, output)
    return 2 if any(row.status == "failed" for row in rows) else 0


@dataclass(frozen=True, slots=True)
class _Row:
    """What became of one program."""

    key: Key
    status: str
    what: tuple[str, ...] = ()
    log: str = ""


@dataclass(slots=True)
class _Run:
    """What has been done so far."""

    config: Config
    leaving: Leaving
    rows: dict[Key, _Row] = field(default_factory=dict)
    traces: list[_Row] = field(default_factory=list)

    def update_all(self, chosen: Chosen, jobs: int | None) -> None:
        stored, broken = load_stored(self.config, chosen.registered)
        for key, error in broken.items():
            if isinstance(error, FutureFormatError):
                self.rows[key] = _Row(key, "failed", tuple(str(error).split("\n")))
        wanted = [key for key in chosen.registered if key not in self.rows]
        with closing(captured(self.config, requests_for(wanted, stored), jobs)) as outcomes:
            for key, outcome in outcomes:
                row = self.update_one(key, outcome, stored.get(key), broken.get(key))
                self.rows[key] = row
                if row.status != "not checked":  # whatever an earlier check has left is settled, or not what it is now
                    self.leaving.forget(key)

    def update_one(self, key: Key, outcome: Outcome, old: Stored | None, broken: HlodiffError | None) -> _Row:
        if isinstance(outcome, NotChecked):
            advice = (f"hint: {outcome.advice}",) if outcome.advice else ()
            return _Row(key, "not checked", (outcome.reason, *advice))
        if not isinstance(outcome, Captured):
            return _Row(key, "failed", (outcome.what,), outcome.log_tail)
        if outcome.unchanged:
            return _Row(key, "unchanged")
        try:
            snapshot = record(outcome, str(self.config.root), self.config.large_constants)
            written = write_snapshot(near(self.config.snapshots), snapshot, self.config.max_file_bytes)
            if not written:
                return _Row(key, "unchanged")
            if old is None:
                return _Row(key, "healed" if isinstance(broken, StaleError) else "repaired" if broken else "new")
            return _difference(key, old, parse(snapshot, key.name), Limits(**dict(self.config.limits)))
        except StoreError:
            raise  # nothing can be written: the next program would only say so again
        except Exception as error:
            return _Row(key, "failed", tuple(str(foreseen(error)).split("\n")))

    def orphans(self, chosen: Chosen, prune: bool) -> None:
        for key in chosen.orphaned:
            if prune:
                remove_snapshot(self.config.snapshots, key)
            self.rows[key] = _Row(key, "deleted" if prune else "orphaned")

    def scenarios(self, chosen: Chosen, jobs: int | None, prune: bool) -> None:
        """Run scenarios; in a row `traces` stands in the place of the target."""
        for one in update_scenarios(self.config, chosen.scenarios, jobs, prune):
            self.traces.append(_Row(Key(one.name, "", "traces"), one.status, one.what, one.log))

    def settled(self, keys: Iterable[Key]) -> None:
        """What an earlier check has left of these traces and this growth is recorded, or not what it is now."""
        for key in keys:
            self.leaving.forget_record(key)


def _difference(key: Key, old: Stored, new: Stored, limits: Limits) -> _Row:
    if (old.snapshot.stablehlo, old.snapshot.compiled) == (new.snapshot.stablehlo, new.snapshot.compiled):
        return _Row(key, "facts")
    words = {"stablehlo": "StableHLO", "compiled": "compiled"}
    return _Row(key, "changed", tuple(f"{words[p.stage]}: {headline(p)}" for p in compare(old, new, limits)))


def _text(rows: list[_Row], notes: tuple[str, ...], config: Config) -> Iterator[str]:
    wide = max((len(f"{row.key.name}  {row.key.target}") for row in rows), default=0)
    same: dict[tuple[str, ...], list[_Row]] = {}
    failed: dict[tuple[str, ...], list[_Row]] = {}
    for row in rows:
        if row.status == "not checked":
            same.setdefault(row.what, []).append(row)
        elif row.status == "failed":
            failed.setdefault(row.what, []).append(row)
        elif row.status != "unchanged":
            yield from _told([row], wide)
    for group in failed.values():
        yield from _told(group, wide)
    for reason, group in same.items():
        more = f" and {len(group) - 3} more" if len(group) > 3 else ""
        yield f"not checked: {', '.join(f'{row.key.name} on {row.key.target}' for row in group[:3])}{more}"
        yield from (f"  {printable(line)}" for part in reason for line in part.split("\n"))
    yield from (f"note: {printable(note)}" for note in notes)
    yield _totals(rows, config)


def _told(rows: Sequence[_Row], wide: int) -> Iterator[str]:
    """Programs of which the same is to be said, with the log of the first."""
    row = rows[0]
    words = {
        "facts": "same program, other toolchain or figures",
        "repaired": "recorded anew: the old one was broken",
        "healed": "recorded anew: a merge had left it stale",
    }
    for one in rows:
        yield f"{f'{one.key.name}  {one.key.target}':<{wide}}  {words.get(one.status, one.status)}"
    yield from (f"  {printable(line)}" for line in row.what)
    yield from (f"    | {printable(line)}" for line in row.log.rstrip().split("\n")[-12:] if row.log)


def _totals(rows: list[_Row], config: Config) -> str:
    counts = [(status, sum(row.status == status for row in rows)) for status in _STATUSES]
    words = {"facts": "with new facts only", "healed": "recorded anew"}
    said = ", ".join(f"{count} {words.get(status, status)}" for status, count in counts if count)
    recorded = any(count for status, count in counts if status in (*_RECORDED, "deleted"))
    failed = dict.fromkeys(row.key.name for row in rows if row.status == "failed")
    if failed:
        following = f"hlodiff update {' '.join(failed) if len(failed) <= 3 else ''}".rstrip() + ", once it is repaired"
    elif any(row.status == "orphaned" for row in rows):
        following = "hlodiff update --prune"
    else:
        following = f"git add {near(config.snapshots)}" if recorded else "hlodiff check"
    return f"{said or 'nothing is registered'}; next: {following}"


def _json(rows: list[_Row]) -> str:
    programs = [
        {"name": row.key.name, "target": row.key.target, "status": row.status.replace(" ", "_"), "what": list(row.what)}
        for row in rows
    ]
    totals = {status.replace(" ", "_"): sum(row.status == status for row in rows) for status in _STATUSES}
    return json_text({"format_version": "1.0", "programs": programs, "totals": totals})
