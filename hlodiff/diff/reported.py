"""What a diff reports, by place: which edit explains an instruction, and what exactly that edit says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hlodiff.diff.compared_form import CHANNEL, TUNING
from hlodiff.diff.edits import Place
from hlodiff.diff.fields import field_of, goes_with_opcode
from hlodiff.diff.placement import Donated, donated_parts
from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.diff.script import Channel, Charge, Setting
from hlodiff.ir.model import Instruction, Layout, Module, Shape

ASYNCHRONOUS = "attribute:asynchronous"
_SHAPE = ("element_type", "shape", "layout", "memory_space")


@dataclass(frozen=True, slots=True)
class Said:
    """One site of one edit."""

    charge: Charge
    edit: Edit
    old: Place | None
    new: Place | None


@dataclass(slots=True)
class Reported:
    """All sites of all edits.

    Args:
        gone, came: by the place of an instruction that is on one side only; moved ones are in both.
        changed: by both places of a pair.
        header: those of the module itself.
        table: channel, kind, number of sites and count of every edit.
        gone_whole, came_whole: collectives of another spelling than their partners, by all their instructions.
    """

    gone: dict[Place, list[Said]] = field(default_factory=dict)
    came: dict[Place, list[Said]] = field(default_factory=dict)
    changed: dict[tuple[Place, Place], list[Said]] = field(default_factory=dict)
    header: list[Said] = field(default_factory=list)
    table: list[tuple[Channel, str, int, int]] = field(default_factory=list)
    gone_whole: set[Place] = field(default_factory=set)
    came_whole: set[Place] = field(default_factory=set)

    @staticmethod
    def of(found: ModuleDiff, modules: tuple[Module, Module]) -> Reported:
        """Index the edits of a diff."""
        reported = Reported()
        for channel, edits in (("edits", found.edits), ("schedule", found.schedule), ("tuning", found.tuning)):
            for number, edit in enumerate(edits):
                reported.table.append((channel, edit.kind, len(edit.sites), edit.count))
                for site, (old, new) in enumerate(edit.sites):
                    places = [(s.computation, s.instruction) if s else None for s in (old, new)]
                    reported._put(modules, Said(Charge(channel, number, site), edit, places[0], places[1]))
        return reported

    def _put(self, modules: tuple[Module, Module], said: Said) -> None:
        if said.old is None and said.new is None:
            self.header.append(said)
        elif ASYNCHRONOUS in said.edit.fields:
            assert said.old and said.new
            for place in with_done(modules[0], said.old):
                self.gone.setdefault(place, []).append(said)
                self.gone_whole.add(place)
            for place in with_done(modules[1], said.new):
                self.came.setdefault(place, []).append(said)
                self.came_whole.add(place)
        elif said.edit.kind == "changed":
            assert said.old and said.new
            self.changed.setdefault((said.old, said.new), []).append(said)
        else:
            if said.old:
                self.gone.setdefault(said.old, []).append(said)
            if said.new:
                self.came.setdefault(said.new, []).append(said)


def with_done(module: Module, place: Place) -> list[Place]:
    """A collective by all its instructions: itself, and its `-done` where it is a `-start`."""
    instructions = module.computations[place[0]].instructions
    opcode = instructions[place[1]].opcode
    if not opcode.endswith("-start"):
        return [place]
    done = opcode.removesuffix("-start") + "-done"
    return [
        place,
        *((place[0], n) for n, it in enumerate(instructions) if it.opcode == done and place[1] in it.operands),
    ]


def settings(said: Said, old: Instruction, new: Instruction) -> Iterator[Setting]:
    """What an edit says of two paired instructions in their compared form, and nothing that it does not name.

    Args:
        said: a site of a changed or moved edit.
        old, new: the instructions.
    """
    if said.charge.channel == "tuning":
        yield Setting(f"attribute:{TUNING}", new.attribute(TUNING))
        return
    fields = said.edit.fields
    if "opcode" in fields:
        yield Setting("opcode", new.opcode)
    turned = "opcode" in fields and old.opcode != new.opcode
    came_or_went = (old.literal is None) != (new.literal is None)
    if "literal" in fields or (turned and (came_or_went or "parameter" in (old.opcode, new.opcode))):
        yield Setting("literal", new.literal)
    if "attribute:parameter_number" in fields:
        yield Setting("number", new.literal)
    yield from _shape_settings(fields, old.shape, new.shape)
    ours, theirs = dict(old.attributes), dict(new.attributes)
    for name in dict.fromkeys([*ours, *theirs]):
        if (field_of(name) in fields or (turned and goes_with_opcode(name, ours, theirs))) and name != TUNING:
            yield Setting(f"attribute:{name}", new.attribute(name))
    assert CHANNEL == "channel_id"


def _shape_settings(fields: tuple[str, ...], old: Shape, new: Shape) -> Iterator[Setting]:
    if not set(fields) & set(_SHAPE):
        return
    ours, theirs = tuple(old.leaves()), tuple(new.leaves())
    if _skeleton(old) != _skeleton(new):
        if "shape" in fields:
            yield Setting("shape", leaves=(new,))
        return
    if "element_type" in fields:
        yield Setting("element_type", leaves=tuple(Shape(leaf.element_type) for leaf in theirs))
    if "shape" in fields:
        yield Setting("dimensions", leaves=tuple(_dimensions(a, b) for a, b in zip(ours, theirs, strict=True)))
    if "layout" in fields:
        yield Setting("layout", leaves=tuple(Shape("", layout=_arranged(leaf.layout)) for leaf in theirs))
    if "memory_space" in fields:
        spaces = [leaf.layout.memory_space if leaf.layout else 0 for leaf in theirs]
        yield Setting("memory_space", leaves=tuple(Shape("", layout=Layout(memory_space=s)) for s in spaces))


def _skeleton(shape: Shape) -> object:
    if shape.element_type == "tuple":
        return tuple(_skeleton(part) for part in shape.tuple_shapes)
    return shape.is_array


def _dimensions(old: Shape, new: Shape) -> Shape:
    """New sizes; the arrangement comes along only where there are new sizes to arrange."""
    same = old.dimensions == new.dimensions
    return Shape("", new.dimensions, None if same else _arranged(new.layout), dynamic=new.dynamic)


def _arranged(layout: Layout | None) -> Layout | None:
    return None if layout is None else replace(layout, memory_space=0)


def donation_settings(said: Said, old: Module, new: Module, numbers: tuple[int, int]) -> Iterator[Setting]:
    """What an edit of the field `alias` says of an argument of a compiled program.

    Args:
        said: the site.
        old, new: the modules.
        numbers: of the parameter on both sides.
    """
    if "alias" not in said.edit.fields:
        return
    ours, theirs = (donated(module, number) for module, number in zip((old, new), numbers, strict=True))
    for inside in dict.fromkeys([*ours, *theirs]):
        if ours.get(inside) != theirs.get(inside):
            yield Setting(f"donation:{inside}", theirs.get(inside))


def donated(module: Module, number: int) -> dict[str, str]:
    """What a parameter of the entry is given away for, by the part of it."""
    return {one.inside: _donation(one) for one in donated_parts(module) if one.parameter == number}


def _donation(one: Donated) -> str:
    return "any" if one.result is None else f"{{{one.result}}} {one.kind}".strip()
