"""Which fields of two matched instructions differ, with both values. Field names do not depend on target and stage."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from hlodiff.differ.placement import format_memory_space, sharding_of_values
from hlodiff.differ.result import FieldChange
from hlodiff.hlo.collectives import result_shape
from hlodiff.hlo.grammar import Unbalanced, load_json, print_layout, split_commas, unquote
from hlodiff.hlo.model import Instruction, Layout, Shape
from hlodiff.normalizer.constants import is_elided

# The sharding that JAX gave, on programs that XLA did not partition.
_AS_GIVEN = "frontend_attributes.xla.sdy.sharding"
# Every field, in the order in which a change names them, and the attributes that are compared by its name.
FIELDS: dict[str, tuple[str, ...]] = {
    "opcode": (),
    "element_type": (),
    "shape": (),
    "layout": (),
    "memory_space": ("mhlo.memory_kind",),
    "sharding": ("sharding", "sdy.sharding", "mhlo.sharding", _AS_GIVEN),
    "compute_type": (),
    "operands": (),
    # What the normalizer substitutes for large constants.
    "literal": ("frontend_attributes.hlodiff_literal", "hlodiff.constant"),
    "fusion_kind": ("kind",),
    "custom_call_target": ("custom_call_target", "call_target_name"),
    "replica_groups": ("replica_groups", "source_target_pairs"),
    "precision": ("operand_precision", "precision_config", "precision", "algorithm"),
    "backend_config": ("backend_config", "mhlo.backend_config"),
    "alias": ("tf.aliasing_output", "jax.buffer_donor"),
    "schedule": (),
}
_FIELD_OF = {attribute: name for name, attributes in FIELDS.items() for attribute in attributes}
_RANK = {name: rank for rank, name in enumerate(FIELDS)}
_T = TypeVar("_T")
Attributes = tuple[tuple[str, str], ...]
_FRONTEND = frozenset(["frontend_attributes", "mhlo.frontend_attributes"])
# Attributes that an instruction of any opcode can have.
_OF_ANY = frozenset(["sharding", "compute_type"])
_COMPUTE_TYPE = "_xla_compute_type"


def reported_changes(old: Instruction, new: Instruction, platform: Callable[[], str] = str) -> list[FieldChange]:
    """The changes that an edit reports: `field_changes` without fields that only one of two different opcodes has.

    Example:
        >>> iota = Instruction("a", "iota", Shape("f32"), attributes=(("iota_dimension", "0"),))
        >>> tanh = Instruction("a", "tanh", Shape("f32"))
        >>> [change.field for change in reported_changes(iota, tanh)]
        ['opcode']
    """
    changes = field_changes(old, new, platform)
    if old.opcode == new.opcode or len(changes) < 2:
        return changes
    ours, theirs = flat_attributes(old), flat_attributes(new)
    values = {**ours, **theirs}
    silent = {field_of(name, value) for name, value in values.items() if goes_with_opcode(name, ours, theirs)}
    silent -= {field_of(name, value) for name, value in ours.items() if name in theirs}
    if (old.literal is None) != (new.literal is None):
        silent.add("literal")
    return [change for change in changes if change.field not in silent]


def goes_with_opcode(name: str, old: Collection[str], new: Collection[str]) -> bool:
    """Whether an attribute was added or removed only because the opcode changed.

    Args:
        name: of the attribute.
        old, new: names of all attributes on both sides, frontend attributes one by one.
    """
    field = field_of(name)
    # Attributes given by users or JAX do not depend on the opcode.
    is_given = name.startswith("frontend_attributes.") and field != "literal"
    return (name in old) != (name in new) and field not in _OF_ANY and not is_given


def field_changes(old: Instruction, new: Instruction, platform: Callable[[], str] = str) -> list[FieldChange]:
    """Everything but operands, parameter numbers and calls; in the order of FIELDS.

    Args:
        old, new: paired instructions, without noise and tuning.
        platform: returns "tpu", "cuda" or ""; called only where a memory space differs, for its name.

    Returns:
        One FieldChange per field, empty where the two are the same.
    """
    changes: list[FieldChange] = []
    if old.opcode != new.opcode:
        changes.append(FieldChange("opcode", old.opcode, new.opcode))
    if old.shape is not new.shape and old.shape != new.shape:
        changes += _changes_of_shapes(old, new)
        if changes[-1:] and changes[-1].field == "memory_space":
            changes[-1:] = _changes_of_shapes(old, new, platform())[-1:]
    if old.literal != new.literal and "parameter" not in (old.opcode, new.opcode):
        changes.append(FieldChange("literal", old.literal or "", new.literal or ""))
    if old.attributes != new.attributes:
        changes += _attribute_changes(old.attributes, new.attributes)
    # Whether two constants are equal is unknown if one side has no value (`{...}`).
    if old.opcode == new.opcode == "constant" and (is_elided(old) or is_elided(new)):
        changes = [change for change in changes if change.field != "literal"]
    return in_order(changes)


def in_order(changes: list[FieldChange]) -> list[FieldChange]:
    """Sorted in the order of FIELDS, attributes last by name."""
    if len(changes) < 2:
        return changes
    return sorted(changes, key=lambda change: (_RANK.get(change.field, len(FIELDS)), change.field))


def _changes_of_shapes(old: Instruction, new: Instruction, platform: str = "") -> list[FieldChange]:
    """Changes of the whole shape; those of the result where an asynchronous start has its operands in its shape too."""
    changes = list(_shape_changes(old.shape, new.shape, platform))
    results = [result_shape(it.opcode, it.shape) for it in (old, new)]
    if old.opcode != new.opcode or results[0] is old.shape or results[1] is new.shape:
        return changes
    of_result = {change.field: change for change in _shape_changes(results[0], results[1], platform)}
    return in_order([*(one for one in changes if one.field not in of_result), *of_result.values()])


@lru_cache(maxsize=10_000)
def _shape_changes(old: Shape, new: Shape, platform: str = "") -> tuple[FieldChange, ...]:
    if skeleton(old) != skeleton(new):
        return (FieldChange("shape", old.bare.text, new.bare.text),)
    pairs = list(zip(old.leaves, new.leaves, strict=False))
    changes: list[FieldChange] = []
    are_others = has_other_elements(old, new)
    if are_others:
        changes.append(FieldChange("shape", *_other_elements(pairs)))
        # Position does not identify the elements here: only those of one type and size are compared, in order.
        free: dict[str, list[Shape]] = {}
        for _, theirs in pairs:
            free.setdefault(theirs.bare.text, []).append(theirs)
        groups = [(ours, free.get(ours.bare.text)) for ours, _ in pairs]
        pairs = [(ours, group.pop(0)) for ours, group in groups if group]
    types = [(a.element_type, b.element_type) for a, b in pairs]
    if any(a != b for a, b in types):
        changes.append(FieldChange("element_type", *_first(types)))
    # Everything except element type and layout.
    sizes = [tuple([(leaf.dimensions, leaf.dynamic, leaf.is_array) for leaf in pair]) for pair in pairs]
    if not are_others and any(a != b for a, b in sizes):
        place = next(n for n, (a, b) in enumerate(sizes) if a != b)
        changes.append(FieldChange("shape", *(shape.bare.text for shape in pairs[place])))
    layouts = [
        (_arrangement(a), _arrangement(b))
        for a, b in pairs
        if a.dimensions == b.dimensions and (a.layout is not None or b.layout is not None)
    ]
    if any(a != b for a, b in layouts):
        changes.append(FieldChange("layout", *_first(layouts)))
    spaces = [(a.memory_space, b.memory_space) for a, b in pairs]
    if any(a != b for a, b in spaces):
        old_space, new_space = _first(spaces)
        words = format_memory_space(old_space, platform), format_memory_space(new_space, platform)
        changes.append(FieldChange("memory_space", *words))
    return tuple(changes)


def has_other_elements(old: Shape, new: Shape) -> bool:
    """Whether two tuples of equal length have different elements, so that position does not identify an element.

    Example:
        >>> ours = Shape("tuple", (), tuple_shapes=(Shape("f32", (2,)), Shape("s32", ())))
        >>> theirs = Shape("tuple", (), tuple_shapes=(Shape("bf16", (2,)), Shape("s32", ())))
        >>> turned = Shape("tuple", (), tuple_shapes=ours.tuple_shapes[::-1])
        >>> has_other_elements(ours, theirs), has_other_elements(ours, turned)
        (False, True)
    """
    if old.element_type != "tuple" or new.element_type != "tuple":
        return False
    return any(a.dimensions != b.dimensions for a, b in zip(old.leaves, new.leaves, strict=False))


def _other_elements(pairs: list[tuple[Shape, Shape]]) -> tuple[str, str]:
    """For each tuple an element that only it has; if both have the same ones, the first at a different position."""
    texts = [[pair[side].bare.text for pair in pairs] for side in (0, 1)]
    counts = [Counter(side) for side in texts]
    alone = [next(iter((counts[n] - counts[1 - n]).elements()), "") for n in (0, 1)]
    return (alone[0], alone[1]) if all(alone) else _first(list(zip(*texts, strict=True)))


def skeleton(shape: Shape) -> object:
    """The nesting of a tuple, with its arrays as leaves."""
    if shape.element_type == "tuple":
        return tuple(skeleton(part) for part in shape.tuple_shapes)
    return shape.is_array


def _first(pairs: list[tuple[_T, _T]]) -> tuple[_T, _T]:
    return next((a, b) for a, b in pairs if a != b)


def _arrangement(shape: Shape) -> str:
    """The order of dimensions in memory; by default the last dimension is the fastest."""
    layout = shape.layout or Layout(tuple(range(len(shape.dimensions)))[::-1])
    return "{" + print_layout(Layout(layout.minor_to_major, layout.tiling, 0, layout.other)) + "}"


# The same two sets of attributes are compared wherever an operation of one kind changed.
@lru_cache(maxsize=1_000)
def _attribute_changes(old: Attributes, new: Attributes) -> tuple[FieldChange, ...]:
    ours, theirs = _flat(old), _flat(new)
    changes: dict[str, FieldChange] = {}
    of_results: list[tuple[str, str]] = []
    for name in sorted({*ours, *theirs}):
        a, b = ours.get(name, ""), theirs.get(name, "")
        if a != b or (name in ours) != (name in theirs):
            field = field_of(name, a or b)
            if field == "compute_type":
                a, b = (unquote(value) or "device" for value in (a, b))
            elif field == "alias":
                a, b = _donation(ours), _donation(theirs)
            elif field == "backend_config":
                a, b = _config_words(a, b)
            elif name == _AS_GIVEN:
                a, b = unquote(a), unquote(b)
            elif field == "sharding" and _OF_RESULT.match(name):
                of_results.append((a, b))
            changes.setdefault(field, FieldChange(field, a, b))
    if len(of_results) > 1 and all(text.startswith(_SDY) for pair in of_results for text in pair):
        # Those of all results of a function are one change, written as those that `shard_map` takes.
        changes["sharding"] = FieldChange("sharding", *map(sharding_of_values, zip(*of_results, strict=True)))
    return tuple(changes.values())


_OF_RESULT = re.compile(r"result\d+\.")
_SDY = "#sdy.sharding<@"


def _donation(attributes: Mapping[str, str]) -> str:
    """What an argument is donated to; if results have no shardings, JAX lets the compiler choose the output."""
    if alias := attributes.get("tf.aliasing_output"):
        return f"output {alias.partition(' ')[0]}"
    return "any output" if "jax.buffer_donor" in attributes else "not donated"


def _config_words(old: str, new: str) -> tuple[str, str]:
    """The entries of two JSON configurations that differ: `window_config.kernel_window_bounds=["8"]`."""
    leaves = [_leaves(text) for text in (old, new)]
    if leaves[0] is None or leaves[1] is None:
        return old, new
    keys = [k for k in sorted({*leaves[0], *leaves[1]}) if leaves[0].get(k) != leaves[1].get(k)]
    words = [", ".join(f"{k}={side[k]}" for k in keys if k in side) for side in leaves if side is not None]
    return words[0], words[1]


def _leaves(text: str) -> dict[str, str] | None:
    if not text:
        return {}
    try:
        config = load_json(text)
    except ValueError:
        return None
    if not isinstance(config, dict):
        return None
    found: dict[str, str] = {}
    worklist: list[tuple[str, Any]] = [("", config)]
    for path, value in worklist:
        if isinstance(value, dict) and value:
            worklist += [(f"{path}.{key}" if path else str(key), inner) for key, inner in value.items()]
        else:
            found[path] = json.dumps(value, sort_keys=True)
    return found


def field_of(attribute: str, value: str = "") -> str:
    """The field under which a change of an attribute is reported.

    Example:
        >>> field_of("kind"), field_of("algorithm", "dot_bf16_bf16_f32_x3"), field_of("algorithm", "rng_philox")
        ('fusion_kind', 'precision', 'attribute:algorithm')
    """
    if attribute == "algorithm" and value.startswith("rng_"):  # of random numbers, not of a dot
        return f"attribute:{attribute}"
    if attribute.split(".")[-1] == _COMPUTE_TYPE:
        return "compute_type"
    short = attribute.split(".", 1)[-1] if attribute.startswith("result") else attribute
    return _FIELD_OF.get(attribute) or _FIELD_OF.get(short) or f"attribute:{attribute}"


def flat_attributes(it: Instruction) -> dict[str, str]:
    """Attributes by name; frontend attributes one by one.

    Example:
        >>> flat_attributes(Instruction("a", "add", Shape("f32"), attributes=(("frontend_attributes", "{b=1}"),)))
        {'frontend_attributes.b': '1'}
    """
    return _flat(it.attributes)


def _flat(attributes: Attributes) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in attributes:
        if name in _FRONTEND:
            flat.update({f"frontend_attributes.{key}": text for key, text in _entries(value)})
        else:
            flat[name] = value
    return flat


def _entries(text: str) -> Iterator[tuple[str, str]]:
    try:
        parts = split_commas(text.strip().removeprefix("{").removesuffix("}"))
    except Unbalanced:
        yield "", text
        return
    for part in parts:
        key, _, value = part.partition("=")
        yield key.strip().strip('"'), value.strip()


_KEY = re.compile(r"(?:^|, )([\w.]+)=")  # of one entry of a configuration, in words


def is_note(change: FieldChange, note: str) -> bool:
    """Whether a configuration says nothing new but one note: which type was asked for, which operands share memory."""
    keys = _KEY.findall(f"{change.old}, {change.new}") if change.field == "backend_config" else []
    return bool(keys) and all(key.startswith(note) for key in keys)
