"""From what a capture gave to a snapshot, and from a snapshot to modules: the road that both sides of `check` walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.cli.summary import build_summary, stage_facts
from hlodiff.diff.compared import Compared, donated_parameters, with_compiler
from hlodiff.diff.limits import Limits
from hlodiff.ir.model import Module, Stage
from hlodiff.store import Snapshot, attach_source, numbered, restored, source_of

if TYPE_CHECKING:
    from hlodiff.capture import Captured

STAGES: tuple[Stage, ...] = ("stablehlo", "compiled")


def record(captured: Captured, root: str, large_constants: Literal["hash", "ignore"] = "hash") -> Snapshot:
    """Make a snapshot of a captured program.

    Args:
        captured: a program with both stages.
        root: the project's folder; source files below it are named relative to it.
        large_constants: whether the numbers of large constants are compared.

    Returns:
        normalized text of both stages, summary and provenance.
    """
    from hlodiff.ir import read_text
    from hlodiff.ir.content import fingerprint
    from hlodiff.normalize import normalize, to_text

    label = f"{captured.function} on {captured.target}"
    raw = {
        "stablehlo": read_text(captured.stablehlo, path=f"{label}: stablehlo.mlir"),
        "compiled": read_text(captured.compiled or "", path=f"{label}: compiled.hlo"),
    }
    modules = {
        stage: restored(normalize(numbered(module), large_constants=large_constants), module)
        for stage, module in raw.items()
    }
    fingerprints = {stage: fingerprint(module) for stage, module in modules.items()}
    return Snapshot(
        captured.function,
        captured.case,
        captured.target,
        build_summary(captured, raw, modules, fingerprints),
        to_text(modules["stablehlo"]),
        to_text(modules["compiled"]),
        {stage: source_of(module, root) for stage, module in modules.items()},
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot that was read whole and makes sense: its programs parse.

    Args:
        snapshot: what stands in its folder.
        modules: both stages with provenance.
        intact: whether the programs are those whose fingerprints the summary holds.
    """

    snapshot: Snapshot
    modules: Mapping[str, Module]
    intact: bool


def parse(snapshot: Snapshot, where: str, verify: bool = False) -> Stored:
    """Read the programs of a snapshot.

    Args:
        snapshot: from a folder, a git revision or a capture.
        where: what its folder is called, for errors.
        verify: whether to compute the fingerprints again.

    Returns:
        its modules.

    Raises:
        ReadError: a program is broken: file, line, column.
    """
    from hlodiff.ir import read_text

    names = {"stablehlo": "stablehlo.mlir", "compiled": "compiled.hlo"}
    texts = {"stablehlo": snapshot.stablehlo, "compiled": snapshot.compiled}
    source = snapshot.source or {}
    modules = {
        stage: attach_source(read_text(text, path=f"{where}/{names[stage]}"), source.get(stage))
        for stage, text in texts.items()
    }
    intact = verify and _fingerprints(modules) == snapshot.summary.get("fingerprints")
    return Stored(snapshot, modules, intact)


def _fingerprints(modules: Mapping[str, Module]) -> dict[str, str]:
    from hlodiff.ir.content import fingerprint

    return {stage: fingerprint(module) for stage, module in modules.items()}


def compare(old: Stored, new: Stored, limits: Limits) -> tuple[Compared, ...]:
    """Compare both stages of two snapshots of one program.

    Args:
        old, new: both sides, read from text.
        limits: how much may be tried.

    Returns:
        one record for each stage, StableHLO first.
    """
    stages = tuple(_compare_stage(old, new, stage, limits) for stage in STAGES)
    toolchains = [side.snapshot.summary.get("toolchain") or {} for side in (old, new)]
    return with_compiler(stages, lambda _: toolchains[0] != toolchains[1])


def _compare_stage(old: Stored, new: Stored, stage: Stage, limits: Limits) -> Compared:
    from hlodiff.diff import diff

    found = diff(old.modules[stage], new.modules[stage], limits=limits)
    key = new.snapshot.key
    return Compared(
        key.name,
        key.target,
        stage,
        "identical" if found.identical else "changed",
        found,
        stage_facts(old.snapshot.summary, stage),
        stage_facts(new.snapshot.summary, stage),
        donated=donated_parameters(new.snapshot.summary),
    )


def one_sided(stored: Stored, status: Any) -> tuple[Compared, ...]:
    """Both stages of a program without a diff: "added" or "removed" on one side, "identical" on both."""
    from hlodiff.diff.metrics import op_counts

    key = stored.snapshot.key
    facts = {stage: stage_facts(stored.snapshot.summary, stage) for stage in STAGES}
    return tuple(
        Compared(
            key.name,
            key.target,
            stage,
            status,
            None,
            {} if status == "added" else facts[stage],
            {} if status == "removed" else facts[stage],
            op_counts(stored.modules[stage]),
            donated=() if status == "removed" else donated_parameters(stored.snapshot.summary),
            module=stored.modules[stage],
        )
        for stage in STAGES
    )
