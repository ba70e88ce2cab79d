"""Where an instruction comes from: each pass that touched it, the pass that made it, and what two texts show of why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

from hlodiff.differ.edits import site_of
from hlodiff.differ.fields import reported_changes
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.passes.dumps import Dump, Stage
from hlodiff.differ.passes.steps import PassStep, first_module, pass_steps
from hlodiff.differ.placement import format_memory_space, platform_of
from hlodiff.differ.result import FieldChange, Site
from hlodiff.graph import InlinedView, inlined_view
from hlodiff.hlo.collectives import FAMILIES
from hlodiff.hlo.fingerprint import computation_hashes
from hlodiff.hlo.model import COPIES, Frame, Instruction, Module, Place, Shape, at

Kind = Literal["added", "copied", "changed", "moved"]
_MOST_NAMED = 4
_DEEPEST = 12
_MOST_CANDIDATES = 64


@dataclass(frozen=True, slots=True)
class PassTouch:
    """What one pass did to an instruction.

    Args:
        step: the pass, and the two texts.
        kind: added where the pass made it, copied where the pass wrote a second one like it, moved where it went to
            another computation, else changed.
        changes: the fields that changed.
        name, opcode: what it is called after the pass.
        was: what it was called before; "" where the pass made it.
    """

    step: PassStep
    kind: Kind
    changes: tuple[FieldChange, ...]
    name: str
    opcode: str
    was: str = ""


@dataclass(frozen=True, slots=True)
class InstructionOrigin:
    """Where one instruction comes from.

    Args:
        site: the instruction where it was asked for.
        stage: the text that it was asked for in.
        touches: what passes did to it, in order; the first one added it, unless it stands in the first text.
        first: the instruction in the first text that it was; None where a pass made it.
        op_name, source: JAX's scope and the Python frames that its metadata names, innermost first.
        near: the nearest operand with a scope, its scope and frames, where its own metadata name none; else None.
        reasons: what the two texts around the pass that made it show.
        fate: the pass after which it is there no longer; None where the last text holds it.
        now: the same instruction in the last text that holds it.
        repeats: other instructions of that name in the same text.
    """

    site: Site
    stage: Stage
    touches: tuple[PassTouch, ...]
    first: Site | None
    op_name: str
    source: tuple[Frame, ...]
    near: tuple[Site, str, tuple[Frame, ...]] | None = None
    reasons: tuple[str, ...] = ()
    fate: PassStep | None = None
    now: Site | None = None
    repeats: int = 0

    @property
    def made(self) -> PassTouch | None:
        """The pass that made it; None where the first text holds it."""
        return self.touches[0] if self.touches and self.touches[0].kind == "added" else None


@dataclass(frozen=True, slots=True)
class PassHistory:
    """All texts of a module that differ, and which instruction is which from one to the next.

    Args:
        stages: the text of each state: the first one, then one for each step.
        modules: the same as programs.
        steps: between them.
    """

    stages: tuple[Stage, ...]
    modules: tuple[Module, ...]
    steps: tuple[PassStep, ...]
    _known: dict[tuple[int, Place], tuple[PassTouch, ...]] = field(default_factory=dict, compare=False, repr=False)
    _equals: dict[int, EqualValues] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(dump: Dump, limits: Limits = DEFAULTS) -> PassHistory:
        """Read a dump and compare all of its texts."""
        steps = tuple(pass_steps(dump, limits))
        return PassHistory.of_steps(steps) if steps else PassHistory(dump.stages[:1], (first_module(dump),), ())

    @staticmethod
    def of_steps(steps: Sequence[PassStep]) -> PassHistory:
        """The texts between which steps are that follow each other."""
        stages = (steps[0].before, *(step.stage for step in steps))
        return PassHistory(stages, (steps[0].diff.old, *(step.diff.new for step in steps)), tuple(steps))

    def find(self, name: str) -> tuple[int, list[Place]]:
        """The last text that holds an instruction of this name, and its places there; none where no text has it."""
        wanted = name.removeprefix("%")
        for state in range(len(self.modules) - 1, -1, -1):
            places = [
                (c, n)
                for c, body in enumerate(self.modules[state].computations)
                for n, it in enumerate(body.instructions)
                if it.name == wanted
            ]
            if places:
                return state, places
        return -1, []

    def touches(self, state: int, place: Place) -> tuple[PassTouch, ...]:
        """What passes did to an instruction, in order, until a text.

        Args:
            state: the text: 0 for the first one, n for that after step n.
            place: the instruction in it.
        """
        key = state, place
        if key not in self._known:
            self._known[key] = tuple(self._touches(state, place))[::-1]
        return self._known[key]

    def _touches(self, state: int, place: Place) -> Iterator[PassTouch]:
        while state > 0:
            step = self.steps[state - 1]
            it = at(step.diff.new, place)
            before = self.before(state, place)
            changes = self.changes(state, place)
            if before is None:
                yield PassTouch(step, "added", (), it.name, it.opcode)
                return
            was = at(step.diff.old, before)
            other = step.mapping.get(before)
            is_second = other not in (None, place) and step.back.get(place) != before
            if other and is_second and not self._differ(state, place, before) and self.before(state, other) == before:
                yield PassTouch(step, "copied", (), it.name, it.opcode, was.name)
            elif changes or self._is_moved(step, before, place):
                moved = self._is_moved(step, before, place)
                yield PassTouch(step, "moved" if moved else "changed", changes, it.name, it.opcode, was.name)
            state, place = state - 1, before

    @staticmethod
    def _is_moved(step: PassStep, before: Place, place: Place) -> bool:
        """Whether an instruction went to another computation: a new one, or one that was another before."""
        if any(edit.kind == "moved" for edit in step.edits.get(place, ())):
            return True
        if step.back.get(place) == before:  # matched where it is
            return False
        old, new = step.diff.old, step.diff.new
        if (before[0] == old.entry) != (place[0] == new.entry):
            return True
        own = [step.back.get((place[0], n)) for n in range(len(new.computations[place[0]].instructions))]
        return not any(one is not None and one[0] == before[0] for one in own)

    def before(self, state: int, place: Place) -> Place | None:
        """The same instruction in the text before; None where the pass made it.

        What the differ lists as added may be a value that the earlier text holds too: a pass that fuses writes an
        instruction into every fusion that reads it, and one that merges equal instructions keeps one of them.

        The shortest list of edits may call an instruction changed that is another one in the same place. An operation
        that became another operation is the same one here only where both come from one operation of JAX.
        """
        step = self.steps[state - 1]
        found = step.back.get(place)
        if found is None:
            return self._equal(state).find(place) or self._equal(state).find_changed(place)
        new, old = at(step.diff.new, place), at(step.diff.old, found)
        if step.edits.get(place) and new.op_name != old.op_name:
            equal = self._equal(state).find(place)  # of one scope: the shortest list of edits took another one
            if equal is not None:
                return equal
        if is_of_another_scope(new, old):
            return self._equal(state).find(place) or self._equal(state).find_changed(place)
        is_weak = any(edit.is_weak for edit in step.edits.get(place, ()))
        if new.opcode == old.opcode and (not is_weak or new.opcode == "constant"):
            return None if new.opcode == "constant" and new.literal != old.literal else found
        if came_from_one_operation(step, found, place):
            return found
        return self._equal(state).find_changed(place)

    def _equal(self, state: int) -> EqualValues:
        if state not in self._equals:
            self._equals[state] = EqualValues(self.steps[state - 1])
        return self._equals[state]

    def changes(self, state: int, place: Place) -> tuple[FieldChange, ...]:
        """The fields that the pass before a text changed in an instruction."""
        step = self.steps[state - 1]
        before = self.before(state, place)
        if before is None:
            return ()
        if step.back.get(place) != before:
            old, new = step.diff.old.computations[before[0]].name, step.diff.new.computations[place[0]].name
            moved = (FieldChange("computation", old, new),) if self._is_moved(step, before, place) else ()
            return (*moved, *self._differ(state, place, before))
        return tuple(change for edit in step.edits.get(place, ()) for change in edit.changes)

    def _differ(self, state: int, place: Place, before: Place) -> tuple[FieldChange, ...]:
        old, new = self.steps[state - 1].diff.old, self.steps[state - 1].diff.new
        return tuple(reported_changes(at(old, before), at(new, place), partial(platform_of, new)))

    def first_place(self, state: int, place: Place) -> Place | None:
        """The same instruction in the first text; None where a pass made it."""
        while state > 0:
            before = self.before(state, place)
            if before is None:
                return None
            state, place = state - 1, before
        return place

    def after(self, state: int, place: Place) -> tuple[int, Place]:
        """The last text that still holds an instruction, and its place there."""
        while state < len(self.steps):
            follower = self._follower(state, place)
            if follower is None:
                break
            state, place = state + 1, follower
        return state, place

    def _follower(self, state: int, place: Place) -> Place | None:
        step = self.steps[state]
        follower = step.mapping.get(place)
        if follower is not None and self.before(state + 1, follower) == place:
            return follower
        it = at(step.diff.old, place)
        alike = (
            (c, n)
            for c, body in enumerate(step.diff.new.computations)
            for n, one in enumerate(body.instructions)
            if (one.opcode, one.op_name) == (it.opcode, it.op_name)
        )
        return next((one for one in alike if self.before(state + 1, one) == place), None)


def is_of_another_scope(new: Instruction, old: Instruction) -> bool:
    """Whether two instructions have names and scopes of different operations: the differ's own pair may be another one.

    A pass that inlines a call puts the scope of the call in front; what calls computations takes the scope of its root.
    """
    ends = [it.op_name.rpartition("/")[2] for it in (new, old)]
    return all(ends) and ends[0] != ends[1] and new.name != old.name and not new.called and not old.called


def came_from_one_operation(step: PassStep, old: Place, new: Place) -> bool:
    """Whether the metadata of two instructions name one operation of JAX, and its line."""
    one, other = at(step.diff.old, old), at(step.diff.new, new)
    same = one.op_name == other.op_name and stack(step.diff.old, one) == stack(step.diff.new, other)
    return same and bool(one.op_name)


def stack(module: Module, it: Instruction) -> tuple[tuple[str, int, str], ...]:
    """The Python frames of an instruction, as plain values."""
    return tuple((frame.file, frame.line, frame.function) for frame in module.stack(it.frame))


def origin_of(history: PassHistory, state: int, place: Place, repeats: int = 0) -> InstructionOrigin:
    """Where an instruction comes from.

    Args:
        history: all texts of its module.
        state: the text that it was found in.
        place: the instruction.
        repeats: how many others of its name that text holds.
    """
    module = history.modules[state]
    it = at(module, place)
    touches = history.touches(state, place)
    start = history.first_place(state, place)
    first = site_of(history.modules[0], start) if start else None
    last, end = history.after(state, place)
    return InstructionOrigin(
        site_of(module, place),
        history.stages[state],
        touches,
        first,
        it.op_name,
        module.stack(it.frame),
        None if it.op_name or it.frame >= 0 else _near(module, place),
        tuple(_reasons(history, state, place)),
        history.steps[last] if last < len(history.steps) else None,
        site_of(history.modules[last], end),
        repeats,
    )


def _near(module: Module, place: Place) -> tuple[Site, str, tuple[Frame, ...]] | None:
    """The nearest operand with a scope of JAX."""
    body = module.computations[place[0]].instructions
    worklist = list(body[place[1]].operands)
    for position in worklist[:50]:
        it = body[position]
        if it.op_name:
            return site_of(module, (place[0], position)), it.op_name, module.stack(it.frame)
        worklist += [operand for operand in it.operands if operand not in worklist]
    return None


def _reasons(history: PassHistory, state: int, place: Place) -> Iterator[str]:
    """What the texts before and after the pass that made an instruction show; nothing is guessed."""
    touches = history.touches(state, place)
    if not touches or touches[0].kind != "added":
        return
    made = touches[0].step
    while state > 0 and history.steps[state - 1] is not made:
        before = history.before(state, place)
        assert before is not None
        state, place = state - 1, before
    it = at(made.diff.new, place)
    if it.opcode == "fusion":
        yield from _of_fusion(history, state, place)
    elif it.opcode in COPIES:
        yield from _of_copy(history, state, place)
    elif it.opcode == "convert":
        yield from _of_convert(history, state, place)
    elif it.opcode.removesuffix("-start") in FAMILIES:
        yield from _of_collective(made, place)
    else:
        yield from _of_other(made, place)


def _of_fusion(history: PassHistory, state: int, place: Place) -> Iterator[str]:
    new, old = history.modules[state], history.modules[state - 1]
    found = {
        before: at(old, before)
        for callee in at(new, place).called
        for n, it in enumerate(new.computations[callee].instructions)
        if it.opcode != "parameter" and (before := history.before(state, (callee, n))) is not None
    }
    inside = list(found.values())
    named = [it for it in inside if it.opcode not in ("constant", "parameter")] or inside
    if named:
        words = ", ".join(f"%{it.name}" for it in named[:_MOST_NAMED])
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        verb = "was" if len(named) == 1 else "were"
        yield f"it holds {words}{more}, which {verb} outside of it before the pass"


def _of_copy(history: PassHistory, state: int, place: Place) -> Iterator[str]:
    module = history.modules[state]
    body = module.computations[place[0]]
    it = body.instructions[place[1]]
    if not it.operands:
        return
    source = body.instructions[it.operands[0]]
    own, given = _array(it.shape), _array(source.shape)
    users = [n for n, one in enumerate(body.instructions) if place[1] in one.operands]
    if own.layout and given.layout and own.layout.memory_space != given.layout.memory_space:
        spaces = (format_memory_space(shape.layout.memory_space, "") for shape in (given, own) if shape.layout)
        yield "it moves %{} from memory {} to {}".format(source.name, *(str(space).strip('"') for space in spaces))
    elif layout_text(own) != layout_text(given):
        yield f"its operand %{source.name} has the layout {layout_text(given)}" + _since(
            history, state, (place[0], it.operands[0]), "layout"
        )
        for user in users[:1]:
            taker = body.instructions[user]
            shape = _read_as(taker, place[1])
            if shape.is_array and layout_text(shape) == layout_text(own) and shape.dimensions == own.dimensions:
                yield f"its user %{taker.name} has {layout_text(own)}" + _since(
                    history, state, (place[0], user), "layout"
                )
            elif user == body.root and place[0] == module.entry:
                yield f"its user %{taker.name} is what the program returns, with {layout_text(own)}"
        if place[1] == body.root and place[0] == module.entry:
            yield f"it is what the program returns, with {layout_text(own)}"
    else:
        what = _carried(module, place[0], it.operands[0])
        into = _taken(module, place, users)
        if what and into:
            yield f"it copies {what} into {into}"


def _read_as(taker: Instruction, operand: int) -> Shape:
    """The shape with which a user gives an operand on: of a tuple the element that it is."""
    position = taker.operands.index(operand)
    if taker.opcode == "tuple" and position < len(taker.shape.tuple_shapes):
        return _array(taker.shape.tuple_shapes[position])
    return _array(taker.shape)


def _carried(module: Module, computation: int, position: int) -> str:
    it = module.computations[computation].instructions[position]
    if it.opcode == "parameter" and computation == module.entry:
        return f"argument {it.literal} of the program (%{it.name})"
    if it.opcode == "constant":
        return f"the constant %{it.name}"
    if it.opcode == "get-tuple-element" and it.operands:
        source = module.computations[computation].instructions[it.operands[0]]
        if source.opcode in ("parameter", "while"):
            kind = "the loop's state" if source.opcode == "parameter" else f"the result of the loop %{source.name}"
            return f"element {it.attribute('index')} of {kind}"
    return ""


def _taken(module: Module, place: Place, users: Sequence[int]) -> str:
    body = module.computations[place[0]]
    returned = "what the program returns" if place[0] == module.entry else f"what %{body.name} returns"
    if place[1] == body.root:
        return returned
    for user in users:
        it = body.instructions[user]
        if it.opcode == "while":
            return f"the state of the loop %{it.name}"
        if it.opcode == "tuple":
            if user == body.root:
                return returned
            loops = [one for one in body.instructions if one.opcode == "while" and user in one.operands]
            if loops:
                return f"the state of the loop %{loops[0].name}"
    return ""


def _of_convert(history: PassHistory, state: int, place: Place) -> Iterator[str]:
    body = history.modules[state].computations[place[0]].instructions
    it = body[place[1]]
    if not it.operands:
        return
    source = body[it.operands[0]]
    yield f"its operand %{source.name} is {source.shape.element_type}" + _since(
        history, state, (place[0], it.operands[0]), "element_type"
    )
    users = [n for n, one in enumerate(body) if place[1] in one.operands]
    for user in users[:1]:
        taker = body[user]
        if taker.shape.element_type == it.shape.element_type:
            yield f"its user %{taker.name} is {taker.shape.element_type}" + _since(
                history, state, (place[0], user), "element_type"
            )


def _since(history: PassHistory, state: int, place: Place, name: str) -> str:
    """`, since layout-assignment (pass 9)`: the last pass that gave an instruction a field, where one did."""
    touches = history.touches(state, place)
    last = next((one for one in reversed(touches) if any(change.field == name for change in one.changes)), None)
    last = last or (touches[0] if touches and touches[0].kind == "added" else None)
    if last is None:
        return ""
    if last.step is history.steps[state - 1]:
        return " since the same pass"
    return f" since {pass_words(last.step)}"


def pass_words(step: PassStep) -> str:
    """`layout-assignment (pass 9)`.

    Example:
        >>> from types import SimpleNamespace as N
        >>> from hlodiff.differ.passes.dumps import PassName
        >>> pass_words(N(stage=N(number=9), passed=PassName("p", "layout-assignment")))
        'layout-assignment (pass 9)'
    """
    number = step.stage.number
    return step.passed.label if number is None else f"{step.passed.label} (pass {number})"


def _of_collective(made: PassStep, place: Place) -> Iterator[str]:
    new, old = made.diff.new, made.diff.old
    body = new.computations[place[0]].instructions
    users = [n for n, one in enumerate(body) if place[1] in one.operands]
    for word, position in (("operand", next(iter(body[place[1]].operands), -1)), ("user", next(iter(users), -1))):
        before = made.back.get((place[0], position)) if position >= 0 else None
        sharding = at(old, before).attribute("sharding") if before else None
        if before and sharding:
            yield f"before the pass, its {word} %{at(old, before).name} had the sharding {sharding}"


def _of_other(made: PassStep, place: Place) -> Iterator[str]:
    new, old = made.diff.new, made.diff.old
    it = at(new, place)
    if not it.op_name:
        return
    removed = {
        (site.computation, site.instruction): site
        for edit in made.diff.edits
        if edit.kind == "removed"
        for site, _ in edit.sites
        if site
    }
    own = stack(new, it)
    alike = [
        site
        for site in removed.values()
        if (was := _named(old, site)) is not None and was.op_name == it.op_name and stack(old, was) == own
    ]
    if len(alike) == 1:
        yield f"the pass removed %{alike[0].name} ({alike[0].opcode}) of the same scope and line"


def _named(module: Module, site: Site) -> Instruction | None:
    body = module.computations[site.computation].instructions
    if site.instruction < len(body) and body[site.instruction].name == site.name:
        return body[site.instruction]
    return next((it for it in body if it.name == site.name), None)


class EqualValues:
    """Instructions of the later text of a step that compute what one of the earlier text computes, borders ignored."""

    def __init__(self, step: PassStep) -> None:
        self.step = step
        self._changed: dict[Place, Place | None] = {}

    @cached_property
    def _hashes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return computation_hashes(self.step.diff.old), computation_hashes(self.step.diff.new)

    @cached_property
    def _views(self) -> tuple[InlinedView, InlinedView]:
        return inlined_view(self.step.diff.old, ()), inlined_view(self.step.diff.new, ())

    @cached_property
    def _places(self) -> dict[tuple[object, ...], list[Place]]:
        found: dict[tuple[object, ...], list[Place]] = {}
        for c, body in enumerate(self.step.diff.old.computations):
            for n, it in enumerate(body.instructions):
                if it.opcode != "parameter":
                    found.setdefault(self._label(0, it), []).append((c, n))
        return found

    def _label(self, side: int, it: Instruction) -> tuple[object, ...]:
        called = tuple(self._hashes[side][callee] for callee in it.called)
        return it.opcode, it.shape.text, it.literal, tuple(sorted(it.attributes)), called

    def find(self, place: Place) -> Place | None:
        """The instruction of the earlier text; one that the pass removed before one that is still there."""
        it = at(self.step.diff.new, place)
        if it.opcode == "parameter" or it.opcode in COPIES:  # a copy is made for its own sake
            return None
        found = [
            one
            for one in self._places.get(self._label(1, it), ())[:_MOST_CANDIDATES]
            if at(self.step.diff.old, one).op_name == it.op_name and self._are_equal(one, place, 0)
        ]
        # Of several equal ones that which the same user read, then one that is there no longer.
        read = self._read_before(place)
        found.sort(key=lambda one: (one not in read, one in self.step.mapping))
        return found[0] if found else None

    def _read_before(self, place: Place) -> set[Place]:
        """What the users of an instruction of the later text read in the earlier one."""
        users = (user for user, _ in self._views[1].users.get(place, ()))
        before = (one for user in users if (one := self.step.back.get(user)) is not None)
        return {operand for user in before for operand, _ in self._views[0].operands.get(user, ())}

    def find_changed(self, place: Place) -> Place | None:
        """The instruction of the earlier text that became this one although the differ says that another one did.

        The shortest list of edits may turn a root into the convert behind it, and add the root again. The same
        operation of JAX, computed from the same operands, is the same instruction with another type. Converts around
        it are looked through: a pass that changes the type of an operation writes them.
        """
        if place not in self._changed:
            self._changed[place] = None  # a loop of operands ends here
            self._changed[place] = self._find_changed(place)
        return self._changed[place]

    def _find_changed(self, place: Place) -> Place | None:
        step = self.step
        it = at(step.diff.new, place)
        if not it.op_name or not it.operands or it.opcode == "convert":
            return None
        operands = [self._source((place[0], operand)) for operand in it.operands]
        body = {one[0] for one in operands if one}
        found = [
            (c, n)
            for c in sorted(body)
            for n, one in enumerate(step.diff.old.computations[c].instructions)
            if one.opcode == it.opcode
            and one.shape.dimensions == it.shape.dimensions
            and [behind_converts(step.diff.old, (c, operand)) for operand in one.operands] == operands
            and came_from_one_operation(step, (c, n), place)
        ]
        # Those that became none, or another operation.
        free = [
            one for one in found if not (now := step.mapping.get(one)) or at(step.diff.new, now).opcode != it.opcode
        ]
        return free[0] if len(free) == 1 else None

    def _source(self, place: Place) -> Place | None:
        """What an operand of the later text was in the earlier one, converts on both sides looked through."""
        plain = behind_converts(self.step.diff.new, place)
        old = self.step.back.get(plain)
        if old is None or at(self.step.diff.old, old).opcode != at(self.step.diff.new, plain).opcode:
            old = self.find(plain) or self.find_changed(plain)
        return behind_converts(self.step.diff.old, old) if old is not None else None

    def _are_equal(self, one: Place, other: Place, depth: int) -> bool:
        if self.step.mapping.get(one) == other:
            return True
        before, after = at(self.step.diff.old, one), at(self.step.diff.new, other)
        if depth > _DEEPEST or self._label(0, before) != self._label(1, after):
            return False
        if before.opcode == "parameter":  # of what is applied to elements: there is no operand to look at
            return one[0] != self.step.diff.old.entry and self._hashes[0][one[0]] == self._hashes[1][other[0]]
        ours, theirs = self._views[0].operands.get(one, ()), self._views[1].operands.get(other, ())
        return len(ours) == len(theirs) and all(
            a[1] == b[1] and self._are_equal(a[0], b[0], depth + 1) for a, b in zip(ours, theirs, strict=True)
        )


def behind_converts(module: Module, place: Place) -> Place:
    """The value that a chain of converts is given; the place itself where there is none."""
    while (it := at(module, place)).opcode == "convert" and it.operands:
        place = (place[0], it.operands[0])
    return place


def _array(shape: Shape) -> Shape:
    """The array, of a tuple the first one."""
    return next((leaf for leaf in shape.leaves if leaf.is_array), shape)


def layout_text(shape: Shape) -> str:
    """`{1,0:T(8,128)}`: the order of the dimensions, minor first, and the tiling."""
    if shape.layout is None:
        return "{}"
    order = ",".join(map(str, shape.layout.minor_to_major))
    tiling = f":T{shape.layout.tiling}" if shape.layout.tiling else ""
    return "{" + order + tiling + "}"
