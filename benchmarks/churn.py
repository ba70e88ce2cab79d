"""How many lines of a snapshot one edit changes: `python -m benchmarks.churn --seed 0 --pairs 200`."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.edits import kinds
from benchmarks.noise import QUIET
from benchmarks.pairs import make_pair
from benchmarks.programs import Program, corpus
from benchmarks.scorer import is_no_edit
from hlodiff.hlo.model import Module
from hlodiff.normalizer import normalize, to_text

MOST = 4
"""The limit on the median number of changed lines over single edits."""
_BIG = 400_000
# The noise between two compilations of nearly the same program: names and the order of computations differ, the order
# in a schedule does not.
_NAMES = replace(QUIET, names=True, computations=True)


def changed_lines(old: Module, new: Module) -> int:
    """The number of lines that `diff` removes and adds between two programs after normalization.

    Args:
        old, new: programs as parsed.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("old", "new")]
        for path, module in zip(paths, (old, new), strict=True):
            path.write_text(to_text(normalize(module)))
        shown = subprocess.run(["diff", *map(str, paths)], capture_output=True, text=True, check=False).stdout
    return sum(line.startswith(("<", ">")) for line in shown.splitlines())


def churn(programs: Sequence[Program], pairs: int, seed: int) -> Iterator[tuple[str, str, int]]:
    """Kind, program and changed lines of single edits, all kinds in turn, with everything renamed.

    Args:
        programs: the programs to edit.
        pairs: the number of edits.
        seed: of the random choices.
    """
    wanted = kinds(programs[0].stage)
    for number in range(pairs):
        chance = Random(f"churn {seed} {number}")
        program, kind = chance.choice(programs), wanted[number % len(wanted)]
        pair = make_pair(program.text(), kind, _NAMES, chance)
        if pair is not None and not is_no_edit(pair):
            yield kind, f"{program.target}/{program.name}", changed_lines(pair.old, pair.new)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the median for each kind and over all; return 1 if the latter is over the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.churn", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stage", choices=("compiled", "stablehlo"), default="compiled")
    options = parser.parse_args(arguments)
    programs = [p for p in corpus(stage=options.stage) if p.path.stat().st_size < _BIG]
    found: dict[str, list[int]] = {}
    for kind, _, lines in churn(programs, options.pairs, options.seed):
        found.setdefault(kind, []).append(lines)
    for kind, counts in found.items():
        print(f"{kind:24} {len(counts):4} pairs  median {median(counts):g}  most {max(counts)}")
    every = [lines for counts in found.values() for lines in counts]
    print(f"{'all':24} {len(every):4} pairs  median {median(every):g} (wanted: at most {MOST})")
    return int(median(every) > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
