"""`make bench`: speed and memory as ratios, then a short table of how exact the differ is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks import scorer, speed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both; 1 where the differ crashed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--large", action="store_true", help="also the 82,000-instruction step (half a minute to compile)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--pairs", type=int, default=120, help="known edits to score")
    options = parser.parse_args(arguments)
    names = ["mlp_step", "transformer_4_step", *(["transformer_24_step"] if options.large else [])]
    rows = [*speed.real_pairs(names), *speed.pairs_by_size(options.sizes)]
    speed.show(rows)
    sized = [row for row in rows if row.name.startswith("repeated")]
    print(f"growth from {sized[0].instructions:,} to {sized[-1].instructions:,}: exponent {speed.growth(sized):.2f}")
    print(f"wanted: read + diff at most {speed.MOST_ONE_EDIT} at 82,000 instructions, exponent at most", end=" ")
    print(f"{speed.MOST_EXPONENT}, memory at most {speed.MOST_MEMORY:.0f} times the text")
    return scorer.main(["--pairs", str(options.pairs), "--target", "cpu"])


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
