"""Graph rules: what programs of some functions must not contain, whatever their metrics.

A rule is one record, and its fields are its options: `hlodiff.config` derives the configuration reader, its error
messages and the JSON Schema from them. An option without a default is required. A new rule needs a record here and in
`RULES`, a fixture in tests/fixtures/policy, and a row in docs/policy.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from typing import ClassVar

from hlodiff.config import RuleUse, closest, option
from hlodiff.differ.classify import classes_of_edit
from hlodiff.differ.metrics import BOOKKEEPING, custom_call_target
from hlodiff.differ.moves import relocations
from hlodiff.differ.placement import donations
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.collectives import FAMILIES, Collective, collectives, numbers, parse_groups
from hlodiff.hlo.grammar import bits_of
from hlodiff.hlo.model import COPIES, Instruction, Module
from hlodiff.hlo.traversal import multiplicities
from hlodiff.policy.program_pair import Hit, InstructionSite, ProgramPair, find, hit_of, hits, type_of


@dataclass(frozen=True)
class Rule:
    """Base class of rules.

    Args:
        name: name in the configuration and in findings.
        reason: one line on what is not allowed, and why.
        advice: how to fix it.
    """

    name: ClassVar[str]
    reason: ClassVar[str]
    advice: ClassVar[str]

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Violations of the rule in a program."""
        raise NotImplementedError


def _as_written(
    both: ProgramPair, wanted: Callable[[Instruction], bool], words: Callable[[InstructionSite], str]
) -> Iterator[Hit]:
    """Matching instructions of StableHLO, which is closest to the user's code, or else of the compiled program."""
    for program in both.programs():
        assert program.now is not None
        places = find(program.now, wanted)
        yield from hits(places, words)
        if places:
            return


def _as_edited(both: ProgramPair, broken: Callable[[ModuleDiff], Iterable[Hit]]) -> Iterator[Hit]:
    """Violations by edits of StableHLO, or else by edits of the compiled program."""
    for program in (both.stablehlo, both.compiled):
        found = list(broken(program.diff)) if program is not None and program.diff else []
        yield from found
        if found:
            return


_DOUBLE = ("f64", "c128")
_PASS_ON = ("get-tuple-element", "get_tuple_element", "bitcast", "tuple", "return", "call", "func.call")


@dataclass(frozen=True)
class NoF64(Rule):
    """No double precision: TPUs emulate it, and GPUs for machine learning are many times slower at it than at f32."""

    name: ClassVar[str] = "no-f64"
    reason: ClassVar[str] = (
        "No f64: one Python float or NumPy array with x64 on makes a whole program run in double precision."
    )
    advice: ClassVar[str] = "give arrays and constants a dtype, or leave jax_enable_x64 off"

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Values of double precision in StableHLO, or else in the compiled program."""
        return _as_written(both, _is_double, lambda place: f"{place.words} is of double precision")


def _is_double(it: Instruction) -> bool:
    # An argument is reported where it enters, a tuple where its parts are computed.
    return not it.shape.tuple_shapes and it.shape.element_type in _DOUBLE and it.opcode not in _PASS_ON


@dataclass(frozen=True)
class NoHostCallback(Rule):
    """No host callback: forgotten debug prints or error checks of libraries; they tie the program to one process."""

    name: ClassVar[str] = "no-host-callback"
    reason: ClassVar[str] = (
        "No host callback: `jax.debug.print`, `pure_callback` and `io_callback` stop the "
        "device until Python has answered."
    )
    advice: ClassVar[str] = "take out debug prints; for Equinox set EQX_ON_ERROR=nan in the key `env`"

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Callbacks and host transfers in StableHLO, or else in the compiled program."""
        return _as_written(
            both,
            _calls_host,
            lambda place: (
                f"{custom_call_target(place.instruction) or place.instruction.opcode} calls back to Python on the host"
            ),
        )


def _calls_host(it: Instruction) -> bool:
    if it.opcode in ("custom-call", "custom_call", "custom-call-start"):
        return "callback" in custom_call_target(it)
    if it.opcode in ("infeed", "outfeed"):
        return True
    host = it.attribute("is_host_transfer") == "true"
    return host and it.opcode in ("send", "recv")


_AXIS = re.compile(r'"([^"]+)"\s*=\s*(\d+)')
_IDS = re.compile(r"device_ids\s*=\s*\[([\d,\s]*)\]")
# A mesh larger than any machine means a damaged file; laying it out would not end.
_MOST_AXES, _MOST_DEVICES = 8, 1 << 20


@dataclass(frozen=True)
class NoCollective(Rule):
    """No collective of a kind: an all-gather over the axis that shards the model undoes the sharding.

    Args:
        kind: kind of collective.
        axis: only those over this axis of the mesh.
    """

    name: ClassVar[str] = "no-collective"
    reason: ClassVar[str] = (
        "No collective of a kind, or none over an axis of the mesh: one word in a "
        "sharding can make every step gather weights."
    )
    advice: ClassVar[str] = "look at the shardings on the way to it, first those of the line it comes from"

    kind: str = option(among=FAMILIES, noun="collective", example="all-gather")
    axis: str = ""

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Collectives of the kind, over the axis if given."""
        compiled = both.compiled.now if both.compiled is not None else None
        if compiled is None:
            return
        axis = self.axis
        found = [one for one in collectives(compiled) if one.family == self.kind]
        if axis and found:
            found, unknown = over_axis(found, both.stablehlo.now if both.stablehlo is not None else None, axis)
            if unknown:
                yield Hit(unknown, f"axis {axis}")
                return
        weights = multiplicities(compiled)
        bodies = compiled.computations
        places = [
            InstructionSite(
                compiled,
                bodies[one.computation],
                bodies[one.computation].instructions[one.instruction],
                weights[one.computation].total,
            )
            for one in found
        ]
        over = f" over `{axis}`" if axis else ""
        yield from hits(
            (p for p in places if p.count), lambda place: f"{place.words} works{over or ' between devices'}"
        )


def over_axis(found: list[Collective], stablehlo: Module | None, axis: str) -> tuple[list[Collective], str]:
    """The collectives that work over an axis of the mesh.

    Args:
        found: collectives of a compiled program.
        stablehlo: StableHLO of the same program, which names the mesh; None if there is none.
        axis: the name of the axis.

    Returns:
        the collectives, and why they are unknown ("" if they are known).

    Example:
        >>> over_axis([], None, "model")
        ([], 'whether a collective works over `model` is not known: its StableHLO names no mesh')
    """
    meshes = _meshes(stablehlo) if stablehlo is not None else []
    names = sorted({name for mesh in meshes for name in mesh.sizes})
    near = closest(axis, names) if axis not in names else ""
    if near or not names:
        why = f"the mesh has the axis `{near}`" if near else "its StableHLO names no mesh"
        return [], f"whether a collective works over `{axis}` is not known: {why}"
    return [one for one in found if any(axis in _axes(one, mesh) for mesh in meshes)], ""


@dataclass(frozen=True, slots=True)
class _Mesh:
    """Sizes by axis, and the devices in row-major order."""

    sizes: dict[str, int]
    devices: tuple[int, ...]


def _meshes(module: Module) -> list[_Mesh]:
    """Every mesh that the StableHLO names in its header."""
    found = []
    for name, text in module.attributes:
        sizes = {axis: int(size) for axis, size in _AXIS.findall(text)} if name.startswith("sdy.mesh") else {}
        count = prod(sizes.values())
        if sizes and 0 < count <= _MOST_DEVICES and len(sizes) <= _MOST_AXES:
            ids = _IDS.search(text)
            devices = tuple(numbers(ids[1])) if ids else ()
            found.append(_Mesh(sizes, devices if len(devices) == count else tuple(range(count))))
    return found


def _axes(one: Collective, mesh: _Mesh) -> set[str]:
    """The mesh axes of a collective: those along which members of one group differ."""
    groups = parse_groups(one.groups)
    if groups is None:
        return set(mesh.sizes)  # unknown syntax: it may be any axis
    places = dict(zip(mesh.devices, product(*(range(size) for size in mesh.sizes.values())), strict=True))
    members = [[places[d] for d in group if d in places] for group in groups or [mesh.devices]]
    return {
        name
        for number, name in enumerate(mesh.sizes)
        if any(len({place[number] for place in group}) > 1 for group in members)
    }


@dataclass(frozen=True)
class DonationAliases(Rule):
    """Donation must alias: it does not if no result has the shape, type, layout and sharding of the argument."""

    name: ClassVar[str] = "donation-aliases"
    reason: ClassVar[str] = (
        "Donation must alias: an argument that is given away and not reused costs its bytes twice, and JAX only warns."
    )
    advice: ClassVar[str] = "return a result of the same shape, type and sharding, or do not donate the argument"

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Donated arguments whose buffer no result of the compiled program reuses."""
        compiled = both.compiled.now if both.compiled is not None else None
        if compiled is None:
            return
        aliased = {number for number, result in donations(compiled).items() if result.startswith("result")}
        stablehlo = both.stablehlo.now if both.stablehlo is not None else None
        # JAX marks no donation if no result has the type of the argument; then only the case records it.
        asked = [number for number in both.compiled.donated if number < _arguments(compiled)] if both.compiled else []
        donated = dict.fromkeys([*(donations(stablehlo) if stablehlo else ()), *donations(compiled), *asked])
        written = stablehlo if stablehlo is not None and _arguments(stablehlo) == _arguments(compiled) else compiled
        for number in sorted(donated):
            if number not in aliased:
                entry = written.entry_computation
                it = entry.instructions[_at(written, number)]
                named = it.op_name or compiled.entry_computation.instructions[_at(compiled, number)].op_name
                name = f" ({named})" if named else ""
                what = f"argument {number}{name}, {type_of(it)}, is donated, but no result takes its buffer"
                yield Hit(what, f"argument {number}", written.stack(it.frame))


def _at(module: Module, number: int) -> int:
    return module.entry_computation.parameters[number]


def _arguments(module: Module) -> int:
    return len(module.entry_computation.parameters)


# Values that these only carry are reported where they are computed.
_CARRIERS = BOOKKEEPING | {"fusion", "while", "conditional"}
_KINDS = (re.compile(r"(?:bf|f)\d"), re.compile(r"s\d"), re.compile(r"u\d"), re.compile(r"c\d"))


@dataclass(frozen=True)
class NoWidenedType(Rule):
    """No widened type: one wider array, or one Python float made an array, widens everything it is combined with."""

    name: ClassVar[str] = "no-widened-type"
    reason: ClassVar[str] = (
        "No widened element type: bf16 that became f32 somewhere inside doubles the bytes "
        "and halves what matrix units do."
    )
    advice: ClassVar[str] = (
        "cast what came in wide, e.g. x.astype(weights.dtype), or use preferred_element_type for sums alone"
    )

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Values that are wider than in the snapshot, and new casts to a wider type."""
        return _as_edited(both, lambda diff: (hit for edit in diff.reported for hit in _widened(edit, diff)))


def _widened(edit: Edit, diff: ModuleDiff) -> Iterator[Hit]:
    for change in edit.changes:
        is_carrier = edit.new is None or edit.new.opcode in _CARRIERS
        if change.field == "element_type" and is_wider(change.old, change.new) and edit.new and not is_carrier:
            yield hit_of(edit, f"{edit.new.opcode} %{edit.new.name} is {change.new}, it was {change.old}")
    if edit.kind == "added" and edit.new and edit.new.opcode == "convert" and edit.new.computation >= 0:
        instructions = diff.new.computations[edit.new.computation].instructions
        it = instructions[edit.new.instruction]
        old, new = instructions[it.operands[0]].shape.element_type, it.shape.element_type
        if is_wider(old, new):
            yield hit_of(edit, f"a cast from {old} to {new} was added: %{edit.new.name}")


def is_wider(old: str, new: str) -> bool:
    """Whether a type is the same kind of number with more bits.

    Example:
        >>> is_wider("bf16", "f32"), is_wider("f32", "bf16"), is_wider("s32", "f64")
        (True, False, False)
    """
    same = any(kind.match(old) and kind.match(new) for kind in _KINDS)
    return same and bits_of(new) > bits_of(old) > 0


_PLACEMENT_FIELDS = ("compute_type", "memory_space", "sharding", "replica_groups")


@dataclass(frozen=True)
class NoLostPlacement(Rule):
    """No lost placement: without a `compute_on` or `with_sharding_constraint` results are the same, so no test fails.

    But the device may run out of memory.
    """

    name: ClassVar[str] = "no-lost-placement"
    reason: ClassVar[str] = (
        "No lost or moved placement: what ran on the host, lay in its memory or was sharded does so still."
    )
    advice: ClassVar[str] = "if the move is meant, hlodiff update records it"

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Edits of placement in StableHLO, or else in the compiled program. New placements are allowed."""
        return _as_edited(both, _placed_elsewhere)


def _placed_elsewhere(diff: ModuleDiff) -> Iterator[Hit]:
    for one in relocations(diff):
        site = one.added.new
        if site is not None:
            yield hit_of(one.added, f"{site.opcode} %{site.name} runs on the {one.new}, it ran on the {one.old}")
    for edit in diff.reported:
        if edit.kind == "removed" and edit.old and "placement" in classes_of_edit(edit, diff):
            yield hit_of(edit, f"{edit.old.opcode} %{edit.old.name} is gone, which placed a value")
        for change in edit.changes:
            site = edit.new or edit.old
            if change.field in _PLACEMENT_FIELDS and not _only_device(change.old, change.new) and site and change.old:
                word = change.field.replace("_", " ")
                yield hit_of(
                    edit, f"{word} of {site.opcode} %{site.name} is {change.new or 'none'}, it was {change.old}"
                )


def _only_device(old: str, new: str) -> bool:
    """Whether a value moved between two memories of the device, which is the compiler's choice."""
    return "host" not in (old, new) and {"device", "vmem", "smem", "fast memory"} >= {old, new}


@dataclass(frozen=True)
class NoEntryCopy(Rule):
    """No new copy in the entry: from lost donation, a mismatched argument layout, or one buffer returned twice."""

    name: ClassVar[str] = "no-entry-copy"
    reason: ClassVar[str] = (
        "No new copy at the entry: an argument or result that is copied costs its bytes "
        "in time and in memory on every call."
    )
    advice: ClassVar[str] = "look whether the donation or the layout of an argument changed"

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """New copies in the compiled entry, if there are more than before."""
        diff = both.compiled.diff if both.compiled is not None else None
        if diff is None or not diff.edits:
            return
        before, after = (_copies(diff, side) for side in (0, 1))
        if after <= before:
            return
        for edit in diff.reported:
            if _brings(edit, diff):
                yield hit_of(
                    edit, f"copy %{edit.new.name} is new at the entry" if edit.new else "a copy is new at the entry"
                )


def _copies(diff: ModuleDiff, side: int) -> int:
    entry = (diff.old, diff.new)[side].entry_computation
    return sum(it.opcode in COPIES or _wraps_copy(diff, side, it.called) for it in entry.instructions)


def _wraps_copy(diff: ModuleDiff, side: int, called: tuple[int, ...]) -> bool:
    """Whether a fusion contains nothing but a copy, as cpu and GPU print them."""
    module = (diff.old, diff.new)[side]
    return len(called) == 1 and any(
        [it.opcode for it in module.computations[index].instructions if it.opcode != "parameter"] == ["copy"]
        for index in called
    )


def _brings(edit: Edit, diff: ModuleDiff) -> bool:
    if edit.kind not in ("added", "changed", "moved") or edit.new is None:
        return False
    it = edit.new.instruction_in(diff.new)
    if edit.new.computation != diff.new.entry:
        return False
    was = edit.old is not None and edit.old.opcode in COPIES and edit.old.computation == diff.old.entry
    return not was and (it.opcode in COPIES or (edit.kind == "added" and _wraps_copy(diff, 1, it.called)))


@dataclass(frozen=True)
class NoDynamicShape(Rule):
    """No dynamic shape: TPUs pad them to their bound, and some backends refuse them."""

    name: ClassVar[str] = "no-dynamic-shape"
    reason: ClassVar[str] = (
        "No dynamic shape: sizes that are known only at run time keep XLA from planning memory and from most fusions."
    )
    advice: ClassVar[str] = "give the array a fixed size and mask what is not used"

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Values whose size is known only at run time, in StableHLO or else in the compiled program."""
        return _as_written(both, _is_dynamic, lambda place: f"{place.words} has a size that is known at run time only")


def _is_dynamic(it: Instruction) -> bool:
    # A tuple is reported where its parts are computed.
    if it.opcode in ("tuple", "return", "get-tuple-element", "get_tuple_element"):
        return False
    return any(leaf.dynamic or -1 in leaf.dimensions for leaf in it.shape.leaves)


@dataclass(frozen=True)
class CustomCalls(Rule):
    """No unknown custom call: a new or renamed library call (`lapack_*`, `__cublas$gemm`) is different backend code.

    Args:
        only: patterns of allowed custom-call targets.
    """

    name: ClassVar[str] = "custom-calls"
    reason: ClassVar[str] = (
        "No custom call but these: what XLA cannot look into it can neither fuse nor partition, and it may be missing."
    )
    advice: ClassVar[str] = "if the call is meant, add its target to `only`"

    only: tuple[str, ...] = option(example=("__cublas*",))

    def violations(self, both: ProgramPair) -> Iterator[Hit]:
        """Custom calls of the compiled program whose target matches no pattern of `only`."""

        def is_other(it: Instruction) -> bool:
            if it.opcode not in ("custom-call", "custom-call-start"):
                return False
            return not any(fnmatchcase(custom_call_target(it), pattern) for pattern in self.only)

        if both.compiled is not None and both.compiled.now is not None:
            yield from hits(
                find(both.compiled.now, is_other),
                lambda place: f"calls {custom_call_target(place.instruction)}, which is not in `only`",
                lambda place: f"custom call {custom_call_target(place.instruction)}",
            )


RULES: tuple[type[Rule], ...] = (
    NoF64,
    NoHostCallback,
    NoCollective,
    DonationAliases,
    NoWidenedType,
    NoLostPlacement,
    NoEntryCopy,
    NoDynamicShape,
    CustomCalls,
)
RULES_BY_NAME: Mapping[str, type[Rule]] = {rule.name: rule for rule in RULES}


def rule_of(use: RuleUse) -> Rule:
    """The rule for a use in the configuration, with its options.

    Example:
        >>> rule_of(RuleUse("no-collective", options=(("kind", "all-gather"),)))
        NoCollective(kind='all-gather', axis='')
    """
    return RULES_BY_NAME[use.rule](**dict(use.options))
