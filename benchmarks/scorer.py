"""Scores the differ on known edits: `python -m benchmarks.scorer --seed 0 --pairs 465`.

Both sides of a pair are parsed from printed text, so the differ never sees shared objects. The same seed gives the same
pairs and the same table.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.edits import EDITS, kinds
from benchmarks.noise import Noise, random_noise
from benchmarks.pairs import Pair, make_pair
from benchmarks.programs import ROOT, TARGETS, Program, corpus, snapshots
from benchmarks.verdict import Score, judge
from hlodiff.differ import diff
from hlodiff.hlo.fingerprint import program_fingerprint
from hlodiff.normalizer import normalize

FAILURES = ROOT / ".hlodiff" / "bench-failures"
# Programs of the corpus that are too large for hundreds of pairs; used only if named.
_BIG = 1_500_000


@dataclass(frozen=True, slots=True)
class Result:
    """The result for one pair; `score` is None if the differ crashed, and `why` is the error.

    `unproved` is the reason why applying the edits does not give the new program: "" if it does, None if not checked.
    """

    program: Program
    kind: str
    seed: str
    score: Score | None
    why: str
    seconds: float
    unproved: str | None = None


def run(
    programs: Sequence[Program],
    wanted: Sequence[str],
    pairs: int,
    seed: int,
    at_once: int = 1,
    noise: Noise | None = None,
    failures: Path | None = FAILURES,
    prove: bool = False,
) -> Iterator[Result]:
    """Make pairs and score them, kinds and programs in turn.

    Args:
        programs: the programs to edit.
        wanted: kinds of edits, or "noise", or "several".
        pairs: the number of pairs.
        seed: of all random choices.
        at_once: the number of edits for "several".
        noise: the noise of all pairs; None for random noise.
        failures: the folder for pairs that are not exact or do not replay; None for none.
        prove: replay every diff.

    Yields:
        One Result for each pair. Kinds for which a program has no place are skipped.
    """
    rounds = 0
    made = 0
    while made < pairs:
        before = made
        for index in range(len(programs) * len(wanted)):
            # Consecutive kinds use different programs, so that a short run covers many of both.
            turn, number = divmod(index, len(wanted))
            kind, program = wanted[number], programs[(number + turn) % len(programs)]
            name = f"{seed}/{program.target}/{program.name}/{program.stage}/{kind}/{at_once}/{rounds}"
            result = _one(program, kind, name, at_once, noise, failures, prove)
            if result is None:
                continue
            yield result
            made += 1
            if made == pairs:
                return
        rounds += 1
        if made == before:
            return


def _one(
    program: Program, kind: str, name: str, at_once: int, noise: Noise | None, failures: Path | None, prove: bool
) -> Result | None:
    if kind not in ("noise", "several") and kind not in kinds(program.stage):
        return None
    chance = Random(name)
    used = noise or random_noise(chance, schedule=chance.random() < 0.3)
    if kind == "control-edge":
        used = replace(used, schedule=False)
    pair = make_pair(program.text(), kind, used, chance, at_once)
    if pair is None or (kind != "noise" and is_no_edit(pair)):
        return None
    unproved = None
    started = time.perf_counter()
    try:
        found = diff(pair.old, pair.new)
        score = judge(pair, found)
        why = score.why
        if prove:
            unproved = "; ".join(found.replay().failures)
    except Exception as error:
        score, why = None, f"crashed: {type(error).__name__}: {error}"
    result = Result(program, kind, name, score, why, time.perf_counter() - started, unproved)
    if (why or unproved) and failures is not None:
        write_failure(failures, pair, result)
    return result


def is_no_edit(pair: Pair) -> bool:
    """Whether the edit left the content equal (two equal operands swapped, a different spelling)."""
    if any(edit.channel != "program" for edit in pair.script):
        return False
    return program_fingerprint(normalize(pair.old)) == program_fingerprint(normalize(pair.new))


def write_failure(folder: Path, pair: Pair, result: Result) -> Path:
    """Write old, new and true edits of a pair for inspection."""
    here = folder / result.seed.replace("/", "-")
    here.mkdir(parents=True, exist_ok=True)
    suffix = "mlir" if pair.old.stage == "stablehlo" else "hlo"
    (here / f"old.{suffix}").write_text(pair.old_text)
    (here / f"new.{suffix}").write_text(pair.new_text)
    lines = [f"kind: {result.kind}", f"wrong: {result.why}"]
    lines += [f"does not replay: {result.unproved}"] if result.unproved else []
    lines += ["true script:"]
    for edit in pair.script or next(iter(pair.halves), ()):
        sides = [_shown(pair, side, place) for side, place in (("old", edit.old), ("new", edit.new))]
        lines += [f"- {edit.kind} {list(edit.fields)} ({edit.channel})", *(f"    {side}" for side in sides if side)]
    (here / "truth.txt").write_text("\n".join(lines) + "\n")
    return here


def _shown(pair: Pair, side: str, place: tuple[int, int] | None) -> str:
    if place is None:
        return ""
    computation = (pair.old if side == "old" else pair.new).computations[place[0]]
    it = computation.instructions[place[1]]
    return f"{side}: line {it.line}: {computation.name} / {it.name} {it.opcode}"


def table(results: Sequence[Result], groups: Sequence[str]) -> None:
    """Print the rates for each kind of edit and each target."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=f"{len(results)} pairs")
    proved = ["replayed"] if any(result.unproved is not None for result in results) else []
    columns = [
        "edit",
        "target",
        "pairs",
        "exact",
        "no longer",
        "reported per true",
        "crashed",
        *proved,
        "first failure",
    ]
    for column in columns:
        shown.add_column(column, justify="left" if column in ("edit", "target", "first failure") else "right")
    rows: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        rows[result.kind, result.program.target].append(result)
        rows["all", "all"].append(result)
    for key in sorted(rows, key=lambda k: (k[0] == "all", groups.index(k[0]) if k[0] in groups else 0, k[1])):
        shown.add_row(*key, *_row(rows[key], bool(proved)))
    Console(width=170).print(shown)


def _row(results: Sequence[Result], proved: bool) -> list[str]:
    scores = [r.score for r in results if r.score is not None]
    true = sum(s.true for s in scores)
    first = next((r.unproved or r.why for r in results if r.unproved or r.why), "")
    return [
        str(len(results)),
        f"{100 * sum(s.exact for s in scores) / len(results):.1f} %",
        f"{100 * sum(s.no_longer for s in scores) / len(results):.1f} %",
        f"{sum(s.reported for s in scores) / true:.2f}" if true else str(sum(s.reported for s in scores)),
        str(len(results) - len(scores)),
        *([f"{100 * sum(r.unproved == '' for r in results) / len(results):.1f} %"] if proved else []),
        first[:60],
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the number of pairs that crashed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scorer", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=465)
    parser.add_argument("--kind", action="append", choices=[*EDITS, "noise"], help="only this kind; may be repeated")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target; may be repeated")
    parser.add_argument("--program", action="append", help="only this function; may be repeated; large ones too")
    parser.add_argument("--stage", choices=("compiled", "stablehlo"), default="compiled")
    parser.add_argument("--edits-at-once", type=int, default=1)
    parser.add_argument("--snapshots", action="store_true", help="edit the committed snapshots instead of the corpus")
    parser.add_argument("--failures", type=Path, default=FAILURES, help="folder for pairs that went wrong")
    parser.add_argument("--replay", action="store_true", help="prove every diff: carry its edits out and compare")
    options = parser.parse_args(arguments)
    programs = snapshots(options.stage) if options.snapshots else _corpus(options)
    wanted = ["several"] if options.edits_at_once > 1 else options.kind or ["noise", *kinds(options.stage)]
    at_once, folder = options.edits_at_once, options.failures
    results = list(run(programs, wanted, options.pairs, options.seed, at_once, None, folder, options.replay))
    table(results, wanted)
    return sum(r.score is None for r in results)


def _corpus(options: argparse.Namespace) -> list[Program]:
    found = corpus(options.program, options.target or TARGETS, options.stage)
    small = [p for p in found if options.program or p.path.stat().st_size < _BIG]
    return sorted(small, key=lambda p: (p.name, TARGETS.index(p.target)))  # a short run covers all targets


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
