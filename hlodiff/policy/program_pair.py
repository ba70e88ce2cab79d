"""Input of budgets and rules: both stages of one function, case and target, and their instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.result import Edit
from hlodiff.hlo.metadata import own_frame
from hlodiff.hlo.model import Computation, Frame, Instruction, Module, Stage
from hlodiff.hlo.traversal import multiplicities


@dataclass(frozen=True, slots=True)
class ProgramPair:
    """Both stages of one function, case and target; a missing stage is None."""

    name: str
    target: str | None
    stablehlo: ProgramComparison | None = None
    compiled: ProgramComparison | None = None

    def stage(self, stage: Stage) -> ProgramComparison | None:
        """The given stage."""
        return self.compiled if stage == "compiled" else self.stablehlo

    def programs(self) -> Iterator[ProgramComparison]:
        """The existing stages, StableHLO first."""
        for program in (self.stablehlo, self.compiled):
            if program is not None and program.now is not None:
                yield program

    def fits(self, functions: Iterable[str], targets: Iterable[str]) -> bool:
        """Whether patterns of functions (or of function/case) and of targets match; without patterns, all do."""
        function = self.name.partition("/")[0]
        names, places = tuple(functions), tuple(targets)
        fits_name = not names or any(fnmatchcase(each, name) for name in names for each in (self.name, function))
        return fits_name and (not places or any(fnmatchcase(self.target or "", place) for place in places))


@dataclass(frozen=True, slots=True)
class Hit:
    """One violation of a rule.

    Args:
        what: one sentence.
        subject: what it is about, stable while lines move.
        source: Python frames, innermost first.
    """

    what: str
    subject: str
    source: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class InstructionSite:
    """An instruction that was found in a program, and the number of call sites where it runs."""

    module: Module
    computation: Computation
    instruction: Instruction
    count: int

    @property
    def source(self) -> tuple[Frame, ...]:
        """Its Python frames, innermost first."""
        return self.module.stack(self.instruction.frame)

    @property
    def subject(self) -> str:
        """A description that is stable while lines move and names change."""
        return (
            f"{self.instruction.opcode} {type_of(self.instruction)} in {_scope(self.source, self.instruction.op_name)}"
        )

    @property
    def words(self) -> str:
        """`convert %convert.3 f32[8]`."""
        return f"{self.instruction.opcode} %{self.instruction.name} {type_of(self.instruction)}"


def pairs_of(programs: Iterable[ProgramComparison]) -> tuple[ProgramPair, ...]:
    """Programs by function, case and target, in order of appearance.

    Example:
        >>> [both.name for both in pairs_of([ProgramComparison("f", "cpu", "compiled", "identical")])]
        ['f']
    """
    found: dict[tuple[str, str | None], dict[str, ProgramComparison]] = {}
    for program in programs:
        found.setdefault((program.name, program.target), {})[program.stage] = program
    return tuple(ProgramPair(name, target, **stages) for (name, target), stages in found.items())


def find(module: Module, wanted: Callable[[Instruction], bool]) -> list[InstructionSite]:
    """Matching instructions of a program, including fusions and loops, that the entry reaches.

    Example:
        >>> find(Module("m", "compiled", (), 0), lambda it: True)
        []
    """
    return [
        InstructionSite(module, computation, it, weight.total)
        for computation, weight in zip(module.computations, multiplicities(module), strict=True)
        if weight.total
        for it in computation.instructions
        if wanted(it)
    ]


def hits(
    places: Iterable[InstructionSite],
    words: Callable[[InstructionSite], str],
    subject: Callable[[InstructionSite], str] = lambda place: place.subject,
) -> Iterator[Hit]:
    """Sites as hits; equal ones once, with their count.

    Args:
        places: found instructions.
        words: formats the sentence for one of them.
        subject: returns the key by which they are equal.
    """
    groups: dict[str, list[InstructionSite]] = {}
    for place in places:
        groups.setdefault(subject(place), []).append(place)
    for key, group in groups.items():
        count = sum(place.count for place in group)
        more = f" ({count:,} times)" if count > 1 else ""
        yield Hit(words(group[0]) + more, key, group[0].source)


def hit_of(edit: Edit, what: str) -> Hit:
    """A hit for an edit that violates a rule."""
    site = edit.new or edit.old
    scope = _scope(edit.source, edit.op_name or "")
    subject = f"{edit.kind} {site.opcode} in {scope}" if site else f"{edit.kind} {', '.join(edit.fields)}"
    return Hit(what + (f" ({edit.count:,} times)" if edit.count > 1 else ""), subject, edit.source)


def type_of(it: Instruction) -> str:
    """`f32[8,4]`, or the types of a tuple in parentheses."""
    shape = it.shape
    if shape.tuple_shapes:
        leaves = [leaf.bare.text for leaf in shape.leaves]
        return f"({', '.join(leaves[:3])}{', ...' if len(leaves) > 3 else ''})"
    return shape.bare.text


def _scope(source: tuple[Frame, ...], op_name: str) -> str:
    frame = own_frame(source)
    return frame.function if frame else op_name
