"""The raw records of a recorded run's processes, read by the process that started them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hlodiff.capture.messages import CapturedProgram
from hlodiff.errors import CaptureError
from hlodiff.tracing.records import Call, Function, Leaf, Trace, call_of

_DTYPES = {
    "f": "float", "bf": "bfloat", "s": "int", "i": "int", "u": "uint", "ui": "uint", "c": "complex", "pred": "bool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RawProgram:
    """One program as a process recorded it.

    Args:
        folder: folder with its files.
        record: its line in the process's log.

    Example:
        >>> RawProgram(Path("."), {"name": "jit_step", "platform": "cpu", "devices": 8}).target
        'cpu-8'
    """

    folder: Path
    record: Mapping[str, Any]

    @property
    def called(self) -> Call | None:
        """The call it was compiled for; None if there was none."""
        row = self.record.get("call")
        return call_of(row) if row else None

    @property
    def under(self) -> Call | None:
        """The run under `jax.vmap` or `jax.grad` it was compiled for; None for a plain call."""
        row = self.record.get("under")
        return call_of(row) if row else None

    @property
    def known(self) -> Function | None:
        """Its function; None if unknown."""
        row = self.record.get("function")
        return Function(*row) if row else None

    @property
    def function(self) -> str:
        """The function's qualified name; JAX's name of the program if the function is unknown."""
        return self.known.name if self.known else str(self.record["name"]).removeprefix("jit_")

    @property
    def place(self) -> str:
        """`file:line` of the function's definition; "" if unknown."""
        return self.known.place if self.known else ""

    @property
    def target(self) -> str:
        """`cpu`, `cpu-8` for a program over eight devices, or `attached` for an accelerator."""
        if self.record["platform"] != "cpu":
            return "attached"
        return "cpu" if self.record["devices"] == 1 else f"cpu-{self.record['devices']}"

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of its call."""
        return self.called.leaves if self.called else ()

    def bytes(self) -> tuple[bytes, ...]:
        """All recorded bytes of the program: equal for two compiles of one trace."""
        paths = [self._path("mlirbc"), *(self._path(f"{i}.hlo") for i in range(self.record["modules"]))]
        return tuple(path.read_bytes() for path in paths)

    def captured(self, function: str, case: str) -> CapturedProgram:
        """The program in the form of a capture.

        Args:
            function, case: its name in the capture.

        Returns:
            both texts and the compiler's figures.

        Raises:
            CaptureError: a file is missing or truncated.
        """
        from hlodiff.capture.literals import text_of
        from hlodiff.hlo.mlir import mlir_text

        texts = []
        try:
            stablehlo = mlir_text(self._path("mlirbc").read_bytes())
            for number in range(self.record["modules"]):
                proto = self._path(f"{number}.pb")
                printed = self._path(f"{number}.hlo").read_text(encoding="utf-8")
                texts.append(text_of(printed, proto.read_bytes() if proto.exists() else None))
        except OSError as error:
            raise CaptureError(f"`{function}` was recorded in part: {error.strerror}") from None
        facts = {
            "toolchain": self.record["toolchain"],
            "arguments": [_argument(leaf) for leaf in self.leaves if leaf.kind == "array"],
            "results": [],
            "devices": self.record["devices"],
            "memory": self.record["memory"],
            "cost": self.record["cost"],
        }
        return CapturedProgram(function, case, self.target, stablehlo, "\n\n".join(texts), facts, {})

    def _path(self, suffix: str) -> Path:
        return self.folder / f"{self.record['file']}.{suffix}"


@dataclass(slots=True)
class RawRun:
    """Everything that the processes of one run recorded.

    Args:
        processes: number of processes that imported JAX.
        events: traces and programs of each process, in chronological order.
        eager: how often each eager operation was compiled.
        failed: how often compiling raised, by program and exception.
        calls: number of launches of each program, by its file; None if launches were not counted.
        problems: data that could not be recorded.
    """

    processes: int = 0
    events: list[list[Trace | RawProgram]] = field(default_factory=list)
    eager: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    calls: dict[str, int] | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def programs(self) -> list[RawProgram]:
        """Programs in order of compilation, process by process."""
        return [event for events in self.events for event in events if isinstance(event, RawProgram)]

    @property
    def traces(self) -> list[Trace]:
        """Traces in chronological order, process by process."""
        return [event for events in self.events for event in events if isinstance(event, Trace)]


def read_raw(folder: Path) -> RawRun:
    """Read the records of a run.

    Args:
        folder: output folder of its processes.

    Returns:
        all records; a line that a killed process did not finish is skipped.

    Example:
        >>> read_raw(Path("no such folder")).processes
        0
    """
    raw = RawRun()
    logs = [list(_records(path)) for path in sorted(folder.glob("*.jsonl"))]
    for log in sorted(logs, key=lambda log: [record.get("started", 0) for record in log[:1]]):
        _read_log(raw, folder, log)
    for path in sorted(folder.glob("*.problem")):
        raw.problems += path.read_text(encoding="utf-8", errors="replace").splitlines()
    return raw


def _read_log(raw: RawRun, folder: Path, log: list[dict[str, Any]]) -> None:
    counts: dict[str, Any] = {}
    events: list[Trace | RawProgram] = []
    for record in log:
        kind = record["kind"]
        if kind == "process":
            raw.processes += 1
        elif kind == "program":
            events.append(RawProgram(folder, record))
        elif kind == "trace":
            call = call_of(record["call"])
            events.append(Trace(record["order"], call, record["within"], record["ahead"], 0.0, ""))
        elif kind == "counts":
            counts = record
        elif kind == "problem":
            raw.problems.append(record["what"])
    raw.events.append(events)
    raw.eager.update(counts.get("eager") or {})
    raw.failed.update(counts.get("failed") or {})
    launches = counts.get("launches")
    if launches is not None:
        calls = {name: number for name, number in launches.items() if not name.startswith("eager ")}
        raw.calls = (raw.calls or {}) | calls


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:  # the process was killed while it wrote this
            continue
        if isinstance(record, dict) and "kind" in record:
            yield record


def _argument(leaf: Leaf) -> dict[str, Any]:
    """`f32[3,64]` in the spelling of snapshots."""
    head, _, sizes = leaf.text.removesuffix("]").partition("[")
    letters = head.rstrip("0123456789")
    dtype = _DTYPES.get(letters, letters) + head[len(letters) :]
    shape = [int(n) if n.strip().isdigit() else n.strip() for n in sizes.split(",") if n.strip()]
    record: dict[str, Any] = {"path": leaf.path, "shape": shape, "dtype": dtype}
    record |= {"weak_type": True} if leaf.weak else {}
    return record | ({"sharding": leaf.sharding} if leaf.sharding else {})
