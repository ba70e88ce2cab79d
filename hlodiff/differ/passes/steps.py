"""What each pass did: neighbouring texts of a dump compared, and which instruction is which in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hlodiff.differ.canonical_direction import CanonicalDiff
from hlodiff.differ.computation_matches import every_mapping
from hlodiff.differ.costs import program_bytes
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.metrics import count, metrics_of
from hlodiff.differ.passes.dumps import Dump, PassName, Stage
from hlodiff.differ.pipeline import diff_with_matches
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.errors import ReadError
from hlodiff.hlo.files import read_bytes
from hlodiff.hlo.grammar import DEBUG_TABLE
from hlodiff.hlo.model import Module, Place

# The largest dump that was tried had 80 texts of 3,700 instructions, 50 MB; what is larger is refused, not read.
MOST_BYTES = 4 * 1024**3
# The tables before the first computation name Python files and lines; they and the metadata are no part of the program.
NUMBERS = ("fusions", "copies", "converts", "bytes")


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a program holds at one stage; bytes are read and written in one call, computed from shapes."""

    fusions: int
    copies: int
    converts: int
    bytes: int

    @staticmethod
    def of(module: Module) -> Numbers:
        """Count a program."""
        found = metrics_of(count(module))
        fusions, copies, converts = (int(found.get(name, 0)) for name in NUMBERS[:3])
        return Numbers(fusions, copies, converts, sum(program_bytes(module)))


@dataclass(frozen=True)
class PassStep:
    """Two neighbouring texts that differ.

    Args:
        index: of the later text in `Dump.stages`.
        stage: the later text.
        before: the text that it is compared with: the last one that differs from it.
        passed: the pass that lies between them; where none is named, what is known of the place.
        diff: the difference.
        mapping: for each instruction of the earlier text the one in the later text that it is.
        edits: of the program, by the place of what was edited in the later text.
    """

    index: int
    stage: Stage
    before: Stage
    passed: PassName
    diff: ModuleDiff
    mapping: Mapping[Place, Place] = field(repr=False)
    edits: Mapping[Place, tuple[Edit, ...]] = field(repr=False)

    @property
    def has_edits(self) -> bool:
        """Whether the program, its schedule or its tuning is another one; names and metadata are not compared."""
        return bool(self.diff.edits or self.diff.schedule or self.diff.tuning)

    @cached_property
    def numbers(self) -> tuple[Numbers, Numbers]:
        """What is counted in both texts."""
        return Numbers.of(self.diff.old), Numbers.of(self.diff.new)

    @cached_property
    def back(self) -> dict[Place, Place]:
        """For each instruction of the later text the one in the earlier text that it was."""
        found: dict[Place, Place] = {}
        for old, new in self.mapping.items():
            found.setdefault(new, old)
        return found


class Texts:
    """The texts of a dump, each read and parsed at most once while it is needed."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self._bytes = 0
        self._last: tuple[bytes, Module] | None = None

    def data(self, stage: Stage) -> bytes:
        """The bytes of a text.

        Raises:
            ReadError: the folder holds more than any compile writes.
        """
        found = self.dump.read(stage.file)
        self._bytes += len(found)
        if self._bytes > MOST_BYTES:
            what = f"more than {MOST_BYTES:,} bytes of one module"
            raise ReadError(what, path=self.dump.path(stage), hint="dump a smaller function")
        return found

    def module(self, stage: Stage, data: bytes) -> Module:
        """The program of a text."""
        if self._last is None or self._last[0] != data:
            self._last = (data, read_bytes(data, path=self.dump.path(stage)))
        return self._last[1]


def same_program(one: bytes, other: bytes) -> bool:
    """Whether two texts hold the same bytes, the tables of Python lines apart.

    Example:
        >>> same_program(b"HloModule m\\n", b"HloModule m\\n\\nFileNames\\n1 \\"a.py\\"\\n\\n")
        False
    """
    return one == other or (len(one) != len(other) and without_tables(one) == without_tables(other))


def without_tables(data: bytes) -> bytes:
    """A text without the tables of Python lines."""
    return DEBUG_TABLE.sub(b"", data)


def pass_steps(dump: Dump, limits: Limits = DEFAULTS) -> Iterator[PassStep]:
    """Walk a dump in order and compare each text with the one before it, where their bytes differ.

    Args:
        dump: the texts of one module.
        limits: how much may be tried for the shortest list of edits.

    Returns:
        one step for each text that differs from the one before; one that has no edits differs in names only.

    Raises:
        ReadError: a text cannot be read.
    """
    texts = Texts(dump)
    last: tuple[Stage, bytes, Module] | None = None
    for index, stage in enumerate(dump.stages):
        data = texts.data(stage)
        if last is not None and same_program(last[1], data):
            continue
        module = texts.module(stage, data)
        if last is not None:
            yield PassStep(index, stage, last[0], stage.follows, *followed(last[2], module, limits))
        last = (stage, data, module)


def first_module(dump: Dump) -> Module:
    """The program of the first text of a dump."""
    stage = dump.stages[0]
    return read_bytes(dump.read(stage.file), path=dump.path(stage))


_Edits = dict[Place, tuple[Edit, ...]]


def followed(old: Module, new: Module, limits: Limits = DEFAULTS) -> tuple[ModuleDiff, dict[Place, Place], _Edits]:
    """The difference of two programs, and which instruction of the one is which of the other.

    Args:
        old, new: two programs as they were read.
        limits: how much may be tried.

    Returns:
        the difference, and for each place in the old program the place in the new one: of instructions that were
        matched, and of those that moved to another computation. Then the edits of each place in the new program.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2]{0} parameter(0)\\n  ROOT r = f32[2]{0} sine(p)\\n}"
        >>> followed(read_hlo(text), read_hlo(text.replace("r =", "sine.2 =")))[1]
        {(0, 0): (0, 0), (0, 1): (0, 1)}
    """
    diff, ready, canonical = diff_with_matches(old, new, limits=limits)
    places = _PlacesAsRead(ready.printed[0], old), _PlacesAsRead(ready.printed[1], new)
    mapping: dict[Place, Place] = {}
    edits: _Edits = {}
    for edit in diff.edits:
        for before, after in edit.sites:
            target = places[1].find((after.computation, after.instruction)) if after else None
            if target is not None:
                edits[target] = (*edits.get(target, ()), edit)
            if edit.kind == "moved" and before and target is not None:
                mapping[places[0].find((before.computation, before.instruction))] = target
    for one, other in _pairs(canonical):
        mapping.setdefault(places[0].find(one), places[1].find(other))
    return diff, mapping, edits


def _pairs(canonical: CanonicalDiff) -> Iterator[tuple[Place, Place]]:
    """All matched instructions, old to new, also inside of computations that are equal."""
    old, new = canonical.old, canonical.new
    for pair, mapping in every_mapping(old, new, canonical.found.pairs):
        for position, matched in mapping.items():
            places = ((pair.old, position), (pair.new, matched))
            yield (places[1], places[0]) if canonical.is_reversed else places


class _PlacesAsRead:
    """Places in a program as it was read, by places in the same program without noise.

    Taking noise off may put the parameters of a fusion in another order; names stay.
    """

    def __init__(self, clean: Module, read: Module) -> None:
        self.clean, self.read = clean, read
        self._names: dict[int, dict[str, int]] = {}

    def find(self, place: Place) -> Place:
        computation, position = place
        name = self.clean.computations[computation].instructions[position].name
        instructions = self.read.computations[computation].instructions
        if position < len(instructions) and instructions[position].name == name:
            return place
        if computation not in self._names:
            self._names[computation] = {it.name: n for n, it in enumerate(instructions)}
        return computation, self._names[computation].get(name, position)
