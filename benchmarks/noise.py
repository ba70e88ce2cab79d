"""Noise: all differences between two captures of the same program that mean nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.edits_fields import read_config, write_config
from benchmarks.workbench import Body, Node, Workpiece
from hlodiff.hlo.model import is_commutative

# Cost-model estimates and other keys of backend_config that are not part of the program.
_ESTIMATES = frozenset(
    ["estimated_cycles", "estimated_bundle_count", "ml_estimated_microseconds", "estimated_vmem_bytes",
     "estimated_scoped_vmem_bytes", "retry_count", "operation_queue_id", "offset"]
)  # fmt: skip
_SEQUENTIAL = ("while", "conditional", "call", "async-start")


@dataclass(frozen=True, slots=True)
class Noise:
    """The kinds of noise to add; the fields are the names that `--noise` takes."""

    names: bool = True
    computations: bool = True
    order: bool = True  # of instructions, if their order means nothing
    schedule: bool = False  # also of instructions of a scheduled program: reported in the schedule channel
    metadata: str = "stripped"  # "same", "shifted" (different lines and paths) or "stripped"
    channels: bool = True
    config: bool = True
    parameters: bool = True
    commutative: bool = True
    header: bool = True


QUIET = Noise(False, False, False, False, "same", False, False, False, False, False)


def random_noise(chance: Random, schedule: bool) -> Noise:
    """All kinds of noise, with a random kind of metadata."""
    return Noise(schedule=schedule, metadata=chance.choice(("same", "shifted", "stripped")))


def add_noise(piece: Workpiece, noise: Noise, chance: Random, keep: set[int]) -> None:
    """Add noise to a workpiece in place.

    Args:
        piece: the program.
        noise: the kinds.
        chance: the random generator.
        keep: `id`s of edited nodes, whose operands are not swapped and whose cost estimates are not changed.
    """
    if noise.parameters and piece.stage == "compiled":
        _permute_parameters(piece, chance, keep)
    if noise.commutative:
        _swap_commutative(piece, chance, keep)
    if noise.channels:
        _renumber_channels(piece, chance)
    if noise.config:
        _shuffle_config(piece, chance)
    if noise.order:
        sites = piece.all_call_sites()
        for body in piece.bodies:
            if _order_is_free(piece, body, sites) or noise.schedule:
                _reorder(piece, body, chance)
    if noise.computations:
        piece.bodies = _reordered_bodies(piece, chance)
    if noise.metadata != "same":
        _metadata(piece, noise.metadata == "shifted")
    if noise.header:
        _header(piece, chance)
    if noise.names:
        _rename(piece, chance)


def _permute_parameters(piece: Workpiece, chance: Random, keep: set[int]) -> None:
    sites = piece.all_call_sites()
    for _, node in list(piece.walk()):
        config = node.record.attribute("backend_config") or ""
        aliasing = '"indices"' in config or node.record.attribute("output_to_operand_aliasing") is not None
        if node.opcode != "fusion" or id(node) in keep or aliasing or len(node.operands) < 2:
            continue
        body = node.callees[0]
        # Library kernels bind their operands by position, whatever the body says.
        if len(sites[id(body)]) > 1 or node.record.attribute("kind") == "kCustom":
            continue
        order = list(range(len(node.operands)))
        chance.shuffle(order)
        parameters = body.parameters()
        node.operands = [node.operands[n] for n in order]
        for number, n in enumerate(order):
            parameters[n].record = replace(parameters[n].record, literal=str(number))


def _swap_commutative(piece: Workpiece, chance: Random, keep: set[int]) -> None:
    for _, node in piece.walk():
        plain = len(node.operands) == 2 and not node.record.results and id(node) not in keep
        if plain and is_commutative(node.record) and chance.random() < 0.5:
            node.operands = node.operands[::-1]


def _renumber_channels(piece: Workpiece, chance: Random) -> None:
    numbers: dict[str, str] = {}
    for _, node in piece.walk():
        now = node.record.attribute("channel_id")
        if now is not None:
            node.set_attribute("channel_id", numbers.setdefault(now, str(len(numbers) * 3 + chance.randrange(1, 4))))


def _shuffle_config(piece: Workpiece, chance: Random) -> None:
    for _, node in piece.walk():
        config = read_config(node)
        if config is not None:
            write_config(node, _shuffled(config, chance))


def _shuffled(value: Any, chance: Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(one, chance) for one in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {k: _estimate(value[k], chance) if k in _ESTIMATES else _shuffled(value[k], chance) for k in keys}


def _estimate(value: Any, chance: Random) -> Any:
    number = chance.randrange(1, 10_000)
    return str(number) if isinstance(value, str) else number


def _order_is_free(piece: Workpiece, body: Body, sites: dict[int, list[Node]]) -> bool:
    if piece.stage == "stablehlo" or piece.attribute("is_scheduled") != "true":
        return True
    return body is not piece.entry and not any(node.opcode in _SEQUENTIAL for node in sites[id(body)])


def _reorder(piece: Workpiece, body: Body, chance: Random) -> None:
    """A random topological order; in StableHLO parameters stay first and the terminator last."""
    if piece.stage == "stablehlo" and any(node.opcode == "custom_call" for node in body.nodes):
        return  # calls with side effects keep their order
    waiting: dict[int, int] = {}
    users: dict[int, list[Node]] = {id(node): [] for node in body.nodes}
    for node in body.nodes:
        before = {id(b): b for b in (*node.operands, *node.control)}
        waiting[id(node)] = len(before)
        for other in before.values():
            users[id(other)].append(node)
    last = body.root if piece.stage == "stablehlo" else None
    fixed = body.parameters() if piece.stage == "stablehlo" else []
    ready = [n for n in body.nodes if not waiting[id(n)] and n not in fixed and n is not last][::-1]
    order: list[Node] = []
    for node in iter(lambda: _take(fixed, ready, chance), None):
        order.append(node)
        for user in users[id(node)]:
            waiting[id(user)] -= 1
            if not waiting[id(user)] and user is not last:
                ready.append(user)
    body.nodes = [*order, *([last] if last is not None else [])]


def _take(fixed: list[Node], ready: list[Node], chance: Random) -> Node | None:
    if fixed:
        return fixed.pop(0)
    if not ready:
        return None
    at = chance.randrange(len(ready))
    ready[at], ready[-1] = ready[-1], ready[at]
    return ready.pop()


def _reordered_bodies(piece: Workpiece, chance: Random) -> list[Body]:
    """The bodies in random order, callees before callers."""
    order: dict[int, Body] = {}
    bodies = [body for body in piece.bodies if body is not piece.entry]
    chance.shuffle(bodies)
    for start in (*bodies, piece.entry):
        stack = [start]
        while stack:
            body = stack[-1]
            missing = [c for node in body.nodes for c in node.callees if id(c) not in order]
            if missing and id(body) not in order:
                stack.extend(missing)
            else:
                order.setdefault(id(body), body)
                stack.pop()
    return list(order.values())


def _metadata(piece: Workpiece, shifted: bool) -> None:
    if shifted:
        piece.frames = tuple(replace(f, file="/other" + f.file, line=f.line + 40) for f in piece.frames)
        return
    piece.frames = ()
    for _, node in piece.walk():
        node.record = replace(node.record, op_name="", frame=-1, metadata="")


def _header(piece: Workpiece, chance: Random) -> None:
    piece.name = f"renamed_{chance.randrange(1000)}" if piece.stage == "compiled" else piece.name
    if piece.stage == "compiled":
        for name in ("allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output"):
            piece.set_attribute(name, None)
        hints = piece.attribute("frontend_attributes") or ""
        if hints.startswith("{fingerprint_before_lhs=") and "," not in hints:
            piece.set_attribute("frontend_attributes", f'{{fingerprint_before_lhs="{chance.getrandbits(128):032x}"}}')


def _rename(piece: Workpiece, chance: Random) -> None:
    keep_entry = piece.stage == "stablehlo"
    for number, body in enumerate(piece.bodies):
        body.record = replace(
            body.record, name=body.record.name if keep_entry and body is piece.entry else f"c{number}.x"
        )
        numbers = list(range(len(body.nodes)))
        chance.shuffle(numbers)
        for node, n in zip(body.nodes, numbers, strict=True):
            node.record = replace(node.record, name=f"v{n}.{number}")


def is_scheduled(piece: Workpiece) -> bool:
    """Whether the printed order is the order of execution."""
    return piece.attribute("is_scheduled") == "true"
