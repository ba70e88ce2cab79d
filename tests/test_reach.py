"""What free instructions are computed from: the same as a plain walk finds, and the work counts against the limit."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlodiff.differ import Limits, diff
from hlodiff.differ.canonical_direction import diff_in_canonical_direction
from hlodiff.differ.computation_matches import KnownSearches
from hlodiff.differ.instruction_matches import InstructionMap, Intern, MatchGraph
from hlodiff.differ.local_search import Bodies, CostModel, SearchBudget, local_search, may_pair
from hlodiff.differ.operands import Slot, same_operands_in_any_order, same_value
from hlodiff.differ.parameters import expectation
from hlodiff.differ.prepare import prepare_pair
from hlodiff.graph import dataflow
from hlodiff.hlo import contents
from tests.scenarios import module


def program(chance: random.Random, size: int, width: int, intern: Intern, *, entry: bool) -> MatchGraph:
    """Instructions that read some of those before, and one that reads many."""
    rows = ["  v0 = f32[8]{0} parameter(0)", "  v1 = f32[8]{0} parameter(1)"]
    for n in range(2, size):
        opcode = chance.choice(("sine", "add", "select"))
        few = chance.choices(range(max(n - 6, 0), n), k={"sine": 1, "add": 2, "select": 3}[opcode])
        rows.append(f"  v{n} = f32[8]{{0}} {opcode}({', '.join(f'v{one}' for one in few)})")
    many = ", ".join(f"v{one}" for one in chance.choices(range(size), k=width))
    rows.append(f'  ROOT all = f32[8]{{0}} custom-call({many}), custom_call_target="many"')
    made = module("\n".join(["ENTRY main {", *rows, "}"]))
    return MatchGraph.from_networkx(
        dataflow(made.entry_computation), [one.hash for one in contents(made)], intern, entry=entry
    )


def link(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, chance: random.Random) -> None:
    """Pair two or free one, at random; the two that read many stay a pair."""
    if pairing.old[-1] < 0:
        pairing.add(old.size - 1, new.size - 1, "test")
    one, other = chance.randrange(old.size - 1), chance.randrange(new.size - 1)
    if pairing.old[one] >= 0:
        pairing.remove(one)
    elif pairing.new[other] < 0:
        pairing.add(one, other, "test")


def leads_to(side: MatchGraph, partners: Sequence[int], start: int, goal: int) -> bool:
    waiting, seen = [start], {start}
    for position in waiting:
        for operand, _ in side.operands[position]:
            if operand == goal:
                return True
            if partners[operand] < 0 and operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return False


def is_same(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Slot, theirs: Slot) -> bool:
    partner, back = pairing.old[ours[0]], pairing.new[theirs[0]]
    if partner == theirs[0]:
        return ours[1] == theirs[1]
    if partner >= 0:
        return back < 0 and leads_to(new, pairing.new, theirs[0], partner)
    if back >= 0:
        return leads_to(old, pairing.old, ours[0], back)
    return not (old.names[ours[0]] and new.names[theirs[0]])


def are_same(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> bool:
    """Each operand takes the first that is the same and not yet taken."""
    ours, theirs = old.operands[-1], new.operands[-1]
    fewer, more = (ours, theirs) if len(ours) <= len(theirs) else (theirs, ours)
    free = list(more)
    for slot in fewer:
        pairs = [(slot, one) if fewer is ours else (one, slot) for one in free]
        place = next((n for n, pair in enumerate(pairs) if is_same(old, new, pairing, *pair)), None)
        if place is None:
            return False
        del free[place]
    return True


@pytest.mark.parametrize("kept", [10_000, 0])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_operands_are_the_same_as_a_plain_walk_says(kept: int, seed: int) -> None:
    chance = random.Random(seed)
    sizes = chance.randint(5, 30), chance.randint(5, 30)
    old, new = (program(chance, size, chance.randint(1, 8), Intern(), entry=chance.random() < 0.5) for size in sizes)
    pairing = InstructionMap.empty(old.size, new.size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["hlodiff.differ.instruction_matches"], "_KEPT", kept)
        for _ in range(40):
            link(old, new, pairing, chance)
            assert same_operands_in_any_order(old, new, pairing, old.size - 1) == are_same(old, new, pairing)
            slots = [(chance.randrange(side.size), 0) for side in (old, new)]
            assert same_value(old, new, pairing, *slots) == is_same(old, new, pairing, *slots)


def pair(seed: int) -> tuple[MatchGraph, MatchGraph, InstructionMap]:
    """Two programs, some of whose instructions match."""
    chance, intern, entry = random.Random(seed), Intern(), bool(seed % 2)
    old, new = (program(chance, chance.randint(5, 20), 3, intern, entry=entry) for _ in range(2))
    pairing = InstructionMap.empty(old.size, new.size)
    for _ in range(30):
        link(old, new, pairing, chance)
    return old, new, pairing


def priced(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> CostModel:
    both = Bodies(module("ENTRY e {\n  ROOT p = f32[8]{0} parameter(0)\n}").computations.__getitem__, [""])
    expected = expectation(old, new, pairing, None)
    return CostModel(old, new, pairing, (both, both), expected, {}, lambda one, other: None, {})


def moves(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> list[tuple[int, int]]:
    every = [(one, other) for one in range(old.size) for other in range(-1, new.size) if pairing.old[one] != other]
    return [(one, other) for one, other in every if other < 0 or may_pair(old, new, one, other)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_bounds_after_moves_are_those_of_a_fresh_model(seed: int) -> None:
    chance, (old, new, pairing) = random.Random(seed), pair(seed)
    model = priced(old, new, pairing)
    for _ in range(8):
        assert model.costs == priced(old, new, pairing).costs
        tried = moves(old, new, pairing)
        fresh = priced(old, new, pairing)
        assert [model.least_after(*move, 10**9) for move in tried] == [
            fresh.least_after(*move, 10**9) for move in tried
        ]
        model.move(*chance.choice(tried))
        model.forget()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_no_move_costs_less_than_its_bound(seed: int) -> None:
    old, new, pairing = pair(seed)
    model = priced(old, new, pairing)
    for one, other in moves(old, new, pairing):
        bounds = [model.least_after(one, other, enough) for enough in (-(10**9), 10**9)]
        point = model.checkpoint()
        a, b = model.move(one, other)
        total = model.update()
        if a >= 0 and b >= 0 and may_pair(old, new, a, b):
            model.move(a, b)
            total = min(total, model.update())
        model.rollback(point)
        assert bounds[0] <= bounds[1] <= total


def layers(count: int) -> str:
    """Layers whose results one fusion reads, all of them made of instructions that a layer less does not have."""
    rows = ["  x = f32[8]{0} parameter(0)"]
    for n in range(count):
        rows += [f"  s{n} = f32[8]{{0}} sine({f't{n - 1}' if n else 'x'})", f"  t{n} = f32[8]{{0}} add(s{n}, x)"]
    reads = ", ".join(f"t{n}" for n in range(count))
    inside = [f"  p{n} = f32[8]{{0}} parameter({n})" for n in range(count)]
    inside += [f"  a{n} = f32[8]{{0}} add({f'a{n - 1}' if n > 1 else 'p0'}, p{n})" for n in range(1, count)]
    inside[-1] = inside[-1].replace("  a", "  ROOT a", 1)
    call = f"  ROOT all = f32[8]{{0}} fusion({reads}), kind=kLoop, calls=fused"
    return "\n".join(["fused {", *inside, "}", "", "ENTRY main {", *rows, call, "}"])


def test_an_answer_is_kept_until_a_pair_near_it_changes() -> None:
    made = module(layers(5))
    side = MatchGraph.from_networkx(
        dataflow(made.entry_computation), [one.hash for one in contents(made)], Intern(), entry=True
    )
    pairing = InstructionMap.empty(side.size, side.size)
    pairing.add(0, 0, "test")
    reach, last = pairing.reach((side, side), 0), side.size - 2
    assert reach.below(last) == 1
    worked = reach.steps
    assert worked > 0
    assert reach.below(last) == 1
    assert reach.steps == worked
    pairing.add(3, 3, "test")
    assert reach.below(last) == 0b1001
    assert reach.steps > worked


def test_walks_along_operands_count_as_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit ends a search that works out few prices and walks far, and that is reported."""
    ends: list[tuple[int, int]] = []

    def watched(model: CostModel, limits: Limits, budget: SearchBudget) -> bool:
        done = local_search(model, limits, budget)
        ends.append((model.work, model.pairing.walked))
        return done

    monkeypatch.setattr(sys.modules["hlodiff.differ.computation_matches"], "local_search", watched)
    old = module(layers(6).replace("add(s2, x)", "subtract(s2, x)"))
    new = module(layers(40).replace("add(s20, x)", "subtract(x, s20)"))
    efforts = []
    for steps in (10**9, 1):  # how many of a walk count as a price
        monkeypatch.setattr(sys.modules["hlodiff.differ.local_search"], "_STEPS", steps)
        ends.clear()
        found = diff(old, new, limits=Limits(search=24))
        efforts.append((sum(walked for _, walked in ends), [hit.name for hit in found.limit_hits]))
        assert all(work >= walked // steps for work, walked in ends)
        assert found.replay().complete
    assert efforts[1][0] < efforts[0][0]
    assert [hits for _, hits in efforts] == [[], ["search"]]


def test_what_is_matched_once_more_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def counted(model: CostModel, limits: Limits, budget: SearchBudget) -> bool:
        searched.append(model.old.size)
        return local_search(model, limits, budget)

    monkeypatch.setattr(sys.modules["hlodiff.differ.computation_matches"], "local_search", counted)
    known = KnownSearches()
    old, new = module(layers(6)), module(layers(40))
    first, again = (
        diff_in_canonical_direction(prepare_pair(old, new), Limits(), search=known).found.pairs[0].pairing
        for _ in range(2)
    )
    assert len(searched) == 2, "the entry and the body, each once"
    assert first is not None and again is not None
    assert (first.old, first.new, first.matchers) == (again.old, again.new, again.matchers)
    other = module(layers(39))
    diff_in_canonical_direction(prepare_pair(old, other), Limits(), search=known)
    assert len(searched) == 4, "another entry and another body are searched"


def test_equal_layers_with_one_edit_each_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def counted(model: CostModel, limits: Limits, budget: SearchBudget) -> bool:
        searched.append(model.old.size)
        return local_search(model, limits, budget)

    def model_of(opcodes: Sequence[str]) -> str:
        rows: list[str] = []
        for n, opcode in enumerate(opcodes):
            inside = (
                f"  p = f32[8]{{0}} parameter(0)\n  s{n} = f32[8]{{0}} {opcode}(p)\n  ROOT t = f32[8]{{0}} add(s{n}, p)"
            )
            rows += [f"layer{n} {{", inside, "}"]
        calls = [
            f"  c{n} = f32[8]{{0}} call({f'c{n - 1}' if n else 'x'}), to_apply=layer{n}" for n in range(len(opcodes))
        ]
        calls[-1] = calls[-1].replace("  c", "  ROOT c", 1)
        return "\n".join([*rows, "ENTRY main {", "  x = f32[8]{0} parameter(0)", *calls, "}"])

    monkeypatch.setattr(sys.modules["hlodiff.differ.computation_matches"], "local_search", counted)
    old, new = module(model_of(["sine"] * 4)), module(model_of(["tanh", "tanh", "tanh", "exponential"]))
    found = diff(old, new, pruning=False)
    assert [(edit.kind, edit.fields, edit.count) for edit in found.edits] == [
        ("changed", ("opcode",), 3),
        ("changed", ("opcode",), 1),
    ]
    assert {edit.matcher for edit in found.edits} == {"type:both"}
    assert found.replay().complete
    assert searched == [5, 3, 3], "the entry, the layers with a tanh, the one with an exponential"


def test_equal_numbers_are_matched_as_their_users_are(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """ENTRY e {{
  x = f32[8]{{0}} parameter(0)
  zero = f32[] constant(0)
  zeros = f32[8]{{0}} broadcast(zero), dimensions={{}}
  nought = f32[] constant(0)
  noughts = f32[8]{{0}} broadcast(nought), dimensions={{}}
  a = f32[8]{{0}} add(x, zeros)
  m = f32[8]{{0}} multiply(a, noughts)
  ROOT r = f32[8]{{0}} {opcode}(m)
}}"""
    crossed: list[int] = []

    def crossing(model: CostModel, limits: Limits, budget: SearchBudget) -> bool:
        for one, other in ((1, 3), (2, 4), (3, 1), (4, 2)):
            model.move(one, other)
        model.forget()
        crossed.append(model.total)
        return local_search(model, limits, SearchBudget(0, budget.pending))

    monkeypatch.setattr(sys.modules["hlodiff.differ.computation_matches"], "local_search", crossing)
    found = diff(*[module(text.format(opcode=opcode)) for opcode in ("sine", "cosine")])
    assert crossed and crossed[0] >= 3000
    assert [edit.fields for edit in found.edits] == [("opcode",)]
