"""From reported edits to a script: every step is charged to one site of one edit, and what no edit names is left out.

Nothing here judges. An operand that changed though nothing came or went beside it, a field that no edit names: they are
not in the script, and `replay` finds that the outcome is another program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.diff.bodies_paired import Key, PairedBodies
from hlodiff.diff.compared_form import compared_form
from hlodiff.diff.differ import work_out
from hlodiff.diff.operands import slots_of
from hlodiff.diff.pairs import is_embedded
from hlodiff.diff.prepare import prepared
from hlodiff.diff.reported import Reported, Said, donation_settings, settings
from hlodiff.diff.result import ModuleDiff
from hlodiff.diff.script import (
    BINDS,
    Added,
    Arrived,
    Calls,
    Changed,
    Header,
    Pair,
    Removed,
    Reordered,
    Script,
    Setting,
    Step,
    Value,
    Wire,
)
from hlodiff.diff.wiring import Aligned, align, below, exchanged, through
from hlodiff.ir.content import is_commutative
from hlodiff.ir.model import Computation, Instruction, Module

_ROOT = -1


def script_of(found: ModuleDiff) -> Script:
    """The machine-readable script of a diff, worked out from its edits when asked for.

    Args:
        found: what `diff` returned.

    Returns:
        the script; `replay` says whether it is complete.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> from hlodiff.diff.differ import diff
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2]{0} parameter(0)\\n  ROOT r = f32[2]{0} sine(p)\\n}"
        >>> script = script_of(diff(read_hlo(text), read_hlo(text.replace("sine", "cosine"))))
        >>> [(type(step).__name__, step.settings[0].text) for step in script.steps]
        [('Changed', 'cosine')]
    """
    ready = prepared(found.old, found.new)
    tuned = ready.modules
    bodies = PairedBodies.of(work_out(ready, found.bounds))
    return _Writer((compared_form(tuned[0]), compared_form(tuned[1])), bodies, Reported.of(found, tuned)).write()


@dataclass(slots=True)
class _Draft:
    """A pair while it is written; wires by the place of what came or went on the way."""

    key: Key
    old: Computation
    new: Computation
    partners: list[int]
    back: list[int]
    calls: dict[int, Calls] = field(default_factory=dict)
    came: list[tuple[int, Instruction]] = field(default_factory=list)
    went: list[int] = field(default_factory=list)
    arguments: list[Wire] = field(default_factory=list)
    wires_came: dict[int, list[Wire]] = field(default_factory=dict)
    wires_went: dict[int, list[Wire]] = field(default_factory=dict)


_NOTHING = Computation("", (), -1)


@dataclass(slots=True)
class _Writer:
    """Walks from the entries along calls: first what survives, then what came and went with all that it calls."""

    modules: tuple[Module, Module]
    bodies: PairedBodies
    reported: Reported
    index: dict[Key, int] = field(default_factory=dict)
    drafts: list[_Draft] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    of_computation: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def write(self) -> Script:
        self._reach((self.modules[0].entry, self.modules[1].entry, ()))
        for number, draft in enumerate(self.drafts):  # grows on the way
            self._survivors(number, draft)
        paired = len(self.drafts)
        self._follow()
        for number, draft in enumerate(self.drafts[paired:], paired):
            self._survivors(number, draft)
        for number, draft in enumerate(self.drafts):
            self._departures(number, draft)
            self._arrivals(number, draft)
        self._header()
        return Script(*self.modules, tuple(map(self._pair, self.drafts)), tuple(self.steps), tuple(self.reported.table))

    def _pair(self, draft: _Draft) -> Pair:
        return Pair(
            draft.key[0],
            draft.key[1],
            tuple(draft.partners),
            tuple(draft.calls.items()),
            tuple(draft.came),
            tuple(draft.went),
            tuple(draft.arguments),
            self.bodies.counts.get(draft.key[:2], 1),
            draft.new.root if draft.key[0] < 0 else -1,
            self.bodies.renumbered(draft.key, draft.partners),
        )

    def _reach(self, key: Key) -> int:
        if key not in self.index:
            self.index[key] = len(self.drafts)
            old = self.modules[0].computations[key[0]] if key[0] >= 0 else _NOTHING
            new = self.modules[1].computations[key[1]] if key[1] >= 0 else _NOTHING
            partners = self._partners(key)
            back = [-1] * len(new.instructions)
            for one, other in enumerate(partners):
                if other >= 0:
                    back[other] = one
            self.drafts.append(_Draft(key, old, new, partners, back))
            for side in (0, 1):
                self.of_computation.setdefault((side, key[:2][side]), []).append(self.index[key])
        return self.index[key]

    def _partners(self, key: Key) -> list[int]:
        """Those of the differ, but for collectives that are said to have become something else as a whole."""
        partners = list(self.bodies.partners(key))
        for one, other in enumerate(partners):
            if other >= 0 and (
                (key[0], one) in self.reported.gone_whole or (key[1], other) in self.reported.came_whole
            ):
                partners[one] = -1
        return partners

    def _survivors(self, number: int, draft: _Draft) -> None:
        returns_another = False
        for one, other in enumerate(draft.partners):
            if other >= 0:
                said = self.reported.changed.get(((draft.key[0], one), (draft.key[1], other)), [])
                said = [s for s in said if s.edit.matcher != "schedule"]
                is_rewired = any("operands" in s.edit.fields for s in said)
                returns_another |= any("attribute:root" in s.edit.fields for s in said)
                if draft.old.instructions[one].calls or draft.new.instructions[other].calls:
                    draft.calls[other] = self._calls(draft, one, other, is_rewired)
                if not is_rewired and (draft.old.instructions[one].operands or draft.new.instructions[other].operands):
                    self._operands(draft, one, other)
                for each in said:
                    self.steps.append(self._changed(number, draft, each, one, other))
        if draft.key[0] >= 0 and draft.key[1] >= 0:
            if not returns_another:
                self._wire(draft, _ROOT, (0, 0), (draft.old.root, 0), (draft.new.root, 0))
            roots = (draft.key[0], draft.old.root), (draft.key[1], draft.new.root)
            for each in self.reported.changed.get(roots, ()):
                if each.edit.matcher == "schedule":
                    self.steps.append(Reordered(each.charge, number))

    def _calls(self, draft: _Draft, one: int, other: int, is_rewired: bool) -> Calls:
        before, after = draft.old.instructions[one], draft.new.instructions[other]
        ours = dict(before.calls)
        order = () if is_rewired else self._exchange(draft, before, after)
        found = []
        for name, group in after.calls:
            olds = ours.get(name, ())
            refs = [self._reach((a, b, order)) for a, b in zip(olds, group, strict=False)]
            found.append((name, (*refs, *(self._callee(after, name, b) for b in group[len(olds) :]))))
        return tuple(found)

    def _exchange(self, draft: _Draft, before: Instruction, after: Instruction) -> tuple[int, ...]:
        """How the operands of a fusion were exchanged where what it calls cannot tell them apart; () for not at all."""
        if before.opcode != "fusion" or after.opcode != "fusion" or len(before.called) != 1 or len(after.called) != 1:
            return ()
        if len(before.operands) != len(after.operands) or not self.bodies.are_equal(before.called[0], after.called[0]):
            return ()
        order = exchanged(_mapped(draft, before), slots_of(after))
        return order if order and self.bodies.cannot_tell(before.called[0], order) else ()

    def _operands(self, draft: _Draft, one: int, other: int) -> None:
        before, after = draft.old.instructions[one], draft.new.instructions[other]
        ours, theirs = slots_of(before), slots_of(after)
        aligned = self._through(draft, before, after, other)
        is_call = aligned is not None
        commutative = is_commutative(before) and is_commutative(after)
        if aligned is None:
            there = [(value, draft.back[value[0]] >= 0) for value in theirs]
            aligned = align(_mapped(draft, before), there)
            if (
                commutative
                and not self._is_explained(draft, ours, theirs)
                and self._is_explained(draft, ours, theirs[::-1])
            ):
                aligned = [(0, 1), (1, 0)]
        for slot, place in aligned:
            a = ours[slot] if slot is not None else None
            b = theirs[place] if place is not None else None
            numbers = (slot, slot if commutative and len(ours) == len(theirs) else place)
            if is_call and (slot is None or place is None):
                draft.arguments.append(Wire(other, slot, place, b))
            else:
                self._wire(draft, other, numbers, a, b)

    def _is_explained(self, draft: _Draft, ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
        """Whether each operand is what it was, or something came or went on the way to it."""
        return all(
            (draft.partners[a[0]], a[1]) == b
            or (draft.partners[a[0]] < 0 and draft.back[b[0]] < 0)
            or draft.partners[a[0]] in below(draft.new, draft.back, b[0])
            or draft.back[b[0]] in below(draft.old, draft.partners, a[0])
            for a, b in zip(ours, theirs, strict=True)
        )

    def _through(self, draft: _Draft, before: Instruction, after: Instruction, other: int) -> Aligned | None:
        for _, refs in draft.calls.get(other, ()):
            for ref in refs if after.opcode in BINDS else ():
                inner = self.drafts[ref]
                if inner.key[0] < 0 or inner.key[1] < 0:
                    continue
                olds, news = inner.old.parameters(), inner.new.parameters()
                if len(olds) == len(before.operands) and len(news) == len(after.operands):
                    return through(olds, news, inner.partners)
        return None

    def _wire(
        self,
        draft: _Draft,
        user: int,
        numbers: tuple[int | None, int | None],
        before: Value | None,
        after: Value | None,
    ) -> None:
        """Charge one operand that reads something else to what came or went there; to nothing where nothing did."""
        if before and after and (draft.partners[before[0]], before[1]) == after:
            return
        wire = Wire(user, *numbers, after)
        if after and draft.back[after[0]] < 0 and (draft.key[1], after[0]) in self.reported.came:
            draft.wires_came.setdefault(after[0], []).append(wire)
        elif before and draft.partners[before[0]] < 0 and (draft.key[0], before[0]) in self.reported.gone:
            draft.wires_went.setdefault(before[0], []).append(wire)

    def _changed(self, number: int, draft: _Draft, said: Said, one: int, other: int) -> Step:
        before, after = draft.old.instructions[one], draft.new.instructions[other]
        if said.charge.channel == "schedule":
            return Changed(said.charge, number, other, (Setting("control", places=after.control_predecessors),))
        found = [*settings(said, before, after), *self._threads(draft, said, other)]
        if number == 0 and before.opcode == after.opcode == "parameter":
            numbers = int(before.literal or 0), int(after.literal or 0)
            found += donation_settings(said, *self.modules, numbers)
        if "attribute:root" in said.edit.fields:
            found.append(Setting("root", places=(draft.new.root,)))
        operands = tuple(slots_of(after)) if "operands" in said.edit.fields else None
        return Changed(said.charge, number, other, tuple(found), operands)

    def _threads(self, draft: _Draft, said: Said, other: int) -> Iterator[Setting]:
        if "compute_type" in said.edit.fields:
            for _, refs in draft.calls.get(other, ()):
                for inner in (self.drafts[ref] for ref in refs):
                    if inner.old.execution_thread != inner.new.execution_thread:
                        yield Setting("thread", inner.new.execution_thread)

    def _follow(self) -> None:
        """Reach what is called by what came and went; first what moved along, for others may use it too."""
        for is_new in (False, True):
            for draft in self.drafts:  # grows on the way
                for other in range(len(draft.back)):
                    for said in self._said(1, draft, other):
                        if (said.old is None) == is_new:
                            self._called(said, draft.new.instructions[other])
        for draft in self.drafts:
            for one, partner in enumerate(draft.partners):
                before = draft.old.instructions[one]
                if partner >= 0:
                    self._dropped(before, draft.new.instructions[partner])
                for said in self._said(0, draft, one):
                    self._left(before, self._target(said))

    def _dropped(self, before: Instruction, after: Instruction) -> None:
        """A survivor that calls less than it did: what it called must be told too."""
        theirs = dict(after.calls)
        for name, group in before.calls:
            for callee in group[len(theirs.get(name, ())) :]:
                self._leave(before, name, callee)

    def _left(self, before: Instruction, along: Sequence[int]) -> None:
        """What was called by what went must be told too, unless it moved `along` as it was."""
        for name, group in before.calls:
            for callee in group:
                if not any(self.bodies.are_equal(callee, other) for other in along):
                    self._leave(before, name, callee)

    def _leave(self, before: Instruction, name: str, callee: int) -> None:
        still = any(key[0] == callee and key[1] >= 0 for key in self.index)
        if not (is_embedded(before, name) and still):
            self._reach((callee, -1, ()))

    def _said(self, side: int, draft: _Draft, place: int) -> list[Said]:
        """The edits that tell of an instruction without a partner."""
        if (draft.partners, draft.back)[side][place] >= 0:
            return []
        return (self.reported.gone, self.reported.came)[side].get((draft.key[:2][side], place), [])

    def _mine(self, side: int, number: int, place: int) -> list[Said]:
        """Those of them that belong to this pair: where a computation has several partners, each pair has its own."""
        draft = self.drafts[number]
        said = self._said(side, draft, place)
        others = self.of_computation[side, draft.key[:2][side]]
        alike = [n for n in others if (self.drafts[n].partners, self.drafts[n].back)[side][place] < 0]
        rank = alike.index(number)
        return said[rank:] if rank + 1 == len(alike) else said[rank : rank + 1]

    def _departures(self, number: int, draft: _Draft) -> None:
        for one, partner in enumerate(draft.partners):
            if partner >= 0:
                continue
            said = self._mine(0, number, one)
            if not said and number > 0 and draft.old.instructions[one].opcode == "parameter":
                draft.went.append(one)
            for n, each in enumerate(said):
                wires = () if n else tuple(draft.wires_went.get(one, ()))
                self.steps.append(Removed(each.charge, number, one, wires))

    def _target(self, said: Said) -> Sequence[int]:
        """What is called by what an instruction has become elsewhere."""
        return self.modules[1].computations[said.new[0]].instructions[said.new[1]].called if said.new else ()

    def _arrivals(self, number: int, draft: _Draft) -> None:
        for other, partner in enumerate(draft.back):
            if partner >= 0:
                continue
            it = draft.new.instructions[other]
            said = self._mine(1, number, other)
            if not said and it.opcode == "parameter" and number > 0:
                draft.came.append((other, it))
            for n, each in enumerate(said):
                wires = () if n else tuple(draft.wires_came.get(other, ()))
                self.steps.append(self._arrival(number, each, other, it, wires))
                self.steps += self._retuned(number, each, other, it)

    def _arrival(self, number: int, said: Said, other: int, it: Instruction, wires: tuple[Wire, ...]) -> Step:
        calls, source = self._called(said, it), self._source(said)
        if said.edit.kind == "moved" and source is not None and said.old is not None:
            changes = tuple(settings(said, source, it))
            operands = tuple(slots_of(it))
            return Arrived(
                said.charge, number, other, said.old, changes, operands, it.control_predecessors, calls, wires
            )
        return Added(said.charge, number, other, replace(it, calls=()), calls, wires)

    def _retuned(self, number: int, said: Said, other: int, it: Instruction) -> Iterator[Step]:
        """What moved may have been tuned anew there."""
        source = self._source(said)
        if said.edit.kind == "moved" and source and said.old and said.new:
            for each in self.reported.changed.get((said.old, said.new), ()):
                yield Changed(each.charge, number, other, tuple(settings(each, source, it)))

    def _source(self, said: Said) -> Instruction | None:
        """What moved, or the same collective in another spelling."""
        return self.modules[0].computations[said.old[0]].instructions[said.old[1]] if said.old else None

    def _called(self, said: Said, it: Instruction) -> Calls:
        source = self._source(said)
        return tuple((name, tuple(self._callee(it, name, b, source) for b in group)) for name, group in it.calls)

    def _callee(self, it: Instruction, name: str, callee: int, source: Instruction | None = None) -> int:
        """What an instruction that came calls: as it was where it moved along, one that others use, or a new one."""
        if source is not None:
            for old in source.called:
                if self.bodies.are_equal(old, callee):
                    return self._reach((old, callee, ()))
        if is_embedded(it, name):
            known = next((n for key, n in self.index.items() if key[1] == callee and key[0] >= 0), None)
            if known is not None:
                return known
        return self._reach((-1, callee, ()))

    def _header(self) -> None:
        names = {"layout": "entry_computation_layout", "schedule": "is_scheduled"}
        for said in self.reported.header:
            for one in said.edit.fields:
                name = names.get(one, one.removeprefix("attribute:"))
                self.steps.append(Header(said.charge, name, self.modules[1].attribute(name)))


def _mapped(draft: _Draft, it: Instruction) -> Sequence[Value | None]:
    """What the operands of an old instruction are in the new program."""
    return [(draft.partners[o], r) if draft.partners[o] >= 0 else None for o, r in slots_of(it)]
