"""Where an instruction comes from: found by its name in XLA's text or a snapshot, and followed through all passes."""

from __future__ import annotations

from collections import Counter

from hlodiff.differ.computation_matches import Place, at
from hlodiff.differ.edits import text_of
from hlodiff.differ.grouping import Origins
from hlodiff.differ.limits import Limits
from hlodiff.differ.passes.origin import InstructionOrigin, PassHistory, origin_of
from hlodiff.differ.passes.steps import followed
from hlodiff.errors import expected_error
from hlodiff.hlo import read_text
from hlodiff.hlo.model import Frame, Instruction, Module
from hlodiff.inspect.origin_report import OriginView
from hlodiff.normalizer import normalize, to_text
from hlodiff.workflows.passes import DumpedProgram
from hlodiff.workflows.sides import SideFailure

_MOST = 5
_MOST_NAMES = 8
# Operations of StableHLO that HLO calls otherwise; the others differ in `_` and `-` alone.
_IN_HLO = {
    "dot_general": "dot",
    "broadcast_in_dim": "broadcast",
    "real_dynamic_slice": "dynamic-slice",
    "chlo.erf": "erf",
    "case": "conditional",
    "if": "conditional",
}


def origin_views(
    name: str, target: str | None, found: DumpedProgram | SideFailure, asked: str, limits: Limits
) -> list[OriginView]:
    """Where the instructions of one name come from in one program.

    Args:
        name, target: which program.
        found: its dump, or why there is none.
        asked: the instruction's name, in any text of the dump or in a snapshot; with or without `%`.
        limits: how much may be tried for each pass.
    """
    if isinstance(found, SideFailure):
        return [OriginView(name, target, asked, problem=found.reason, advice=found.advice, broken=found.broken)]
    try:
        history = PassHistory.of(found.dump, limits)
        state, places = _found(history, asked)
        if not places:
            return [OriginView(name, target, asked, problem=f"holds no instruction `{asked}`", advice=_near(history))]
        operations = _Operations(read_text(found.stablehlo)) if found.stablehlo else None
        origins = [origin_of(history, state, place, max(len(places) - _MOST, 0)) for place in places[:_MOST]]
    except Exception as error:
        known = expected_error(error)
        return [OriginView(name, target, asked, problem=str(known), advice=known.hint, broken=True)]
    return [
        OriginView(name, target, asked, one, operations.of(history.modules[0], one) if operations else "")
        for one in origins
    ]


def _found(history: PassHistory, asked: str) -> tuple[int, list[Place]]:
    """The instructions of a name: in the last text that has one, or as a snapshot of the last text names them."""
    state, places = history.find(asked)
    if places:
        return state, places
    module = history.modules[-1]
    stored = read_text(to_text(normalize(module)))
    wanted = asked.removeprefix("%")
    named = {
        (c, n)
        for c, body in enumerate(stored.computations)
        for n, it in enumerate(body.instructions)
        if it.name == wanted
    }
    if not named:
        return -1, []
    _, mapping, _ = followed(module, stored)
    return len(history.steps), sorted(old for old, new in mapping.items() if new in named)


def _near(history: PassHistory) -> str:
    """Names that there are: those that a question is most likely about."""
    body = history.modules[-1].entry_computation.instructions
    names = [f"%{it.name}" for it in body if it.opcode not in ("parameter", "constant", "tuple", "bitcast")]
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"its entry holds {', '.join(names[:_MOST_NAMES])}{more}; `--all` of `inspect passes` lists every text"


class _Operations:
    """The operations of a StableHLO program, by what the first text of a dump shows of them too."""

    def __init__(self, module: Module) -> None:
        self.module = module
        origins = Origins(module)
        self.found: dict[tuple[object, ...], list[Place]] = {}
        for c, body in enumerate(module.computations):
            for n, it in enumerate(body.instructions):
                opcode = _IN_HLO.get(it.opcode, it.opcode.replace("_", "-"))
                self.found.setdefault((opcode, _line(module.stack(it.frame)), _last(origins.op_name(c, n))), []).append(
                    (c, n)
                )

    def of(self, first: Module, origin: InstructionOrigin) -> str:
        """The operation that an instruction of the first text was made of; "" where several may be meant."""
        if origin.first is None:
            return ""
        places = Counter(_key(first, it) for body in first.computations for it in body.instructions)
        it = at(first, (origin.first.computation, origin.first.instruction))
        key = _key(first, it)
        found = self.found.get(key, [])
        if len(found) != places[key] or not found:
            return ""
        same = [one for body in first.computations for one in body.instructions if _key(first, one) == key]
        number = next(n for n, one in enumerate(same) if one is it)
        return text_of(self.module, found[number]) if len(found) == 1 or len(first.computations) == 1 else ""


def _key(module: Module, it: Instruction) -> tuple[object, ...]:
    return it.opcode, _line(module.stack(it.frame)), _last(it.op_name)


def _line(frames: tuple[Frame, ...]) -> tuple[str, int] | None:
    return (frames[0].file, frames[0].line) if frames else None


def _last(op_name: str) -> str:
    return op_name.rpartition("/")[2]
