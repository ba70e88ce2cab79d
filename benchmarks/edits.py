"""All kinds of edits by name, and functions that make one or several on a program."""

from __future__ import annotations

from random import Random

from benchmarks import edits_dataflow, edits_fields, edits_fusion
from benchmarks.truth import Bench, Made, Maker
from benchmarks.workbench import Workpiece

EDITS: dict[str, Maker] = {
    "insert-all": edits_dataflow.insert_on_all_edges,
    "insert-one": edits_dataflow.insert_on_one_edge,
    "delete": edits_dataflow.delete,
    "opcode": edits_dataflow.opcode,
    "operand-order": edits_dataflow.operand_order,
    "literal": edits_fields.literal,
    "shape": edits_fields.dimension,
    "element-type": edits_fields.element_type,
    "shape-and-type": edits_fields.shape_and_type,
    "layout": edits_fields.layout,
    "tiling": edits_fields.tiling,
    "memory-space": edits_fields.memory_space,
    "sharding": edits_fields.sharding,
    "fusion-kind": edits_fields.fusion_kind,
    "replica-groups": edits_fields.replica_groups,
    "custom-call-target": edits_fields.custom_call_target,
    "direction": edits_fields.direction,
    "backend-config": edits_fields.backend_config,
    "tuning": edits_fields.tuning,
    "control-edge": edits_fields.control_edge,
    "donation": edits_fusion.donation,
    "into-fusion": edits_fusion.into_fusion,
    "out-of-fusion": edits_fusion.out_of_fusion,
    "split": edits_fusion.split,
    "merge": edits_fusion.merge,
    "layer": edits_dataflow.layer,
}
# Edits that leave valid MLIR: its verifier checks shapes, so a leaf's shape cannot change alone.
STABLEHLO = (
    "insert-all", "insert-one", "delete", "opcode", "operand-order", "literal", "sharding", "custom-call-target",
    "donation", "layer",
)  # fmt: skip
# Edits that `make_several` combines: each is one true edit in the program channel, at one place.
SEVERAL = (
    "insert-all", "insert-one", "delete", "opcode", "operand-order", "literal", "layout", "memory-space", "fusion-kind",
    "backend-config", "direction", "element-type",
)  # fmt: skip


def kinds(stage: str) -> tuple[str, ...]:
    """Names of the edits that apply to a stage."""
    return tuple(EDITS) if stage == "compiled" else STABLEHLO


def make_one(piece: Workpiece, kind: str, chance: Random) -> Made | None:
    """Make one edit on a workpiece; None, with the workpiece unchanged, if the program has no place for it."""
    return EDITS[kind](Bench(piece, chance))


def make_several(piece: Workpiece, count: int, chance: Random) -> list[Made]:
    """Make up to `count` edits of random kinds that touch disjoint nodes."""
    bench = Bench(piece, chance)
    names = [name for name in SEVERAL if name in kinds(piece.stage)]
    made: list[Made] = []
    while len(made) < count and names:
        name = chance.choice(names)
        one = EDITS[name](bench)
        if one is None:
            names.remove(name)
            continue
        bench.busy.update(id(node) for node in one.touched)
        made.append(one)
    return made
