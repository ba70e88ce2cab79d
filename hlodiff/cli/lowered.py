"""`hlodiff check --stage stablehlo`: programs that were lowered and not compiled, and what nobody looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hlodiff.cli.recording import Stored
from hlodiff.cli.summary import stage_facts
from hlodiff.config import Config
from hlodiff.diff.compared import Compared, Status
from hlodiff.diff.limits import Limits
from hlodiff.ir.model import Module
from hlodiff.store import Key, attach_source, numbered, restored, source_of

if TYPE_CHECKING:
    from hlodiff.capture import Captured, Discovery
    from hlodiff.cli.registered import Chosen

_MOST_NAMES = 3


def compare_lowered(captured: Captured, old: Stored | None, config: Config, limits: Limits) -> Compared:
    """Compare the StableHLO of a program that was only lowered.

    Args:
        captured: without compiled HLO.
        old: its snapshot; None where there is none.
        config: the project's.
        limits: how much may be tried.

    Returns:
        one record: the compiled stage is not there at all, neither a pass nor a failure.
    """
    from hlodiff.diff import diff
    from hlodiff.diff.metrics import op_counts

    key = Key(captured.function, captured.case, captured.target)
    new = _normalized(captured, config)
    if old is None:
        return Compared(key.name, key.target, "stablehlo", "added", op_counts=op_counts(new), module=new)
    found = diff(old.modules["stablehlo"], new, limits=limits)
    facts = stage_facts(old.snapshot.summary, "stablehlo")
    status: Status = "identical" if found.identical else "changed"
    other = (old.snapshot.summary.get("toolchain") or {}) != (captured.facts.get("toolchain") or {})
    is_other = other and status == "changed"
    return Compared(key.name, key.target, "stablehlo", status, found, facts, other_toolchain=is_other)


def _normalized(captured: Captured, config: Config) -> Module:
    """The module as it would be read from its snapshot, so that both sides have walked the same road."""
    from hlodiff.ir import read_text
    from hlodiff.normalize import normalize, to_text

    label = f"{captured.function} on {captured.target}"
    raw = read_text(captured.stablehlo, path=f"{label}: stablehlo.mlir")
    module = restored(normalize(numbered(raw), large_constants=config.large_constants), raw)
    return attach_source(read_text(to_text(module), path=label), source_of(module, str(config.root)))


def left_out(uncompiled: Sequence[Key], discovery: Discovery, chosen: Chosen) -> tuple[str, ...]:
    """What a run that lowers only did not look at, as notes of its report.

    Args:
        uncompiled: programs whose compiled HLO might be another one.
        discovery: what is registered.
        chosen: what the run is about.

    Returns:
        one note for compiled programs and one for what would have to be run; () where nothing is left open.
    """
    notes = []
    if uncompiled:
        named = _listed([f"{key.name} on {key.target}" for key in uncompiled])
        notes.append(f"compiled HLO was not looked at: {named}; `hlodiff check` without --stage compiles")
    functions = {key.function for key in chosen.registered}
    run = [f"scenario {found.name}" for found in chosen.scenarios.registered]
    run += [f"parity of {found.name}" for found in discovery.functions if found.parity and found.name in functions]
    if run:
        notes.append(f"not run, so not looked at: {_listed(run)}; `hlodiff check` without --stage runs them")
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more])
