"""`python -m tests.fuzzing [--minutes N] [--targets hlo,diff] [--first N]`, or `python -m tests.fuzzing TARGET SEED`.

Each input runs in a child with limits of time and memory; a child runs until it fails, and the next one goes on behind
the input that ended it. The second form runs one input here, with a traceback, and writes it to a file.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random

from tests.fuzzing.mutations import mutated
from tests.fuzzing.targets import TARGETS, outcome

# Of the processor; on a busy machine the clock runs faster.
_SECONDS, _BY_THE_CLOCK = 10, 120
# What one input may add to the memory, and what a child may take at all.
_MEMORY, _ADDRESS_SPACE = 512 * 1024**2, 6 * 1024**3
_BATCH = 200
_SHOWN = 3  # finds of one kind
_AFTER_EACH = b"."


def made(target: str, seed: int) -> bytes:
    """The input of a seed number."""
    return mutated(TARGETS[target].seeds(), Random(f"{target} {seed}"))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _run_batch(target: str, seeds: range, done: int) -> None:
    """In the child: a dot for each input that is done, a line for each find."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for limit in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(limit, signal.SIG_DFL)
    for seed in seeds:
        data, before = made(target, seed), _most_memory()
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        signal.alarm(_BY_THE_CLOCK)
        wrong = outcome(target, data)
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if not wrong and _most_memory() - before > _MEMORY:
            wrong = f"takes {(_most_memory() - before) >> 20} MiB"
        os.write(done, f"\n{seed} {wrong[:300]}\n".encode() if wrong else _AFTER_EACH)


def fuzz(target: str, seeds: range) -> tuple[int, list[tuple[int, str]]]:
    """Run inputs in one child.

    Returns:
        how many seeds are done, and the finds: seed and what happened.
    """
    TARGETS[target].seeds()  # read once, before the child is made
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            _run_batch(target, seeds, writer)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    os.close(writer)
    output = b"".join(iter(lambda: os.read(reader, 65536), b""))
    os.close(reader)
    _, status = os.waitpid(child, 0)
    lines = [line for line in output.decode(errors="replace").split("\n") if line.strip(".")]
    finds = [(int(line.partition(" ")[0]), line.partition(" ")[2]) for line in lines]
    done = sum(len(line) for line in output.decode(errors="replace").split("\n") if not line.strip(".")) + len(finds)
    if status:
        code = os.waitstatus_to_exitcode(status)
        what = f"hangs for {_SECONDS} s" if code in (-signal.SIGPROF, -signal.SIGALRM) else f"ends the process ({code})"
        finds.append((seeds[done], what))
        done += 1
    return done, finds


def main(arguments: list[str]) -> int:
    """Fuzz, or run one input; returns the exit code, 1 where something was found."""
    if len(arguments) == 2 and arguments[0] in TARGETS and arguments[1].isdecimal():
        return _reproduce(arguments[0], int(arguments[1]))
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--first", type=int, default=int(time.time()) * 1000, help="the first seed number")
    chosen = parser.parse_args(arguments)
    targets, first = chosen.targets.split(","), chosen.first
    end = time.monotonic() + 60 * chosen.minutes
    total, found = dict.fromkeys(targets, 0), 0
    kinds: dict[tuple[str, str], int] = {}
    spent = dict.fromkeys(targets, 0.0)
    while (began := time.monotonic()) < end:
        target = min(spent, key=lambda name: spent[name])  # each has the same time
        start = first + total[target]
        done, finds = fuzz(target, range(start, start + _BATCH))
        spent[target] += time.monotonic() - began
        total[target] += done
        found += len(finds)
        for seed, what in finds:
            kind = (target, re.sub(r"\d+", "0", what)[:60])
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] > _SHOWN:
                continue
            _say(f"{target}: {what}\n  python -m tests.fuzzing {target} {seed}")
    counts = ", ".join(f"{target} {count}" for target, count in total.items())
    _say(f"{sum(total.values())} inputs from seed {first} ({counts}); {found} finds")
    return 1 if found else 0


def _reproduce(target: str, seed: int) -> int:
    data = made(target, seed)
    file = Path(f"{target}-{seed}{TARGETS[target].suffix}")
    file.write_bytes(data)
    _say(f"the input is in {file}; to keep it, make it small and move it to tests/fixtures/fuzz/")
    signal.alarm(_BY_THE_CLOCK)
    TARGETS[target].run(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
