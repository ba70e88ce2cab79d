"""Edits of fusions (an instruction moves in or out, one splits, two merge) and of donation."""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.edits_dataflow import FLOAT_UNARY
from benchmarks.truth import Bench, Made, TrueEdit, around
from benchmarks.workbench import Body, Node, topological
from hlodiff.hlo.model import Computation, Instruction

_ELEMENTWISE = (*FLOAT_UNARY, "not", "convert", "copy", "logistic")
_ENTRY = re.compile(r"\{[\d, ]*\}: \(\d+, \{[\d, ]*\}(?:, [\w-]+)?\)")


def _own_body(bench: Bench, fusion: Node) -> Body | None:
    """The body of a fusion, if nothing else calls it and it has no index-based config that an edit would break."""
    config = fusion.record.attribute("backend_config") or ""
    if fusion.opcode != "fusion" or not fusion.callees or '"indices"' in config:
        return None
    if fusion.record.attribute("output_to_operand_aliasing") is not None or _is_ordered(bench, fusion):
        return None
    body = fusion.callees[0]
    return body if len(bench.piece.call_sites(body)) == 1 else None


def _is_ordered(bench: Bench, node: Node) -> bool:
    """Whether a control edge starts or ends at a node; such nodes are not moved."""
    return bool(node.control) or any(before is node for _, other in bench.piece.walk() for before in other.control)


def _moved(node: Node) -> TrueEdit:
    return TrueEdit("moved", old=node.old, node=node)


def into_fusion(bench: Bench) -> Made | None:
    """Move a unary instruction into the fusion that is its only user."""
    for owner, fusion in bench.shuffled(lambda n: n.opcode == "fusion"):
        body = _own_body(bench, fusion)
        if body is None:
            continue
        for slot, node in enumerate(fusion.operands):
            if node.opcode not in _ELEMENTWISE or node.operands[0].shape != node.shape or node is owner.root:
                continue
            if _is_ordered(bench, node):
                continue
            if owner.users(node) != [fusion] or fusion.operands.count(node) != 1 or node.operands[0] in fusion.operands:
                continue
            parameter = body.parameters()[slot]
            touched = (*around(owner, node, fusion), *around(body, parameter))
            if not bench.free(*touched):
                continue
            for user in body.users(parameter):
                user.operands = [node if o is parameter else o for o in user.operands]
            if body.root is parameter:
                body.root = node
            fusion.operands = [node.operands[0] if o is node else o for o in fusion.operands]
            owner.nodes.remove(node)
            node.operands = [parameter]
            body.nodes.insert(body.nodes.index(parameter) + 1, node)
            return Made((_moved(node),), touched)
    return None


def out_of_fusion(bench: Bench) -> Made | None:
    """Move the unary root of a fusion out, to a place after it."""
    for owner, fusion in bench.shuffled(lambda n: n.opcode == "fusion"):
        body = _own_body(bench, fusion)
        if body is None or len(body.nodes) < 4:
            continue
        node = body.root
        if node.opcode not in _ELEMENTWISE or node.operands[0].shape != node.shape or body.users(node):
            continue
        if node.operands[0].opcode == "parameter":
            continue
        touched = (*around(owner, fusion), *around(body, node))
        users = owner.users(fusion)
        if not bench.free(*touched):
            continue
        body.root = node.operands[0]
        body.nodes.remove(node)
        node.operands = [fusion]
        for user in users:
            user.operands = [node if o is fusion else o for o in user.operands]
        if owner.root is fusion:
            owner.root = node
        owner.nodes.insert(owner.nodes.index(fusion) + 1, node)
        return Made((_moved(node),), touched)
    return None


def split(bench: Bench) -> Made | None:
    """Split a loop fusion: the producers of one intermediate value move to a fusion of their own."""
    for owner, fusion in bench.shuffled(lambda n: n.record.attribute("kind") == "kLoop"):
        body = _own_body(bench, fusion)
        found = _cut(bench, body) if body is not None and bench.free(fusion, *body.nodes) else None
        if body is None or found is None:
            continue
        value, inside = found
        rest = [n for n in body.nodes if n not in inside and n.opcode != "parameter"]
        touched = (*around(owner, fusion), *body.nodes)
        _split(bench, owner, fusion, body, value, inside)
        halves = (tuple(map(_moved, inside)), tuple(map(_moved, rest)))
        return Made((), touched, halves, "split")
    return None


def _cut(bench: Bench, body: Body) -> tuple[Node, list[Node]] | None:
    """A value and all nodes that only it needs, at least two instructions on each side."""
    values = [n for n in body.nodes if n is not body.root and n.opcode not in ("parameter", "constant", "tuple")]
    bench.chance.shuffle(values)
    for value in values:
        inside = [value]
        for node in inside:
            inside += [o for o in node.operands if o.opcode != "parameter" and o not in inside]
        leaks = any(u not in inside for n in inside if n is not value for u in body.users(n))
        rest = len(body.nodes) - len(inside) - len(body.parameters())
        if (
            not leaks
            and len(inside) >= 2
            and rest >= 2
            and any(o.opcode == "parameter" for n in inside for o in n.operands)
        ):
            return value, [n for n in topological(body) if n in inside]
    return None


def _split(bench: Bench, owner: Body, fusion: Node, body: Body, value: Node, inside: list[Node]) -> None:
    old_parameters = body.parameters()
    used = [p for p in old_parameters if any(p in n.operands for n in inside)]
    fresh = {id(p): _parameter(bench, p, n) for n, p in enumerate(used)}
    users = body.users(value)
    for node in inside:
        node.operands = [fresh.get(id(o), o) for o in node.operands]
    name = bench.piece.fresh("fused_computation")
    first = Body(Computation(name, (), 0), [*fresh.values(), *inside], value)
    bench.piece.bodies.insert(0, first)
    record = replace(fusion.record, name=bench.piece.fresh("fusion"), shape=value.shape, op_name=value.record.op_name)
    call = Node(record, [fusion.operands[old_parameters.index(p)] for p in used], calls=[("calls", [first])])
    entry = _parameter(bench, value, len(old_parameters))
    for user in users:
        if user not in inside:
            user.operands = [entry if o is value else o for o in user.operands]
    body.nodes = [entry, *(n for n in body.nodes if n not in inside)]
    fusion.operands = [*fusion.operands, call]
    _drop_unused_parameters(body, fusion)
    owner.nodes.insert(owner.nodes.index(fusion), call)


def _parameter(bench: Bench, like: Node, number: int) -> Node:
    return Node(Instruction(bench.piece.fresh("param"), "parameter", like.shape, literal=str(number)))


def _drop_unused_parameters(body: Body, fusion: Node) -> None:
    parameters = body.parameters()
    kept = [p for p in parameters if body.users(p) or p is body.root]
    fusion.operands = [fusion.operands[parameters.index(p)] for p in kept]
    body.nodes = [n for n in body.nodes if n.opcode != "parameter" or n in kept]
    for number, node in enumerate(kept):
        node.record = replace(node.record, literal=str(number))


def merge(bench: Bench) -> Made | None:
    """Merge a fusion into the fusion that is its only user."""
    for owner, fusion in bench.shuffled(lambda n: n.record.attribute("kind") == "kLoop"):
        body = _own_body(bench, fusion)
        for first in fusion.operands if body is not None else ():
            inner = _own_body(bench, first)
            if inner is None or body is None or inner is body or inner.root.opcode == "parameter":
                continue
            if owner.users(first) != [fusion] or fusion.operands.count(first) != 1 or first is owner.root:
                continue
            touched = (*around(owner, first, fusion), *inner.nodes, *body.nodes)
            if inner.root.opcode == "tuple" or not bench.free(*touched):
                continue
            ours = [n for n in inner.nodes if n.opcode != "parameter"]
            theirs = [n for n in body.nodes if n.opcode != "parameter"]
            _merge(bench, owner, fusion, body, first, inner)
            halves = (tuple(map(_moved, ours)), tuple(map(_moved, theirs)))
            return Made((), touched, halves, "merged")
    return None


def _merge(bench: Bench, owner: Body, fusion: Node, body: Body, first: Node, inner: Body) -> None:
    slot = fusion.operands.index(first)
    entry = body.parameters()[slot]
    known = {id(operand): p for operand, p in zip(fusion.operands, body.parameters(), strict=True)}
    links: dict[int, Node] = {}
    for operand, parameter in zip(first.operands, inner.parameters(), strict=True):
        if id(operand) not in known:
            known[id(operand)] = _parameter(bench, parameter, len(body.parameters()))
            body.nodes.insert(0, known[id(operand)])
            fusion.operands = [*fusion.operands, operand]
        links[id(parameter)] = known[id(operand)]
    moving = [n for n in inner.nodes if n.opcode != "parameter"]
    for node in moving:
        node.operands = [links.get(id(o), o) for o in node.operands]
    for user in body.users(entry):
        user.operands = [inner.root if o is entry else o for o in user.operands]
    if body.root is entry:
        body.root = inner.root
    body.nodes = topological(Body(body.record, [*moving, *body.nodes], body.root))
    _drop_unused_parameters(body, fusion)
    owner.nodes.remove(first)
    bench.piece.bodies.remove(inner)


def donation(bench: Bench) -> Made | None:
    """Add or remove the donation of an argument."""
    if bench.piece.stage == "stablehlo":
        return _donation_attribute(bench)
    now = bench.piece.attribute("input_output_alias")
    if now is None:
        new = "{ {}: (0, {}, may-alias) }"
        if bench.piece.entry.root.opcode == "tuple" or not bench.piece.entry.parameters():
            new = "{ {0}: (0, {}, may-alias) }"
    else:
        entries = _ENTRY.findall(now)
        entries.remove(bench.chance.choice(entries))
        new = "{ " + ", ".join(entries) + " }" if entries else ""
    bench.piece.set_attribute("input_output_alias", new or None)
    return Made((TrueEdit("changed", ("alias",)),))


def _donation_attribute(bench: Bench) -> Made | None:
    for body, node in bench.shuffled(lambda n: n.record.attribute("tf.aliasing_output") is not None):
        node.set_attribute("tf.aliasing_output", None)
        return Made((TrueEdit("changed", ("alias",), node.old, node),), around(body, node))
    return None
