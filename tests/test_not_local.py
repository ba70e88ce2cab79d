"""What no computation shows by itself: control edges, threads, aliases, rendezvous, which body is called, the header.

A change of any of these is said whether computations that both programs hold are left unread or not, and is proved.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hlodiff
from benchmarks.writer import write
from hlodiff.hlo import Computation, Instruction, Module, Shape, read_hlo
from hlodiff.normalizer import normalize, to_text
from tests.test_channels import fast, said, slow

ROOT = Path(__file__).parents[1]
FILES = [path for path in sorted((ROOT / "snapshots").glob("*/*/compiled.hlo")) if path.stat().st_size < 25_000]
Change = Callable[[Module, random.Random], Module]


def _with(module: Module, index: int, computation: Computation) -> Module:
    bodies = list(module.computations)
    bodies[index] = computation
    return replace(module, computations=tuple(bodies))


def _edited(module: Module, index: int, position: int, **fields: object) -> Module:
    computation = module.computations[index]
    lines = list(computation.instructions)
    lines[position] = replace(lines[position], **fields)  # type: ignore[arg-type]
    return _with(module, index, replace(computation, instructions=tuple(lines)))


def _places(module: Module, wanted: Callable[[Instruction], object]) -> list[tuple[int, int]]:
    return [
        (index, position)
        for index, computation in enumerate(module.computations)
        for position, it in enumerate(computation.instructions)
        if wanted(it)
    ]


def control_edge(module: Module, chance: random.Random) -> Module:
    """One more edge that is no operand, to an instruction further up."""
    places = [(n, p) for n, p in _places(module, lambda it: it.operands) if p > 2]
    assume(places)
    index, position = chance.choice(places)
    return _edited(module, index, position, control_predecessors=(chance.randrange(position),))


def thread(module: Module, chance: random.Random) -> Module:
    index = chance.randrange(len(module.computations))
    assume(index != module.entry)
    return _with(module, index, replace(module.computations[index], execution_thread="other"))


def rendezvous(module: Module, chance: random.Random) -> Module:
    index, position = chance.choice(_places(module, lambda it: it.operands))
    it = module.computations[index].instructions[position]
    assume(it.attribute("frontend_attributes") is None)
    word = '{_xla_host_transfer_rendezvous="' + chance.choice("ab") + '"}'
    return _edited(module, index, position, attributes=(*it.attributes, ("frontend_attributes", word)))


def alias(module: Module, chance: random.Random) -> Module:
    """A result that is written over an operand."""
    places = _places(module, lambda it: it.opcode in ("fusion", "custom-call") and it.operands)
    assume(places)
    index, position = chance.choice(places)
    it = module.computations[index].instructions[position]
    assume(it.attribute("output_to_operand_aliasing") is None)
    word = f"{{{{}}: ({chance.randrange(len(it.operands))}, {{}})}}"
    return _edited(module, index, position, attributes=(*it.attributes, ("output_to_operand_aliasing", word)))


def _operand_shapes(module: Module, index: int, position: int) -> list[Shape]:
    lines = module.computations[index].instructions
    return [lines[n].shape for n in lines[position].operands]


def other_body(module: Module, chance: random.Random) -> Module:
    """A call site that calls what another one calls, where that takes and gives the same."""
    places = _places(module, lambda it: it.opcode == "fusion")
    assume(len(places) > 1)
    index, position = chance.choice(places)
    it = module.computations[index].instructions[position]
    taken = _operand_shapes(module, index, position)
    others = [
        other.calls
        for n, p in places
        for other in [module.computations[n].instructions[p]]
        if other.calls != it.calls and other.shape == it.shape and _operand_shapes(module, n, p) == taken
    ]
    assume(others)
    return _edited(module, index, position, calls=chance.choice(others))


def own_body(module: Module, chance: random.Random) -> Module:
    """A call site that gets a copy of what it shares with others: the same program."""
    places = _places(module, lambda it: it.opcode == "fusion")
    assume(places)
    index, position = chance.choice(places)
    it = module.computations[index].instructions[position]
    body = module.computations[it.called[0]]
    at = len(module.computations)
    module = _edited(module, index, position, calls=((it.calls[0][0], (at,)),))
    return replace(module, computations=(*module.computations, replace(body, name=f"{body.name}.copy")))


def donated(module: Module, chance: random.Random) -> Module:
    assume(module.attribute("input_output_alias") is None)
    number = chance.randrange(len(module.entry_computation.parameters) or 1)
    word = f"{{ {{}}: ({number}, {{}}, may-alias) }}"
    return replace(module, attributes=(*module.attributes, ("input_output_alias", word)))


CHANGES: tuple[Change, ...] = (control_edge, thread, rendezvous, alias, other_body, own_body, donated)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.sampled_from(CHANGES), st.booleans())
def test_what_is_not_local_is_never_silent(seed: int, change: Change, backwards: bool) -> None:
    chance = random.Random(seed)
    module = read_hlo(chance.choice(FILES).read_text(), at_once=True)
    old, new = write(module), write(change(module, chance))
    if backwards:
        old, new = new, old
    found = fast(old, new)
    assert said(found) == said(slow(old, new))
    assert found.replay().complete, found.replay().failures
    same = to_text(normalize(read_hlo(old))) == to_text(normalize(read_hlo(new)))
    if not same:
        assert found.edits or found.schedule or found.tuning or found.limits
    if change is own_body:
        assert found.identical


def test_the_type_of_a_channel_of_stablehlo_is_no_number_of_it() -> None:
    """Device to device (1, as all of JAX's collectives) or to the host: another number alone means nothing."""
    text = """module @m {{
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = "stablehlo.collective_permute"(%arg0) <{{channel_handle = #stablehlo.channel_handle<handle = {}, type = {}>,
      source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
}}
"""
    first, other, host = (hlodiff.read_text(text.format(*both)) for both in ((1, 1), (7, 1), (1, 2)))
    assert hlodiff.diff(first, other).edits == ()
    found = hlodiff.diff(first, host)
    assert [edit.fields for edit in found.edits] == [("attribute:channel_type",)]
    assert found.replay().complete
