"""`python -m tests.fuzzing [--minutes N] [--processes N] [--targets hlo,diff] [--first N]`, or
`python -m tests.fuzzing TARGET SEED`.

Each input runs in a child with limits of time and memory; a child runs until it fails, and the next one goes on behind
the input that ended it. The second form runs one input here, with a traceback, and writes it to a file.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from tests.fuzzing import commands
from tests.fuzzing.mutations import mutated
from tests.fuzzing.targets import TARGETS, outcome

# Of the processor; on a busy machine the clock runs faster.
_SECONDS, _BY_THE_CLOCK = 10, 120
# What one input may add to the memory, and what a child may take at all.
_MEMORY, _ADDRESS_SPACE = 512 * 1024**2, 6 * 1024**3
_BATCH = 400
_SHOWN = 3  # finds of one kind
_AFTER_EACH = b"."


@cache
def _seeds(target: str) -> Sequence[bytes]:
    """The good inputs of a target: reading and packing them takes longer than many an input made from them."""
    return TARGETS[target].seeds()


def made(target: str, seed: int) -> bytes:
    """The input of a seed number."""
    of = TARGETS[target]
    return mutated(_seeds(target), Random(f"{target} {seed}"), of.structured)


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


@dataclass(slots=True)
class Batch:
    """A child that runs inputs of one target.

    Args:
        target: which.
        seeds: of the inputs.
        process: the child.
        reader: where it writes a dot for each input that is done, a line for each find.
        output: what it has written.
    """

    target: str
    seeds: range
    process: int
    reader: int
    output: bytearray = field(default_factory=bytearray)

    def result(self) -> tuple[int, list[tuple[int, str]], float]:
        """Wait for its end: how many seeds are done, the finds with their seeds, and seconds of the processor."""
        os.close(self.reader)
        _, status, used = os.wait4(self.process, 0)
        parts = self.output.decode(errors="replace").split("\n")
        lines = [line for line in parts if line.strip(".")]
        finds = [(int(line.partition(" ")[0]), line.partition(" ")[2]) for line in lines]
        done = sum(len(line) for line in parts if not line.strip(".")) + len(finds)
        if status:
            code = os.waitstatus_to_exitcode(status)
            what = (
                f"hangs for {_SECONDS} s"
                if code in (-signal.SIGPROF, -signal.SIGALRM)
                else f"ends the process ({code})"
            )
            finds.append((self.seeds[done], what))
            done += 1
        return done, finds, used.ru_utime + used.ru_stime


def start(target: str, seeds: range) -> Batch:
    """Run inputs in a child."""
    _seeds(target)  # once, before the child is made
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            _run_batch(target, seeds, writer)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        finally:
            commands.clean_up()
        os._exit(0)
    os.close(writer)
    return Batch(target, seeds, child, reader)


def finished(running: dict[int, Batch]) -> list[Batch]:
    """Wait until children end; those that have are taken out of what runs.

    Args:
        running: by what they write to.
    """
    ended = []
    for reader in select.select(list(running), [], [])[0]:
        written = os.read(reader, 65536)
        running[reader].output += written
        if not written:
            ended.append(running.pop(reader))
    return ended


def main(arguments: list[str]) -> int:
    """Fuzz, or run one input; returns the exit code, 1 where something was found."""
    if len(arguments) == 2 and arguments[0] in TARGETS and arguments[1].isdecimal():
        return _reproduce(arguments[0], int(arguments[1]))
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--processes", type=int, default=2, help="children at a time")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--first", type=int, default=int(time.time()) * 1000, help="the first seed number")
    chosen = parser.parse_args(arguments)
    targets, first = chosen.targets.split(","), chosen.first
    end = time.monotonic() + 60 * chosen.minutes
    total, found = dict.fromkeys(targets, 0), 0
    kinds: dict[tuple[str, str], int] = {}
    spent = dict.fromkeys(targets, 0.0)
    running: dict[int, Batch] = {}
    while True:
        idle = [name for name in targets if all(batch.target != name for batch in running.values())]
        if idle and len(running) < chosen.processes and time.monotonic() < end:
            target = min(idle, key=lambda name: spent[name])  # each has the same time
            begin = first + total[target]
            batch = start(target, range(begin, begin + _BATCH))
            running[batch.reader] = batch
            continue
        if not running:
            break
        for batch in finished(running):
            done, finds, seconds = batch.result()
            spent[batch.target] += seconds
            total[batch.target] += done
            found += len(finds)
            for seed, what in finds:
                kind = (batch.target, re.sub(r"\d+", "0", what)[:60])
                kinds[kind] = kinds.get(kind, 0) + 1
                if kinds[kind] <= _SHOWN:
                    _say(f"{batch.target}: {what}\n  python -m tests.fuzzing {batch.target} {seed}")
    counts = ", ".join(f"{target} {count}" for target, count in total.items())
    used = f"{sum(spent.values()):.0f} s of the processor"
    _say(f"{sum(total.values())} inputs from seed {first} ({counts}) in {used}; {found} finds")
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
