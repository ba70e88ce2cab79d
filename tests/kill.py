"""Kills commands that write or make temporary folders at random points: `python -m tests.kill [COUNT] [SEED]`.

After each kill every snapshot is whole, old or new; no process and no temporary folder of the run stays once the next
run has begun, and that run finishes what was begun.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.capture import TemporaryFolder
from hlodiff.snapshots import FolderTree, Key, digest, list_snapshots, read_pending, read_whole_snapshot
from hlodiff.workflows import parse_snapshot

_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_NAMES = ("a", "b", "c", "d")
_PATIENCE = 60  # seconds until the processes of a killed run are gone
_COMMANDS = {
    "update": ["update", "--jobs", "1"],
    "check": ["check", "--jobs", "1"],
    "accept": ["accept", "--everything"],
    "record": ["record", "-o", "recording", "--", sys.executable, "run.py"],
    "against": ["check", "--against", "HEAD", "--jobs", "1"],
    "passes": ["check", "--passes", "--jobs", "1"],
    "upgrade": ["upgrade", "--python", sys.executable, "--jobs", "1"],
}
"""What is killed, by the name that it is counted under."""
_RUN = "import jax\n\njax.jit(lambda x: jax.lax.tanh(x) * 2)(1.0)\n"
_MODULE = """import pathlib

import jax

import hlodiff

OPERATION = getattr(jax.lax, pathlib.Path(__file__).with_name("operation").read_text().strip())


def case():
    return hlodiff.Case(lambda x: OPERATION(x) * 2, hlodiff.abstract((8,), "float32"))


for name in "abcd":
    hlodiff.register(name=name)(case)
"""


@dataclass(slots=True)
class Ground:
    """A project that is put back to its old state before each kill.

    Args:
        folder: where everything lies.
        choose: says what is killed when.
        seconds: how long each command takes when nobody kills it.
        seen: what was found after the kills, by command and outcome.
    """

    folder: Path
    choose: random.Random
    seconds: dict[str, float] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    old: dict[Key, str] = field(default_factory=dict)
    new: dict[Key, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        """The project's folder, also the working folder of all its processes."""
        return self.folder / "project"

    @property
    def temporary(self) -> Path:
        """What the commands take for the system's folder of temporary files."""
        return self.folder / "tmp"

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Starts a command in a session of its own."""
        env = {name: value for name, value in os.environ.items() if name != "CI"} | {"TMPDIR": str(self.temporary)}
        return subprocess.Popen(
            [sys.executable, "-m", "hlodiff", *_COMMANDS[command]], cwd=self.project, env=env, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, command: str) -> int:
        """Runs a command to its end."""
        begin = time.monotonic()
        code = self.start(command).wait()
        self.seconds[command] = time.monotonic() - begin
        return code

    def prepare(self, commands: Sequence[str]) -> None:
        """Makes the old snapshots, the new ones, and what a check leaves pending."""
        self.project.mkdir(parents=True)
        self.temporary.mkdir()
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        (self.project / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\ntargets = ["cpu"]\n')
        (self.project / "programs.py").write_text(_MODULE)
        (self.project / "run.py").write_text(_RUN)
        (self.project / "operation").write_text("tanh")
        assert self.run("update") == 0
        git = ["git", "-C", str(self.project), "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "old"], check=True)
        shutil.copytree(self.project / "snapshots", self.folder / "old")
        (self.project / "operation").write_text("sin")
        assert self.run("check") == 1
        shutil.copytree(self.project / ".hlodiff", self.folder / "pending")
        assert self.run("accept") == 0
        self.new = self.digests(self.project / "snapshots")
        self.reset("update")
        self.old = self.digests(self.project / "snapshots")
        assert self.run("update") == 0
        assert self.digests(self.project / "snapshots") == self.new
        for command in sorted({*commands} - {"update", "check", "accept"}):
            self.reset(command)
            assert self.run(command) == (1 if command in ("against", "passes") else 0), command
        assert len(self.old) == len(_NAMES) and not self.old.items() & self.new.items()

    def reset(self, command: str) -> None:
        """The old snapshots and the new sources; for `accept` what a check has captured. Git's directory stays."""
        for name in ("snapshots", ".hlodiff"):
            shutil.rmtree(self.project / name, ignore_errors=True)
        shutil.copytree(self.folder / "old", self.project / "snapshots")
        if command == "accept":
            shutil.copytree(self.folder / "pending", self.project / ".hlodiff")

    def digests(self, root: Path) -> dict[Key, str]:
        """A hash of each snapshot, once it was seen to be whole: its files fit each other."""
        tree, found = FolderTree(root), {}
        for key in list_snapshots(tree).keys:
            snapshot = read_whole_snapshot(tree, key)
            assert parse_snapshot(snapshot, str(key), verify=True).intact, f"{key} is torn"
            found[key] = digest(snapshot)
        return found

    def kill(self, command: str) -> None:
        """One kill and what must hold behind it."""
        self.reset(command)
        process = self.start(command)
        self.wait_for_a_moment(command, process)
        number = self.choose.choice(_SIGNALS)
        if self.choose.random() < 0.5:
            process.send_signal(number)
        else:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(process.pid, number)  # as a terminal does it
        process.wait(_PATIENCE)
        self.gone()
        found = self.digests(self.project / "snapshots")
        assert found.keys() == self.old.keys(), (command, found.keys())
        torn = [key for key, own in found.items() if own not in (self.old[key], self.new[key])]
        assert not torn, (command, torn)
        assert command in ("update", "accept") or found == self.old, f"{command} wrote a snapshot"
        self.whole_pending()
        changed = sum(found[key] == self.new[key] for key in found)
        self.seen[f"{command}: {changed} of {len(found)} new"] += 1

    def wait_for_a_moment(self, command: str, process: subprocess.Popen[bytes]) -> None:
        """Any moment of the run, or one at which it writes."""
        if self.choose.random() < 0.5:
            time.sleep(self.choose.random() * self.seconds[command] * 1.1)
            return
        private = self.project / ".git/hlodiff"
        until = time.monotonic() + self.seconds[command] * 5
        while process.poll() is None and time.monotonic() < until and not any(private.glob("*/*")):
            time.sleep(0.0005)
        time.sleep(self.choose.random() * 0.03)

    def gone(self) -> None:
        """All processes of the killed run end by themselves."""
        until = time.monotonic() + _PATIENCE
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.01)
        assert not left, f"still running: {left}"

    def processes(self) -> list[str]:
        """Processes whose working folder is the project."""
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    if (process / "cwd").samefile(self.project):
                        found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
                except OSError:
                    continue
        return found

    def whole_pending(self) -> None:
        """What is pending can be read, all of it."""
        tree = FolderTree(self.project / ".hlodiff/pending")
        for key in list_snapshots(tree).keys:
            assert digest(read_pending(tree, key).snapshot) == self.new[key]

    def settle(self) -> None:
        """The next run finishes what was begun, and nothing of the killed ones is left."""
        time.sleep(TemporaryFolder.YOUNG + 0.1)
        assert self.run("update") == 0
        assert self.digests(self.project / "snapshots") == self.new
        assert self.run("check") == 0
        assert sorted(path.name for path in self.temporary.iterdir()) == []
        left = [path for path in (self.project / ".git/hlodiff").rglob("*") if path.is_file()]
        assert not left, left
        names = {path.name for path in self.project.iterdir()} - {"__pycache__", "recording", "run.py"}
        assert names <= {".git", ".hlodiff", "pyproject.toml", "programs.py", "operation", "snapshots"}, names
        recording = self.project / "recording"
        if recording.exists():
            assert isinstance(json.loads((recording / "recording.json").read_text())["programs"], list)
            self.digests(recording)
        worktrees = subprocess.run(
            ["git", "-C", str(self.project), "worktree", "list"], capture_output=True, check=True
        )
        assert worktrees.stdout.count(b"\n") == 1, worktrees.stdout
        status = ["git", "-C", str(self.project), "status", "--short", "-uall", "--", "snapshots", ".hlodiff"]
        said = subprocess.run(status, capture_output=True, text=True, check=True).stdout.split("\n")
        assert all(not line or line.rpartition("/")[2] in _FILES for line in said), said


_FILES = ("compiled.hlo", "stablehlo.mlir", "summary.yaml", "source.json")


def kill(
    folder: Path, count: int, seed: int, commands: Sequence[str] = (*_COMMANDS, "accept", "update", "check")
) -> Counter[str]:
    """Kill commands in a project.

    Args:
        folder: an empty one, for the project.
        count: how often.
        seed: of the choice of commands, moments and signals.
        commands: what to choose from.

    Returns:
        how often each outcome was seen.
    """
    ground = Ground(folder, random.Random(seed))
    ground.prepare(commands)
    for number in range(count):
        ground.kill(ground.choose.choice(commands))
        if number % 50 == 49:
            ground.settle()
    ground.settle()
    return ground.seen


def main(arguments: Sequence[str]) -> None:
    """Kill as often as the command line says and print what was seen."""
    count, seed = (int(word) for word in (*arguments, *("200", "0")[len(arguments) :]))
    with tempfile.TemporaryDirectory(prefix="hlodiff-kill-") as folder:
        seen = kill(Path(folder), count, seed)
    lines = [f"{times:5} {outcome}" for outcome, times in sorted(seen.items())]
    lines.append(f"{count} kills, seed {seed}: every snapshot whole, no process and no temporary folder left")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
