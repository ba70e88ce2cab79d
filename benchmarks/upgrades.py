"""Pairs of two JAX versions: 20 functions of published libraries on cpu and tpu, compiled by JAX 0.7.2 and 0.10.2.

python -m benchmarks.upgrades            measure all pairs (time, edits, proofs) and compare with the recorded edits
python -m benchmarks.upgrades --record   write the results to upgrades.csv
python -m benchmarks.upgrades --pack FOLDER   pack what upgrade_functions.py wrote to FOLDER/old and FOLDER/new
"""

from __future__ import annotations

import argparse
import csv
import io
import tarfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from benchmarks.speed import MOST_UNLIKE, Measured, measure, parse_with_xla
from hlodiff.differ import diff
from hlodiff.hlo.parser import read_hlo

ARCHIVE = Path(__file__).with_name("upgrades.tar.xz")
RECORDED = Path(__file__).with_name("upgrades.csv")
MOST_UPGRADE = 8.0


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One program compiled by two versions of JAX."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """Times and result of one pair.

    Args:
        name: target and function.
        parser, read, diff, proof: CPU seconds of jaxlib's parser on both texts, and of our parser, differ and replay.
        instructions: the number on both sides together.
        edits: the number of edits in the script.
        replaced: the number of edits in regions that are replaced as a whole.
        proved: whether the script, applied to the old program, gives the new one.
    """

    name: str
    parser: float
    read: float
    diff: float
    proof: float
    instructions: int
    edits: int
    replaced: int
    proved: bool

    @property
    def ratio(self) -> float:
        """Time to parse both sides and diff them, over that of jaxlib's parser."""
        return (self.read + self.diff) / self.parser


def upgrades(archive: Path = ARCHIVE) -> Iterator[Upgrade]:
    """All pairs of the archive, sorted by name."""
    with tarfile.open(archive) as packed:
        texts = {m.name: packed.extractfile(m) for m in packed.getmembers() if m.isfile()}
        for path in sorted(name.removeprefix("old/") for name in texts if name.startswith("old/")):
            old, new = texts[f"old/{path}"], texts[f"new/{path}"]
            assert old is not None and new is not None
            yield Upgrade(path.removesuffix(".hlo"), old.read().decode(), new.read().decode())


def pack(folder: Path, archive: Path = ARCHIVE) -> int:
    """Store every program that both versions compiled; returns their number."""
    both = sorted(
        path.relative_to(folder / "old")
        for path in (folder / "old").rglob("*.hlo")
        if (folder / "new" / path.relative_to(folder / "old")).exists()
    )
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for side in ("old", "new"):
            for path in both:
                text = (folder / side / path).read_bytes()
                member = tarfile.TarInfo(f"{side}/{path}")
                member.size = len(text)
                packed.addfile(member, io.BytesIO(text))
    return len(both)


def measure_one(pair: Upgrade, rounds: int = 2) -> UpgradeResult:
    """Time one pair, theirs and ours in turn, the best of several."""
    best = [float("inf")] * 4
    for _ in range(rounds):
        moments = [time.process_time()]
        parse_with_xla(pair.old), parse_with_xla(pair.new)
        moments.append(time.process_time())
        modules = read_hlo(pair.old), read_hlo(pair.new)
        moments.append(time.process_time())
        found = diff(*modules)
        moments.append(time.process_time())
        proved = not found.replay().missing  # not `complete`: some constants are not printed
        moments.append(time.process_time())
        best = [min(b, after - before) for b, before, after in zip(best, moments, moments[1:], strict=False)]
    count = sum(module.instruction_count() for module in modules)
    edits = sum(found.summary.values())
    replaced = sum(edit.count for edit in found.edits if edit.region is not None)
    parser, read, compared, proof = best
    return UpgradeResult(pair.name, parser, read, compared, proof, count, edits, replaced, proved)


def more_layers(before: Path | None = None) -> Iterator[Measured]:
    """Measure the gradient of a transformer with two against four unrolled layers, by one compiler.

    Args:
        before: the folder of an earlier version of this project, measured too.
    """
    found = {pair.name: pair.new for pair in upgrades()}
    for target in ("cpu", "tpu"):
        two, four = (found[f"{target}/flax_transformer_{layers}"] for layers in (2, 4))
        yield measure(f"flax_transformer, 2 -> 4 layers, {target}", two, four, 2, before)


def unrelated(before: Path | None = None) -> Iterator[Measured]:
    """Measure a transformer against an ODE solver by one compiler; the two are listed, not matched.

    Args:
        before: the folder of an earlier version of this project, measured too.
    """
    found = {pair.name: pair.new for pair in upgrades()}
    for target in ("cpu", "tpu"):
        one, other = (found[f"{target}/{name}"] for name in ("flax_transformer_4", "diffrax_gradient"))
        yield measure(f"a transformer and a solver, {target}", one, other, 2, before, MOST_UNLIKE)


def together(results: Sequence[UpgradeResult]) -> UpgradeResult:
    """The sum over all pairs; proved if all are."""
    sums = {f.name: sum(getattr(r, f.name) for r in results) for f in fields(UpgradeResult) if f.name != "name"}
    sums |= {"proved": all(r.proved for r in results)}
    return UpgradeResult(f"JAX 0.7.2 against 0.10.2, {len(results)} pairs", **sums)


def recorded() -> dict[str, int]:
    """The recorded number of edits of each pair."""
    with RECORDED.open(newline="") as file:
        return {row["pair"]: int(row["edits"]) for row in csv.DictReader(file)}


def record(results: Iterable[UpgradeResult]) -> None:
    """Write pair, ratio and edits to the table next to the archive."""
    with RECORDED.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["pair", "instructions", "ratio", "edits", "replaced", "proved"])
        for it in results:
            writer.writerow(
                [it.name, it.instructions, f"{it.ratio:.1f}", it.edits, it.replaced, "yes" if it.proved else "no"]
            )


def show(results: Iterable[UpgradeResult], before: dict[str, int]) -> list[UpgradeResult]:
    """Print each pair once it is measured, then the total."""
    done = []
    print(f"{'pair':44}{'instructions':>13}{'read + diff':>12}{'proof/diff':>11}{'edits':>8}", end="")
    print(f"{'recorded':>9}{'replaced':>9}  proved")
    for it in results:
        done.append(it)
        _print(it, before.get(it.name))
    _print(together(done), sum(before.get(it.name, 0) for it in done) or None)
    return done


def _print(it: UpgradeResult, before: int | None) -> None:
    share, known = it.proof / it.diff, "" if before is None else before
    proved = "yes" if it.proved else "NO"
    print(f"{it.name:44}{it.instructions:13,}{it.ratio:12.1f}{share:11.2f}{it.edits:8,}", end="")
    print(f"{known:>9}{it.replaced:9,}  {proved}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, record or pack; return 1 if a pair is not proved or has more edits than recorded."""
    raw = argparse.RawDescriptionHelpFormatter  # the commands stay a line each
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrades", description=__doc__, formatter_class=raw)
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="make the archive")
    parser.add_argument("--record", action="store_true", help="write what is measured to upgrades.csv")
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts")
    parser.add_argument("--only", default="", help="pairs whose names contain this")
    options = parser.parse_args(arguments)
    if options.pack:
        print(f"{pack(options.pack)} pairs in {ARCHIVE}, {ARCHIVE.stat().st_size:,} bytes")
        return 0
    before = recorded() if RECORDED.exists() else {}
    pairs = (pair for pair in upgrades() if options.only in pair.name)
    done = show((measure_one(pair, options.rounds) for pair in pairs), before)
    if options.record:
        record(done)
    return int(any(not it.proved or it.edits > before.get(it.name, it.edits) for it in done))


if __name__ == "__main__":
    raise SystemExit(main())
