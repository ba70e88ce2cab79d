"""Which pass made two programs differ: the texts of both compiles aligned by pass, and compared in order.

Texts are compared by content fingerprints, which see what the differ sees. A diff is made only where equality ends.
Nothing is searched by halves: two compiles may part and meet again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.passes.dumps import Dump, PassName, Stage
from hlodiff.differ.passes.steps import Texts, without_tables
from hlodiff.differ.pipeline import diff
from hlodiff.differ.prepare import without_channels
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.differ.subsequence import longest_common_subsequence
from hlodiff.hlo.files import read_text
from hlodiff.hlo.fingerprint import KnownContents, computation_hashes
from hlodiff.hlo.grammar import LineParts, called_names, opcode_of, parts_of_lines, with_references, without_metadata
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.parser import read_hlo, spans_of
from hlodiff.hlo.traversal import preorder
from hlodiff.normalizer.fusion_parameters import fusion_parameters
from hlodiff.normalizer.passes import PASSES

# What of the header is compared; the rest is noise, or the schedule.
_HEADER = ("entry_computation_layout", "input_output_alias", "buffer_donor")
_FIELDS_OF_LAYOUT = frozenset(["layout", "memory_space"])


@dataclass(frozen=True, slots=True)
class PassPoint:
    """One place in the aligned sequence: a pass that both sides have, or passes that only one has.

    Args:
        old, new: the stages that it leads to, as indices into the states of each side.
        passes: the passes in between that changed a side: (0 old, 1 new; the stage).
        both: whether both sides have a text of the same pass here.
    """

    old: int
    new: int
    passes: tuple[tuple[int, Stage], ...]
    both: bool

    @property
    def name(self) -> PassName:
        """The pass; of several the first one."""
        return self.passes[0][1].follows


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two compiles stop being the same.

    Args:
        point: after which pass; None where they differ from the start.
        diff: the two texts after it, compared.
        joined: after which pass they are the same again; None where they are not.
    """

    point: PassPoint | None
    diff: ModuleDiff
    joined: PassPoint | None = None


@dataclass(frozen=True, slots=True)
class PassBlame:
    """Which passes made two compiles of one program differ.

    Args:
        partings: in order; none where they are the same to the end.
        alone: passes that changed the program on one side and have no text on the other: (0 old, 1 new; the stage).
        last: the highest number of a text on each side, for "pass 14 of 21".
        appeared: for each label, and for each attribute of an opcode with its value, that one side has more of in the
            end, the point since which it has.
    """

    partings: tuple[Parting, ...]
    alone: tuple[tuple[int, Stage], ...]
    last: tuple[int, int]
    appeared: dict[tuple[int, Label], PassPoint | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def parted(self) -> Parting | None:
        """The parting that the final difference goes back to: the last one; None where the ends are the same."""
        return self.partings[-1] if self.partings and self.partings[-1].joined is None else None

    def since(self, edit: Edit, modules: tuple[Module, Module]) -> tuple[bool, PassPoint | None]:
        """Since which pass an edit of the final programs is there.

        Args:
            edit: of the final difference.
            modules: the final programs that it is about, without noise.

        Returns:
            whether that is known, and the point; None for the start.
        """
        found = self._since_attributes(edit, modules)
        if found:
            return True, max(found, key=lambda point: (point.old, point.new) if point else (-1, -1))
        is_layout = bool(edit.fields) and _FIELDS_OF_LAYOUT.issuperset(edit.fields)
        for side, site in ((1, edit.new), (0, edit.old)):
            if site is None:
                continue
            it = _at_site(modules[side], site)
            for with_layout in (True,) if is_layout else (False, True):
                key = side, label_of(it, with_layout)
                if key in self.appeared:
                    return True, self.appeared[key]
        return False, None

    def _since_attributes(self, edit: Edit, modules: tuple[Module, Module]) -> list[PassPoint | None]:
        """Since when the attributes are there in which nothing but attributes changed; () for any other edit.

        The instruction as a whole may have its final form since a later pass, which changed something else in it.
        """
        changed = [field.removeprefix("attribute:") for field in edit.fields]
        if edit.kind != "changed" or edit.old is None or edit.new is None or not changed:
            return []
        if any(name == field for name, field in zip(changed, edit.fields, strict=True)):
            return []
        sides = [_at_site(module, site) for module, site in zip(modules, (edit.old, edit.new), strict=True)]
        keys = [
            (side, (it.opcode, name, it.attribute(name)))
            for name in changed
            for side, it in ((1, sides[1]), (0, sides[0]))
            if it.attribute(name) is not None
        ]
        return [self.appeared[key] for key in keys if key in self.appeared]


def _at_site(module: Module, site: Site) -> Instruction:
    where = module.computations
    same = site.computation < len(where) and where[site.computation].name == site.computation_name
    index = (
        site.computation
        if same
        else next((n for n, one in enumerate(where) if one.name == site.computation_name), site.computation)
    )
    body = where[index].instructions
    if site.instruction < len(body) and body[site.instruction].name == site.name:
        return body[site.instruction]
    return next((it for it in body if it.name == site.name), body[min(site.instruction, len(body) - 1)])


class _DumpSide:
    """The texts of one side, and fingerprints of those that differ from the one before."""

    def __init__(self, dump: Dump, counter: LabelCounter, contents: KnownContents) -> None:
        self.dump = dump
        self._contents = contents  # a pass leaves most computations as they are
        self.stages = dump.stages
        self._counter = counter
        self._texts = Texts(dump)
        self._data: dict[int, bytes] = {}  # of texts that differ from the one before
        self._prints: dict[int, tuple[object, ...]] = {}
        self._labels: dict[int, Counter[Label]] = {}
        self._same: dict[int, int] = {}
        self._digests: dict[int, bytes] = {}

    def state(self, index: int) -> int:
        """The first stage with the same bytes as this one, of those right before it."""
        if index not in self._same:
            before = self.state(index - 1) if index else -1
            self._same[index] = before if before >= 0 and self.digest(before) == self.digest(index) else index
            if self._same[index] != index:
                del self._data[index]  # its bytes are those of the other
        return self._same[index]

    def digest(self, index: int) -> bytes:
        """Of the bytes of a text, the tables of Python lines apart: each text meets several others."""
        if index not in self._digests:
            self._digests[index] = blake2b(without_tables(self.data(index))).digest()
        return self._digests[index]

    def data(self, index: int) -> bytes:
        if index not in self._data:
            self._data[index] = self._texts.data(self.stages[index])
        return self._data[index]

    def module(self, index: int) -> Module:
        state = self.state(index)
        return self._texts.module(self.stages[state], self.data(state))

    def fingerprint(self, index: int) -> tuple[object, ...]:
        state = self.state(index)
        if state not in self._prints:
            module = clean(self.module(state))
            header = tuple(module.attribute(name) or "" for name in _HEADER)
            self._prints[state] = (computation_hashes(module, known=self._contents)[module.entry], *header)
            self._contents.forget_computations()
        return self._prints[state]

    def labels(self, index: int) -> Counter[Label]:
        """How often each label occurs, with and without layouts."""
        state = self.state(index)
        if state not in self._labels:
            self._labels[state] = self._counter.count(self.data(state).decode())
        return self._labels[state]


def _same(one: _DumpSide, index: int, other: _DumpSide, place: int) -> bool:
    """Whether two texts are the same program; those that hold other instructions are not parsed."""
    return one.labels(index) == other.labels(place) and one.fingerprint(index) == other.fingerprint(place)


def points_of(old: Dump, new: Dump) -> list[PassPoint]:
    """The passes of two compiles, aligned by pipeline and name, in order.

    Args:
        old, new: the dumps of both sides.

    Returns:
        one point for each text that both have, and one for each run of texts that only one has. The texts before all
        passes are aligned with each other, and so are the last ones.
    """
    # The first texts are those before all passes, and the last ones the results: they correspond whatever their names.
    keys = [_key(stage) for stage in old.stages[1:]], [_key(stage) for stage in new.stages[1:]]

    def likeness(a: int, b: int) -> int:
        """A pass that ran several times is the one with the same neighbours."""
        return sum(keys[0][a + n : a + n + 1] == keys[1][b + n : b + n + 1] for n in (1, 2, 3))

    found: list[PassPoint] = []
    last = (0, 0)
    ends = len(old.stages), len(new.stages)
    for a, b in [*((a + 1, b + 1) for a, b in longest_common_subsequence(*keys, likeness)), ends]:
        alone = [(0, stage) for stage in old.stages[last[0] + 1 : a]] + [
            (1, stage) for stage in new.stages[last[1] + 1 : b]
        ]
        if alone:
            found.append(PassPoint(a - 1, b - 1, tuple(alone), False))
        if (a, b) != ends:
            found.append(PassPoint(a, b, ((0, old.stages[a]), (1, new.stages[b])), True))
        last = a, b
    return found


def _key(stage: Stage) -> tuple[str, str, str]:
    """What texts of two compiles are aligned by; those of the whole have no name of a target in them."""
    if stage.number is None:
        return ("", "", "after" if "after" in stage.follows.step else "before")
    return stage.follows.pipeline, stage.follows.name, stage.follows.step


def blame(old: Dump, new: Dump, limits: Limits = DEFAULTS) -> PassBlame:
    """Walk two compiles in order and find where they part, where they meet again, and since when what differs is there.

    Args:
        old, new: the dumps of both sides.
        limits: how much may be tried for the shortest list of edits where they part.

    Returns:
        the passes to blame.

    Raises:
        ReadError: a text cannot be read.
    """
    counter, contents = LabelCounter(), KnownContents()
    sides = _DumpSide(old, counter, contents), _DumpSide(new, counter, contents)
    walk = _AlignedWalk(sides, limits)
    points: list[PassPoint] = []
    before = 0, 0
    for point in points_of(old, new):
        points.append(_without_idle(sides, point, before))
        before = point.old, point.new
    for point in points:
        walk.go(point)
    alone = tuple(one for point in points if not point.both for one in point.passes)
    return PassBlame(tuple(walk.partings), alone, (old.last, new.last), walk.appeared)


def _without_idle(sides: tuple[_DumpSide, _DumpSide], point: PassPoint, before: tuple[int, int]) -> PassPoint:
    """A run of texts of one side without those that are what the text before them was."""
    if point.both:
        return point
    kept = []
    last = list(before)
    for side, stage in point.passes:
        index = last[side] + 1
        if not _same(sides[side], index, sides[side], last[side]):
            kept.append((side, stage))
        last[side] = index
    return PassPoint(point.old, point.new, tuple(kept), False)


class _AlignedWalk:
    """Both compiles, from the first texts on."""

    def __init__(self, sides: tuple[_DumpSide, _DumpSide], limits: Limits) -> None:
        self.sides, self.limits = sides, limits
        self.partings: list[Parting] = []
        self.appeared: dict[tuple[int, Label], PassPoint | None] = {}
        self._equal: set[tuple[object, object]] = set()
        self._seen: dict[tuple[int, int], bool] = {}
        self._part(0, 0, None)

    def go(self, point: PassPoint) -> None:
        """Look at the texts after one pass."""
        parted = bool(self.partings) and self.partings[-1].joined is None
        if self._same(point.old, point.new):
            if parted:
                last = self.partings[-1]
                self.partings[-1] = Parting(last.point, last.diff, point)
                self.appeared.clear()
            return
        if not parted:
            self._part(point.old, point.new, point)
        else:
            self._note(point.old, point.new, point)

    def _part(self, old: int, new: int, point: PassPoint | None) -> None:
        whole, reached = (old, new), point
        if self._same(old, new):
            return
        if point is not None and not point.both and len({side for side, _ in point.passes}) == 1:
            # One side alone went on: the first pass that changed it is the one, and the other side waits.
            side, stage = point.passes[0]
            place = [point.old, point.new]
            place[side] = self.sides[side].stages.index(stage)
            point = PassPoint(place[0], place[1], point.passes[:1], False)
            old, new = place
        found = diff(self.sides[0].module(old), self.sides[1].module(new), limits=self.limits)
        if found.identical:  # what only a fingerprint sees
            self._equal.add((self.sides[0].fingerprint(old), self.sides[1].fingerprint(new)))
            self._seen[self.sides[0].state(old), self.sides[1].state(new)] = True
            return
        self.partings.append(Parting(point, found))
        self._note(old, new, point)
        if (old, new) != whole:
            self._note(*whole, reached)

    def _same(self, old: int, new: int) -> bool:
        key = self.sides[0].state(old), self.sides[1].state(new)
        if key not in self._seen:
            same = self.sides[0].digest(key[0]) == self.sides[1].digest(key[1])
            same = same or _same(self.sides[0], old, self.sides[1], new)
            if not same and self._equal:
                same = (self.sides[0].fingerprint(old), self.sides[1].fingerprint(new)) in self._equal
            self._seen[key] = same
        return self._seen[key]

    def _note(self, old: int, new: int, point: PassPoint | None) -> None:
        """Remember since when one side has more of something; what is even again is forgotten."""
        counts = self.sides[0].labels(old), self.sides[1].labels(new)
        surplus = Counter({label: counts[1][label] - counts[0][label] for label in counts[0].keys() | counts[1].keys()})
        surplus.update(attribute_counts(surplus))
        more = {(int(times > 0), label) for label, times in surplus.items() if times}
        for key in [key for key in self.appeared if key not in more]:
            del self.appeared[key]
        for key in more:
            self.appeared.setdefault(key, point)


# --- What instructions are without their neighbours, counted over a program.
#
# Programs that are equal have equal counts, so that most pairs of texts are distinguished without being parsed.
# Neighbouring texts of a compile share most of their lines: what a line says is worked out once for all of them.

Label = tuple[object, ...]
_Line = tuple[str, str, str]
"""Shape and opcode, literal, and attributes as printed."""

# Names in attributes are those of computations or of instructions; here each is defined as both.
_SCAFFOLD = """HloModule m

%c {{
  ROOT %p = f32[] parameter(0)
}}

ENTRY %e {{
  %c = f32[] parameter(0)
{lines}
  ROOT %root = f32[] negate(%c)
}}
"""


def clean(module: Module) -> Module:
    """A program without the noise that the differ ignores, tuning and channel numbers."""
    for rule in PASSES:
        if module.stage in rule.stages and rule.affects_diff:
            if rule.name == "fusion_parameters":
                module, _ = fusion_parameters(module, frozenset(), see_callers=False)
            else:
                module, _ = rule.apply(module)
    return without_channels(module)


def label_of(it: Instruction, with_layout: bool) -> Label:
    """What an instruction is, without its neighbours."""
    attributes = tuple(sorted((name, value) for name, value in it.attributes if name != "backend_config"))
    return it.opcode, (it.shape if with_layout else it.shape.bare).text, it.literal, attributes, with_layout


def attribute_counts(counts: Counter[Label]) -> Counter[Label]:
    """How often each attribute of an opcode has each value, from counts of labels, which may be below zero.

    Example:
        >>> attribute_counts(Counter({("reverse", "f32[2]", None, (("dimensions", "{0}"),), False): -1}))
        Counter({('reverse', 'dimensions', '{0}'): -1})
    """
    found: Counter[Label] = Counter()
    for (opcode, _, _, attributes, with_layout), times in counts.items():
        if times and not with_layout and isinstance(attributes, tuple):
            for name, value in attributes:
                found[opcode, name, value] += times
    return found


class LabelCounter:
    """Counts labels, with and without layouts, of one program after another; parameters are left out.

    Example:
        >>> text = "HloModule m\\n\\nENTRY %e {\\n  %p = f32[2]{0} parameter(0)\\n  ROOT %r = f32[2]{0} sine(%p)\\n}\\n"
        >>> [label[:2] for label in LabelCounter().count(text)]
        [('sine', 'f32[2]'), ('sine', 'f32[2]{0}')]
    """

    def __init__(self) -> None:
        self._attributes: dict[str, str] = {}
        self._labels: dict[_Line, tuple[Label, ...]] = {}

    def count(self, text: str) -> Counter[Label]:
        """How often each label occurs in what the entry of a program reaches.

        Raises:
            ReadError: the text cannot be read.
        """
        lines = self._lines(text)
        return _of_instructions(clean(read_text(text))) if lines is None else self._of_lines(lines)

    def _lines(self, text: str) -> Counter[_Line] | None:
        """How often each line occurs; None where the text is not in canonical form."""
        spans = spans_of(text)
        parts = {span.name: parts_of_lines(text, span) for span in spans or ()}
        if not spans or not all(parts.values()):
            return None
        callees = {name: [callee for callee in _callees(lines) if callee in parts] for name, lines in parts.items()}
        reached = preorder([span.name for span in spans if span.is_entry], callees.__getitem__)
        found: Counter[_Line] = Counter()
        for name in reached:
            found.update((shape, "" if given[:1] == "%" else given, tail) for _, shape, given, tail in parts[name])
        merged: Counter[_Line] = Counter()
        for (shape, literal, tail), times in found.items():
            merged[shape, literal, self._plain(tail)] += times
        return merged

    def _plain(self, attributes: str) -> str:
        """Attributes without what differs from line to line: metadata and names."""
        found = self._attributes.get(attributes)
        if found is None:
            found = self._attributes[attributes] = with_references(without_metadata(attributes), lambda _: "%c")
        return found

    def _of_lines(self, lines: Counter[_Line]) -> Counter[Label]:
        fresh = [line for line in lines if line not in self._labels and opcode_of(line[0]) != "parameter"]
        if fresh:
            printed = "\n".join(f"  %{n} = {shape}({literal}){tail}" for n, (shape, literal, tail) in enumerate(fresh))
            module = clean(read_hlo(_SCAFFOLD.format(lines=printed), check_calls=False))
            for it in module.entry_computation.instructions[1:-1]:
                self._labels[fresh[int(it.name)]] = label_of(it, False), label_of(it, True)
        counts: Counter[Label] = Counter()
        for line, times in lines.items():
            for label in self._labels.get(line, ()):
                counts[label] += times
        return counts


def _callees(lines: Iterable[LineParts]) -> list[str]:
    """What is named in attributes: computations, and instructions that run before."""
    return [name for tail in {line[3] for line in lines} if "%" in tail for name in called_names(tail)]


def _of_instructions(module: Module) -> Counter[Label]:
    counts: Counter[Label] = Counter()
    for index in preorder([module.entry], lambda index: module.computations[index].callees):
        for it in module.computations[index].instructions:
            if it.opcode != "parameter":
                counts[label_of(it, False)] += 1
                counts[label_of(it, True)] += 1
    return counts
