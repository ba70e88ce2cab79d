"""Cost of `hlodiff record` to a run, compared with JAX's and XLA's own dumping of the same programs.

The command is run plainly, with `JAX_DUMP_IR_TO` and `--xla_dump_to`, and recorded, in turn; the best of each counts.
The work of hlodiff after the run is reported separately. Times are CPU seconds of the command and its children, which
vary little with other work on the machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_SCRIPT = str(Path(__file__).with_name("recorded_run.py"))
MOST_OVERHEAD = 1.10


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of one command, the best of several runs.

    Args:
        plain: the unmodified command.
        dumped: with JAX's and XLA's own dumping.
        recorded: while recorded.
        whole: `hlodiff record` from start to end, including normalization.
        programs: the number of recorded programs.
    """

    plain: float
    dumped: float
    recorded: float
    whole: float
    programs: int

    @property
    def ratio(self) -> float:
        """Time of the recorded run over that of the dumped one."""
        return self.recorded / self.dumped


def measure(command: list[str], times: int = 3) -> Cost:
    """Run a command in three ways, several times in turn.

    Args:
        command: the command.
        times: the number of runs in each way.

    Returns:
        the best time of each.
    """
    plain, dumped, recorded, whole = [], [], [], []
    programs = 0
    for _ in range(times):
        plain.append(_seconds(command, {}))
        with tempfile.TemporaryDirectory() as folder:
            flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder}/xla".strip()
            dumped.append(_seconds(command, {"JAX_DUMP_IR_TO": f"{folder}/jax", "XLA_FLAGS": flags}))
        with tempfile.TemporaryDirectory() as folder:
            before = _processor()
            recorded.append(_recorded(command, Path(folder)))
            whole.append(_processor() - before)
            programs = len(list(Path(folder).rglob("compiled.hlo")))
    return Cost(min(plain), min(dumped), min(recorded), min(whole), programs)


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    before = _processor()
    subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=True)
    return _processor() - before


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _recorded(command: list[str], folder: Path) -> float:
    """CPU seconds of the command alone: a wrapper process writes them to a file."""
    timer = (
        "import resource, subprocess, sys; code = subprocess.call(sys.argv[2:]); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "open(sys.argv[1], 'w').write(str(used.ru_utime + used.ru_stime)); sys.exit(code)"
    )
    note = folder / "seconds"
    words = [sys.executable, "-m", "hlodiff", "record", "-o", str(folder / "recording"), "--"]
    words += [sys.executable, "-c", timer, str(note), *command]
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=True)
    return float(note.read_text())


def main(arguments: list[str]) -> int:
    """Print one row: for the training of the neural ODE, or for the command in `arguments`."""
    cost = measure(arguments or [sys.executable, _SCRIPT, "10"])
    print(
        f"record: plain {cost.plain:.2f} s, dumped by JAX and XLA {cost.dumped:.2f} s, recorded {cost.recorded:.2f} s "
        f"({cost.ratio:.2f} of dumped, {cost.recorded / cost.plain:.2f} of plain; wanted: at most {MOST_OVERHEAD:.2f} "
        "of dumped); "
        f"{cost.programs} programs normalized in {cost.whole - cost.recorded:.2f} s more"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
