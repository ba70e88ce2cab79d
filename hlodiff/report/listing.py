"""A program as a list that git can compare line by line: what it takes and gives, its operations, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.multiplicity import KINDS, multiplicities
from hlodiff.hlo.grammar import print_shape
from hlodiff.hlo.model import PROGRAM_NAMES, Instruction, Module
from hlodiff.report.lines import clip, printable
from hlodiff.report.wording import many

_PLACES = {
    "entry": "operations of the entry",
    "fusion": "operations in fusions",
    "loop": "operations in loops",
    "branch": "operations in branches",
    "reduction": "operations of reductions",
    "other": "operations elsewhere",
}
# Attributes that distinguish two operations of one opcode and type for a reader, apart from their operands.
_LISTED = ("kind", "custom_call_target", "call_target_name", "direction", "comparison_direction", "replica_groups",
         "source_target_pairs", "sharding")  # fmt: skip
_SHORT = 24  # of a constant's value: scalars, not tables
_WIDE = 160
_ONLY = "content  (if nothing else changes, operands or attributes did: see `git diff` or `git log -p --ext-diff`)"


def program_listing(module: Module, text: str) -> str:
    """What `git log -p` compares in the place of a program's text.

    Args:
        module: a program of either stage.
        text: what it was read from; its hash is the last line, so that every change shows.

    Returns:
        sections with titles in column 0 and sorted rows below them; ends in a newline.

    Example:
        >>> from hlodiff.hlo import read_text
        >>> hlo = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT a = f32[2] add(p, p)\\n}"
        >>> print(program_listing(read_text(hlo), hlo).rpartition("content")[0], end="")
        compiled HLO
          2 instructions in 1 computation
        arguments and results
          argument 0   f32[2]
          result 0     f32[2]
        operations of the entry
          add f32[2]  x1
    """
    return "".join(f"{clip(printable(line), _WIDE)}\n" for line in _lines(module, text))


def _lines(module: Module, text: str) -> Iterator[str]:
    yield PROGRAM_NAMES[module.stage]
    computations = many(len(module.computations), "computation")
    yield f"  {many(module.instruction_count(), 'instruction')} in {computations}"
    yield "arguments and results"
    yield from _interface(module)
    for kind, counts in _counted(module).items():
        yield _PLACES[kind]
        yield from (f"  {words}  x{count:,}" for words, count in sorted(counts.items()))
    yield _ONLY
    yield f"  {sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _interface(module: Module) -> Iterator[str]:
    entry = module.entry_computation
    for number, index in enumerate(entry.parameters()):
        one = entry.instructions[index]
        yield f"  argument {number:<3} {' '.join([print_shape(one.shape), *_details(one)])}"
    for number, shape in enumerate(module.result_shapes()):
        yield f"  result {number:<5} {print_shape(shape)}"
    for name in ("input_output_alias", "num_partitions", "replica_count"):
        if module.attribute(name):
            yield f"  {name.replace('_', ' ')} {module.attribute(name)}"


def _counted(module: Module) -> dict[str, Counter[str]]:
    """Rows by the kind of computation that they run in, counted as often as the computation is called."""
    found: dict[str, Counter[str]] = {}
    for computation, weight in zip(module.computations, multiplicities(module), strict=True):
        rows = Counter(
            " ".join([one.opcode, print_shape(one.shape), *_details(one)])
            for one in computation.instructions
            if one.opcode not in BOOKKEEPING
        )
        for kind in KINDS:
            for words, count in rows.items() if weight.kinds.get(kind) else ():
                found.setdefault(kind, Counter())[words] += count * weight.kinds[kind]
    return {kind: found[kind] for kind in KINDS if kind in found}


def _details(one: Instruction) -> list[str]:
    attributes = [f"{name}={value}" for name, value in one.attributes if name in _LISTED]
    is_value = one.opcode == "constant" and one.literal and len(one.literal) <= _SHORT
    return [f"({one.literal})", *attributes] if is_value else attributes
