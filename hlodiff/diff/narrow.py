"""Before anything is read: leave out the computations that both programs hold as they are.

What a sketch shows to be equal on both sides, and is called as often there as here by what is left, stands in the
narrowed modules as one instruction that says nothing but which it is. The rest of the differ then works as ever, and
has only what differs in its hands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hlodiff.diff.hollow import LEAF, Hollow, find_hollow, kept_lines
from hlodiff.diff.result import Edit, FusionChange, ModuleDiff, Site
from hlodiff.diff.words import CUDA_SIGNS
from hlodiff.ir.model import Computation, Instruction, Layout, Module, Shape
from hlodiff.ir.outline import Unread
from hlodiff.ir.sketch import Sketch, Sketcher, called_names, renamed_calls, same_names

_NOTHING = Shape("token", is_array=False)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Two programs without what is equal, and for each of their computations its index in the whole program."""

    whole: tuple[Module, Module]
    sketches: tuple[Sketch, Sketch]
    hidden: frozenset[int]
    reopened: frozenset[int]
    modules: tuple[Module, Module]
    places: tuple[tuple[int, ...], tuple[int, ...]]
    # Of hollow computations, by their index here: which instruction of the whole each of theirs is.
    lines: tuple[Mapping[int, Sequence[int]], Mapping[int, Sequence[int]]]

    def wider(self, keys: Iterable[int]) -> Narrowed:
        """The same with the computations of these keys opened."""
        return _narrow(self.whole, self.sketches, frozenset(keys))

    def body(self, side: int, index: int) -> Computation:
        """A computation of a narrowed module; as it really is where one instruction stands for it."""
        it = self.modules[side].computations[index]
        is_closed = it.instructions[it.root].opcode == LEAF and len(it.instructions) == 1
        return self.whole[side].computations[self.places[side][index]] if is_closed else it

    def widened(self, found: ModuleDiff) -> ModuleDiff:
        """The same difference with places in the whole programs."""
        return replace(
            found,
            edits=self._edits(found.edits),
            schedule=self._edits(found.schedule),
            tuning=self._edits(found.tuning),
            fusions=tuple(map(self._fusion, found.fusions)),
        )

    def _edits(self, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        return tuple(
            replace(edit, sites=tuple((self._site(old, 0), self._site(new, 1)) for old, new in edit.sites))
            for edit in edits
        )

    def _fusion(self, change: FusionChange) -> FusionChange:
        old, new = (tuple(self._here(s, n) for s in sites) for n, sites in enumerate((change.old, change.new)))
        return replace(change, old=old, new=new)

    def _site(self, site: Site | None, side: int) -> Site | None:
        return self._here(site, side) if site else None

    def _here(self, site: Site, side: int) -> Site:
        place = self.places[side][site.computation]
        lines = self.lines[side].get(site.computation)
        position = lines[site.instruction] if lines else site.instruction
        stand_ins = self.modules[side].computations[site.computation].instructions[site.instruction].called
        whole = self.whole[side].computations
        if not stand_ins or not isinstance(whole, Unread):
            return Site(place, position, site.computation_name, site.name, site.opcode, site.text)
        called = whole[place].instructions[position].called
        # The text with the names of what is really called, not of the equal computation that stands for it.
        ours = [self.modules[side].computations[n].name for n in stand_ins]
        names = dict(zip(ours, [whole.chunks[n].name for n in called], strict=True))
        return replace(site, computation=place, instruction=position, text=renamed_calls(site.text, names))


def narrow(old: Module, new: Module) -> Narrowed | None:
    """Leave out what both programs hold as it is; None where the programs were not read from text in XLA's own form.

    Args:
        old, new: two compiled programs.
    """
    if not isinstance(old.computations, Unread) or not isinstance(new.computations, Unread):
        return None
    scheduled = all(module.attribute("is_scheduled") == "true" for module in (old, new))
    same = same_names(old.computations, new.computations)
    sketcher = Sketcher({}, scheduled)
    first = sketcher.sketch(old.computations, old.entry, same)
    return _narrow((old, new), (first, sketcher.sketch(new.computations, new.entry, same)), frozenset())


def _narrow(whole: tuple[Module, Module], sketches: tuple[Sketch, Sketch], but: frozenset[int]) -> Narrowed:
    entries = [s.program.chunks[module.entry].name for s, module in zip(sketches, whole, strict=True)]
    hidden, opened = _hidden(sketches, entries, but)
    ranks = _ranks(sketches, hidden)
    hollow = find_hollow(sketches, entries, opened)
    marks = _has_spaces(sketches, opened)
    first, second = (
        _narrowed(module, sketches, side, opened[side], hollow, ranks, marks) for side, module in enumerate(whole)
    )
    modules, places, lines = (first[0], second[0]), (first[1], second[1]), (first[2], second[2])
    return Narrowed(whole, sketches, frozenset(hidden), but, modules, places, lines)


def _hidden(
    sketches: Sequence[Sketch], entries: Sequence[str], but: Container[int]
) -> tuple[set[int], list[dict[str, list[str]]]]:
    """Keys of what stays closed, and for either side the names of what is opened, with what they call.

    A computation that one side calls more often than the other may have come, gone or been edited at one of its calls.
    """
    hidden = {key for key in sketches[0].keys.values() if key is not None and key not in but}
    hidden &= {key for key in sketches[1].keys.values() if key is not None}
    callees: list[dict[str, list[str]]] = [{}, {}]
    while True:
        opened = [_reached(*each, hidden) for each in zip(sketches, entries, callees, strict=True)]
        counts = [_calls(*each, hidden) for each in zip(sketches, opened, callees, strict=True)]
        uneven = {key for key in counts[0] | counts[1] if counts[0][key] != counts[1][key]}
        if not uneven:
            return hidden, [{name: each[name] for name in some} for some, each in zip(opened, callees, strict=True)]
        hidden -= uneven


def _reached(sketch: Sketch, entry: str, callees: dict[str, list[str]], hidden: set[int]) -> list[str]:
    found = {entry: None}
    waiting = [entry]
    for name in waiting:
        if name not in callees:
            chunk = sketch.chunks[name]
            names = called_names(sketch.program.text[chunk.body : chunk.end])
            callees[name] = [callee for callee in names if callee in sketch.chunks]
        for callee in callees[name]:
            if sketch.keys[callee] not in hidden and callee not in found:
                found[callee] = None
                waiting.append(callee)
    return list(found)


def _calls(sketch: Sketch, opened: Sequence[str], callees: Mapping[str, list[str]], hidden: set[int]) -> Counter[int]:
    keys = (sketch.keys[callee] for name in opened for callee in callees[name])
    return Counter(key for key in keys if key is not None and key in hidden)


def _ranks(sketches: Sequence[Sketch], hidden: set[int]) -> dict[int, int]:
    """A number for each hidden key that does not depend on which program is the old one."""
    texts: dict[int, str] = {}
    for sketch in sketches:
        for name, key in sketch.keys.items():
            if key is not None and key in hidden:
                chunk = sketch.chunks[name]
                text = sketch.program.text[chunk.body : chunk.end]
                texts[key] = min(texts.get(key, text), text)
    return {key: rank for rank, key in enumerate(sorted(texts, key=lambda key: texts[key]))}


_Part = tuple[Module, tuple[int, ...], dict[int, Sequence[int]]]


def _narrowed(
    module: Module,
    sketches: Sequence[Sketch],
    side: int,
    opened: Container[str],
    hollow: Sequence[Hollow],
    ranks: Mapping[int, int],
    is_marked: bool,
) -> _Part:
    sketch = sketches[side]
    index = {chunk.name: n for n, chunk in enumerate(sketch.program.chunks)}
    trimmed = {index[(each.old, each.new)[side]]: each for each in hollow}
    computations: dict[int, Computation] = {}
    stands_for: dict[int, int] = {}
    closed: dict[int, int] = {}  # key -> the computation that stands for all its equals
    waiting = [module.entry]
    seen = {module.entry}
    for n in waiting:
        name = sketch.program.chunks[n].name
        key = sketch.keys[name]
        if name in opened:
            each = trimmed.get(n)
            body = sketch.program.read_lines(n, kept_lines(each, sketches, side)) if each else module.computations[n]
            waiting += [c for c in dict.fromkeys(c for it in body.instructions for c in it.called) if c not in seen]
            seen.update(waiting)
            computations[n], stands_for[n] = body, n
        elif key is not None:
            stands_for[n] = closed.setdefault(key, n)
            computations[stands_for[n]] = _closed(sketch.program.chunks[stands_for[n]].name, ranks[key])
    kept = sorted(computations)
    new = {n: at for at, n in enumerate(kept)}
    position = {n: new[stand] for n, stand in stands_for.items()}
    mark = _platform(sketch.program.text) if is_marked else ()
    bodies = (*(_with_callees(computations[n], position) for n in kept), *mark)
    narrowed = Module(module.name, module.stage, bodies, position[module.entry], module.attributes, module.frames)
    return narrowed, tuple(kept), {new[n]: each.lines(side) for n, each in trimmed.items() if n in new}


def _has_spaces(sketches: Sequence[Sketch], opened: Sequence[Container[str]]) -> bool:
    """Whether anything opened lies in a memory space: the one thing that has other names on other backends."""
    return any(
        sketch.program.text.find("S(", chunk.body, chunk.end) >= 0
        for sketch, names in zip(sketches, opened, strict=True)
        for chunk in sketch.program.chunks
        if chunk.name in names
    )


def _platform(text: str) -> tuple[Computation, ...]:
    """What tells the backend, where only what was left out would: nothing calls it, so it is never compared."""
    if ":T(" in text:
        shape = Shape("f32", (8, 128), Layout((1, 0), "(8,128)"))
        return (Computation(LEAF, (Instruction(LEAF, LEAF, shape),), 0),)
    sign = next((sign for sign in CUDA_SIGNS if sign in text), "")
    mark = Instruction(LEAF, LEAF, _NOTHING, attributes=(("custom_call_target", sign),))
    return (Computation(LEAF, (mark,), 0),) if sign else ()


def _closed(name: str, rank: int) -> Computation:
    return Computation(name, (Instruction(name, LEAF, _NOTHING, literal=str(rank)),), 0)


def _with_callees(computation: Computation, moved: Mapping[int, int]) -> Computation:
    if not any(it.calls for it in computation.instructions):
        return computation
    instructions = tuple(_with_moved(it, moved) if it.calls else it for it in computation.instructions)
    return replace(computation, instructions=instructions)


def _with_moved(it: Instruction, moved: Mapping[int, int]) -> Instruction:
    return replace(it, calls=tuple((name, tuple(moved[c] for c in group)) for name, group in it.calls))
