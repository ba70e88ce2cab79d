"""Edits of one instruction's fields: literal, shape, layout, memory space, sharding, replica groups and so on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.truth import Bench, Made, around, changed
from benchmarks.workbench import Body, Node, descendants
from hlodiff.hlo.model import Layout, Shape

_NUMBER = re.compile(r"(?<![\w.#])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TYPES = {"f32": "f64", "f64": "f32", "bf16": "f16", "f16": "bf16", "s32": "s64", "s64": "s32", "u32": "u64"}
_GROUPS = ("{{0,1,2,3}}", "{{0,1},{2,3}}", "{{0,2},{1,3}}", "{{0},{1},{2},{3}}")
_SHARDINGS = (
    "{replicated}",
    "{devices=[4,1]<=[4]}",
    "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
    "{maximal device=0}",
)
# They take no time, so their order means nothing.
_FREE = ("parameter", "constant", "get-tuple-element", "tuple", "bitcast")
_LEAVES = ("constant", "iota", "parameter")


def _simple(fields: tuple[str, ...], only: Callable[[Node], bool], change: Callable[[Bench, Body, Node], bool]) -> Any:
    """A function that tries nodes in random order until `change` changes one."""

    def make(bench: Bench) -> Made | None:
        for body, node in bench.shuffled(only):
            before = node.record
            if change(bench, body, node) and node.record != before:
                return Made((changed(node, *fields),), around(body, node))
            node.record = before
        return None

    return make


def _literal(bench: Bench, body: Body, node: Node) -> bool:
    text = node.record.literal or node.record.attribute("value") or ""
    inside = re.sub(r":.*", "", text) if text.startswith("dense") else text
    if "..." in text or '"' in text or "0x" in text:
        return False
    if inside in ("true", "false", "dense<true>", "dense<false>"):
        new = text.replace("true", "FALSE").replace("false", "true").replace("FALSE", "false")
    else:
        numbers = [m for m in _NUMBER.finditer(inside) if m.group() not in ("",)]
        if not numbers:
            return False
        match = bench.chance.choice(numbers)
        new = text[: match.start()] + _another(match.group(), node.shape.element_type) + text[match.end() :]
    if node.record.literal is not None:
        node.record = replace(node.record, literal=new)
    else:
        node.set_attribute("value", new)
    return True


def _another(number: str, element_type: str) -> str:
    if element_type == "pred":
        return "0" if number == "1" else "1"
    if element_type.startswith(("s", "u")):
        return "3" if number != "3" else "5"
    return "0.375" if number != "0.375" else "0.625"


def _header_fits(bench: Bench) -> bool:
    """Whether the header's entry layout repeats the shapes of parameters and root, so that it can be rewritten."""
    return bench.piece.attribute("entry_computation_layout") == _entry_layout(bench)


def _entry_layout(bench: Bench) -> str:
    entry = bench.piece.entry
    inside = ", ".join(node.shape.text for node in entry.parameters())
    return f"{{({inside})->{entry.root.shape.text}}}"


def _reshape(bench: Bench, body: Body, node: Node, shape: Shape) -> bool:
    """Change the shape of a node. For entry parameters and the root the header follows; False if it cannot."""
    border = body is bench.piece.entry and (node.opcode == "parameter" or node is body.root)
    if border and not _header_fits(bench):
        return False
    node.record = replace(node.record, shape=shape)
    if border:
        bench.piece.set_attribute("entry_computation_layout", _entry_layout(bench))
    return True


def _leaf(bench: Bench, body: Body, node: Node) -> bool:
    return node.opcode != "parameter" or body is bench.piece.entry


def _dimension(bench: Bench, body: Body, node: Node) -> bool:
    sizes = list(node.shape.dimensions)
    if not sizes or not _leaf(bench, body, node) or node.opcode == "constant":
        return False
    sizes[bench.chance.randrange(len(sizes))] += bench.chance.choice((1, 3, 8))
    return _reshape(bench, body, node, replace(node.shape, dimensions=tuple(sizes)))


def _element_type(bench: Bench, body: Body, node: Node) -> bool:
    other = _TYPES.get(node.shape.element_type)
    if other is None or not _leaf(bench, body, node):
        return False
    return _reshape(bench, body, node, replace(node.shape, element_type=other))


def _shape_and_type(bench: Bench, body: Body, node: Node) -> bool:
    return _dimension(bench, body, node) and _element_type(bench, body, node)


def _layout(bench: Bench, body: Body, node: Node) -> bool:
    layout = node.shape.layout
    if layout is None or len(layout.minor_to_major) < 2 or node.opcode == "bitcast":
        return False
    order = list(layout.minor_to_major)
    while tuple(order) == layout.minor_to_major:
        bench.chance.shuffle(order)
    return _reshape(bench, body, node, replace(node.shape, layout=replace(layout, minor_to_major=tuple(order))))


def _memory_space(bench: Bench, body: Body, node: Node) -> bool:
    layout = node.shape.layout
    if layout is None or not node.shape.dimensions:
        return False
    space = bench.chance.choice([s for s in (0, 1, 5) if s != layout.memory_space])
    return _reshape(bench, body, node, replace(node.shape, layout=replace(layout, memory_space=space)))


def _tiling(bench: Bench, body: Body, node: Node) -> bool:
    layout = node.shape.layout or Layout()
    if not layout.tiling or len(node.shape.dimensions) < 2:
        return False
    tiling = bench.chance.choice([t for t in ("(8,128)", "(2,128)", "(8,128)(2,1)", "(4,128)") if t != layout.tiling])
    return _reshape(bench, body, node, replace(node.shape, layout=replace(layout, tiling=tiling)))


def _sharding(bench: Bench, body: Body, node: Node) -> bool:
    if bench.piece.stage == "stablehlo":
        return _mlir_sharding(bench, node)
    if bench.piece.attribute("num_partitions") is None or body is not bench.piece.entry:
        return False
    now = node.record.attribute("sharding")
    node.set_attribute("sharding", bench.chance.choice([s for s in _SHARDINGS if s != now]))
    return True


def _mlir_sharding(bench: Bench, node: Node) -> bool:
    now = node.record.attribute("sdy.sharding")
    meshes = [v for k, v in bench.piece.attributes if k.startswith("sdy.mesh") and '"d"=2' in v]
    if now is None or not meshes or ("{}" not in now and '{"' not in now):
        return False
    found = re.search(r'\{\}|\{"\w+"\}', now)
    if found is None:
        return False
    unused = [a for a in ("d", "m") if f'"{a}"' not in now]
    new = "{}" if found.group() != "{}" else f'{{"{unused[0]}"}}' if unused else "{}"
    node.set_attribute("sdy.sharding", now[: found.start()] + new + now[found.end() :])
    return True


def _fusion_kind(bench: Bench, body: Body, node: Node) -> bool:
    now = node.record.attribute("kind")
    node.set_attribute("kind", bench.chance.choice([k for k in ("kLoop", "kInput", "kOutput") if k != now]))
    return True


def _replica_groups(bench: Bench, body: Body, node: Node) -> bool:
    now = node.record.attribute("replica_groups")
    if now is None:
        return False
    node.set_attribute("replica_groups", bench.chance.choice([g for g in _GROUPS if g != now]))
    return True


def _custom_call_target(bench: Bench, body: Body, node: Node) -> bool:
    for name, quote in (("custom_call_target", '"'), ("call_target_name", "")):
        now = node.record.attribute(name)
        if now is not None:
            bare = now.strip('"@')
            node.set_attribute(name, f'"{bare}Two"' if quote else now.replace(bare, bare + "Two"))
            return True
    return False


def _direction(bench: Bench, body: Body, node: Node) -> bool:
    now = node.record.attribute("direction")
    if now is None:
        return False
    node.set_attribute("direction", {"LT": "LE", "LE": "LT", "GT": "GE", "GE": "GT", "EQ": "NE", "NE": "EQ"}[now])
    return True


def read_config(node: Node) -> dict[str, Any] | None:
    """`backend_config` if it is a JSON object, else None."""
    try:
        found = json.loads(node.record.attribute("backend_config") or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def write_config(node: Node, config: dict[str, Any]) -> None:
    """Write `backend_config` as XLA prints it."""
    node.set_attribute("backend_config", json.dumps(config, separators=(",", ":")))


def _backend_config(bench: Bench, body: Body, node: Node) -> bool:
    config = read_config(node)
    if config is None:
        return False
    for outer, inner, value in (
        ("fusion_config", "kind", "__another_fusion"),
        ("fusion_backend_config", "kind", "__another_fusion"),
        ("window_config", "output_window_bounds", ["3", "5"]),
        ("custom_call_backend_config", "attributes", "another"),
        ("aliasing_operands", "lists", [{"indices": ["0", "1"]}]),
    ):
        if isinstance(config.get(outer), dict) and config[outer].get(inner, value) != value:
            config[outer][inner] = value
            write_config(node, config)
            return True
    return False


def tuning(bench: Bench) -> Made | None:
    """Change the tile, warp count or stage count of a GPU kernel."""
    for body, node in bench.shuffled(
        lambda n: "block_level_fusion_config" in (n.record.attribute("backend_config") or "")
    ):
        config = read_config(node)
        if config is None:
            continue
        tiles = config["fusion_backend_config"]["block_level_fusion_config"]
        tiles["num_warps"] = "2" if tiles.get("num_warps") != "2" else "16"
        write_config(node, config)
        return Made((changed(node, "backend_config", channel="tuning"),), around(body, node))
    return None


def control_edge(bench: Bench) -> Made | None:
    """Add a control predecessor: an edit of the schedule channel, not of the program."""
    for body, node in bench.shuffled(lambda n: n.opcode not in _FREE and not n.control):
        if in_fusion(bench, body):
            continue
        # Neither a descendant nor already an ancestor, and printed before the node: the order stays legal.
        before = body.nodes[: body.nodes.index(node)]
        others = [n for n in before if n.opcode not in _FREE and id(node) not in descendants(body, n)]
        if not others:
            continue
        node.control = [bench.chance.choice(others)]
        return Made((changed(node, "schedule", channel="schedule"),), around(body, node))
    return None


def in_fusion(bench: Bench, body: Body) -> bool:
    """Whether order and control edges mean nothing in a body, as inside a fusion or a reduction."""
    return body is not bench.piece.entry and not any(
        node.opcode in ("while", "conditional", "call") for _, node in bench.piece.call_sites(body)
    )


literal = _simple(("literal",), lambda n: n.opcode == "constant", _literal)
dimension = _simple(("shape",), lambda n: n.opcode in _LEAVES and n.shape.is_array, _dimension)
element_type = _simple(("element_type",), lambda n: n.opcode in _LEAVES and n.shape.is_array, _element_type)
shape_and_type = _simple(("shape", "element_type"), lambda n: n.opcode in _LEAVES and n.shape.is_array, _shape_and_type)
layout = _simple(("layout",), lambda n: n.shape.is_array, _layout)
tiling = _simple(("layout",), lambda n: n.shape.is_array, _tiling)
memory_space = _simple(("memory_space",), lambda n: n.shape.is_array, _memory_space)
sharding = _simple(("sharding",), lambda n: n.opcode in ("parameter", "custom-call"), _sharding)
fusion_kind = _simple(("fusion_kind",), lambda n: n.opcode == "fusion", _fusion_kind)
replica_groups = _simple(("replica_groups",), lambda n: True, _replica_groups)
custom_call_target = _simple(
    ("custom_call_target",), lambda n: n.opcode in ("custom-call", "custom_call"), _custom_call_target
)
direction = _simple(("attribute:direction",), lambda n: n.opcode == "compare", _direction)
backend_config = _simple(("backend_config",), lambda n: True, _backend_config)
