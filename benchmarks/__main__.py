"""`make bench`: speed and memory as ratios, then a short table of the differ's exactness."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain

from benchmarks import passes, recording, scorer, speed, starting, upgrades


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both; return 1 if the differ crashed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="neither the 82,000-instruction step nor a million")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--pairs", type=int, default=120, help="known edits to score")
    parser.add_argument(
        "--against", metavar="REVISION", default=speed.last_release(), help="an earlier version; the latest release"
    )
    options = parser.parse_args(arguments)
    # The row that matters first: 24 layers, renamed.
    names = [*([] if options.quick else ["transformer_24_step"]), "transformer_4_step", "mlp_step"]
    sizes = [size for size in options.sizes if size <= 100_000 or not options.quick]
    with speed.checkout(options.against) as before:
        rows = speed.show(
            chain(
                speed.real_pairs(names, before=before),
                speed.repeated_bodies(before),
                speed.pairs_by_size(sizes, before),
                (speed.unlike_pairs("transformer_4_step", before=before) for _ in range(1)),
                (speed.all_unlike(before=before) for _ in range(1)),
                upgrades.unrelated(before),
                upgrades.more_layers(before),
            )
        )
    sized = [row for row in rows if row.name.startswith("layers") and row.instructions > 5_000]
    if len(sized) > 1:
        print(
            f"growth from {sized[0].instructions:,} to {sized[-1].instructions:,}: exponent {speed.growth(sized):.2f}"
        )
    upgrades.main([])
    recording.main([])
    starting.main()
    passes.main()
    print(f"before: {options.against or 'no release was made yet; --against REVISION measures any other'}")
    print(f"wanted besides: exponent at most {speed.MOST_EXPONENT}, memory at most {speed.MOST_MEMORY:.0f} x text")
    return scorer.main(["--pairs", str(options.pairs), "--target", "cpu"])


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
