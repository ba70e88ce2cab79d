"""The fast path: computations that both programs hold as they are stay unread, and the answer is the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.bodies import Edits, layers, loops
from benchmarks.edits import EDITS, make_one
from benchmarks.noise import QUIET, Noise, add_noise
from benchmarks.workbench import put_together, take_apart
from benchmarks.writer import write
from hlodiff.differ import Edit, ModuleDiff, diff
from hlodiff.errors import ReadError
from hlodiff.hlo import LazyComputations, read_hlo

SNAPSHOTS = sorted((Path(__file__).parents[1] / "snapshots").glob("**/compiled.hlo"))


def _answer(found: ModuleDiff) -> dict[str, object]:
    """What is said, but not of which: where one of several equal layers came or went, either may be named.

    The noise that was dropped is counted where computations were opened, so that is left out too.
    """
    return {
        "summary": found.summary,
        "counts": (dict(found.op_counts), dict(found.metrics)),
        "limits": found.limits,
        "fusions": Counter((c.kind, len(c.old), len(c.new), c.moved_in, c.moved_out) for c in found.fusions),
        **{name: _kinds(getattr(found, name)) for name in ("edits", "schedule", "tuning")},
    }


def _sites(found: ModuleDiff) -> list[object]:
    """Every edit with the names of the instructions that it is in."""
    return [
        (
            e.kind,
            e.fields,
            e.count,
            e.op_name,
            sorted(str([s and (s.computation_name, s.name) for s in site]) for site in e.sites),
        )
        for e in (*found.edits, *found.schedule, *found.tuning)
    ]


def _kinds(edits: Iterable[Edit]) -> Counter[object]:
    kinds: Counter[object] = Counter()
    for edit in edits:
        opcodes = tuple(site.opcode if site else "" for site in (edit.old, edit.new))
        said = tuple((c.field, c.old, c.new) for c in edit.changes if "%" not in c.old + c.new)
        kinds[edit.kind, edit.fields, opcodes, said, str(edit.cost)] += edit.count
    return kinds


def _both_ways(old: str, new: str) -> tuple[dict[str, object], dict[str, object]]:
    fast = diff(read_hlo(old, at_once=False), read_hlo(new, at_once=False))
    slow = diff(read_hlo(old, at_once=True), read_hlo(new, at_once=True), pruning=False)
    return _answer(fast), _answer(slow)


@settings(max_examples=60, deadline=None, derandomize=True)
@example(548, 2, False)
@example(1087, 4, True)
@example(938, 2, False)
@example(73257, 4, True)  # a layer came whose fusion is the old one with its parameters in another order
@example(2196, 4, True)  # operands of a fusion exchanged whose result also lies in another memory
@given(st.integers(0, 10**9), st.integers(0, 6), st.booleans())
def test_the_fast_path_says_what_the_slow_one_says(seed: int, edits: int, noisy: bool) -> None:
    chance = random.Random(seed)
    text = chance.choice(SNAPSHOTS).read_text()
    piece = take_apart(read_hlo(text))
    for _ in range(edits):
        make_one(piece, chance.choice(list(EDITS)), chance)
    noise = Noise(parameters=chance.random() < 0.3) if noisy else replace(QUIET, names=True)
    add_noise(piece, noise, chance, set())
    changed = write(put_together(piece)[0])
    fast, slow = _both_ways(text, changed)
    assert fast == slow
    fast, slow = _both_ways(changed, text)
    assert fast == slow


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_what_is_read_later_is_what_is_read_at_once(path: Path) -> None:
    later, now = (read_hlo(path.read_text(), at_once=at_once) for at_once in (False, True))
    assert isinstance(later.computations, LazyComputations)
    assert tuple(later.computations) == now.computations
    assert (later.entry, later.attributes, later.frames) == (now.entry, now.attributes, now.frames)


TWO_LAYERS = """HloModule m

%square.1 (p.1: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  ROOT %m.1 = f32[8]{0} multiply(%p.1, %p.1)
}

%shift.2 (p.2: f32[8]) -> f32[8] {
  %p.2 = f32[8]{0} parameter(0)
  %c.2 = f32[] constant(1)
  %b.2 = f32[8]{0} broadcast(%c.2), dimensions={}
  ROOT %a.2 = f32[8]{0} add(%p.2, %b.2)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %first = f32[8]{0} fusion(%x), kind=kLoop, calls=%square.1
  ROOT %second = f32[8]{0} fusion(%first), kind=kLoop, calls=%shift.2
}
"""


def test_a_direction_inside_a_string_does_not_make_a_comparison_symmetric() -> None:
    old = """HloModule m

%less (a: f32[8], b: f32[8]) -> pred[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  ROOT %c = pred[8]{0} compare(%a, %b), direction=LT, frontend_attributes={note="direction=EQ"}
}

ENTRY %main (x: f32[8], y: f32[8]) -> pred[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  ROOT %f = pred[8]{0} fusion(%x, %y), kind=kLoop, calls=%less
}
"""
    found = diff(*(read_hlo(text, at_once=False) for text in (old, old.replace("compare(%a, %b)", "compare(%b, %a)"))))
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("operands",))]


def test_equal_computations_are_never_read() -> None:
    old = read_hlo(TWO_LAYERS, at_once=False)
    new = read_hlo(TWO_LAYERS.replace(".1", ".77").replace("constant(1)", "constant(2)"), at_once=False)
    found = diff(old, new)
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("literal",))]
    assert found.edits[0].new is not None
    assert found.edits[0].new.computation == 1
    for module in (old, new):
        assert isinstance(module.computations, LazyComputations)
        assert module.computations.parsed == (1,)  # neither %square nor %main


def test_sharing_is_seen_where_instructions_are_twins() -> None:
    """add(n(x), n(x)) with one n and with two: the same numbers, another program."""
    one = TWO_LAYERS.replace(
        "  ROOT %m.1 = f32[8]{0} multiply(%p.1, %p.1)\n",
        "  %n.1 = f32[8]{0} negate(%p.1)\n  %k.1 = f32[8]{0} negate(%p.1)\n"
        "  ROOT %m.1 = f32[8]{0} multiply(%n.1, %n.1)\n",
    )
    two = one.replace("multiply(%n.1, %n.1)", "multiply(%n.1, %k.1)")
    fast, slow = _both_ways(one, two)
    assert fast == slow
    assert diff(read_hlo(one, at_once=False), read_hlo(two, at_once=False)).edits


def test_order_counts_in_a_schedule() -> None:
    """A loop body that runs in another order is no edit, and is said in its channel."""
    body = "\n".join(
        [
            "HloModule m, is_scheduled=true",
            "",
            "%body (p: f32[8]) -> f32[8] {",
            "  %p = f32[8]{0} parameter(0)",
            "  %a = f32[8]{0} sine(%p)",
            "  %b = f32[8]{0} cosine(%p)",
            "  ROOT %c = f32[8]{0} subtract(%a, %b)",
            "}",
            "",
            "ENTRY %main (x: f32[8]) -> f32[8] {",
            "  %x = f32[8]{0} parameter(0)",
            "  ROOT %r = f32[8]{0} call(%x), to_apply=%body",
            "}",
            "",
        ]
    )
    sine, cosine = "  %a = f32[8]{0} sine(%p)\n", "  %b = f32[8]{0} cosine(%p)\n"
    other = body.replace(sine + cosine, cosine + sine)
    assert other != body
    fast, slow = _both_ways(body, other)
    assert fast == slow
    found = diff(read_hlo(body, at_once=False), read_hlo(other, at_once=False))
    assert found.identical
    assert found.schedule


def test_a_broken_line_is_told_when_it_is_looked_at() -> None:
    broken = read_hlo(TWO_LAYERS.replace("add(%p.2, %b.2)", "add(%p.2, %nowhere)"), at_once=False)
    with pytest.raises(ReadError, match="operand %nowhere is not defined") as error:
        diff(broken, read_hlo(TWO_LAYERS, at_once=False))
    assert "12" in str(error.value)  # its line in the whole file


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("multiply(%p.1, %p.1)", "multiply(%p.1, %p.1), metadata={op_name=\"a \\\"}{\\\" b\" stack_frame_id=0}"),
        ("kind=kLoop, calls=%square.1", 'kind=kLoop, calls=%square.1, frontend_attributes={a="%square.1, metadata={"}'),
    ],
)  # fmt: skip
def test_quotes_and_braces_do_not_confuse_the_sketch(old: str, new: str) -> None:
    changed = TWO_LAYERS.replace(old, new)
    assert changed != TWO_LAYERS
    fast, slow = _both_ways(TWO_LAYERS, changed)
    assert fast == slow


def test_one_of_two_equal_fusions_has_its_operands_exchanged_inside() -> None:
    # The caller is the same but for what it calls; the other fusion says how the parameters of this one are numbered.
    body = "\n".join(
        [
            "  %p.N = u32[2]{0} parameter(0)",
            "  %q.N = u32[2]{0} parameter(1)",
            "  %one.N = u32[2,1]{1,0} bitcast(%q.N)",
            "  %two.N = u32[2,1]{1,0} bitcast(%p.N)",
            "  ROOT %both.N = u32[2,2]{1,0} concatenate(%one.N, %two.N), dimensions={1}",
            "}\n",
        ]
    )
    head = "%body.N (p.N: u32[2], q.N: u32[2]) -> u32[2,2] {\n"
    old = (
        "HloModule m\n\n"
        + (head + body).replace("N", "1")
        + "\n"
        + (head + body).replace("N", "2")
        + "\nENTRY %main (x: u32[2], y: u32[2]) -> (u32[2,2], u32[2,2]) {\n"
        + "  %x = u32[2]{0} parameter(0)\n  %y = u32[2]{0} parameter(1)\n"
        + "  %first = u32[2,2]{1,0} fusion(%x, %y), kind=kLoop, calls=%body.1\n"
        + "  %turned = u32[2]{0} not(%x)\n"
        + "  %second = u32[2,2]{1,0} fusion(%turned, %y), kind=kLoop, calls=%body.2\n"
        + "  ROOT %out = (u32[2,2]{1,0}, u32[2,2]{1,0}) tuple(%first, %second)\n}\n"
    )
    new = old.replace("(%one.2, %two.2)", "(%two.2, %one.2)")
    assert new != old
    fast, slow = _both_ways(old, new)
    assert fast == slow
    for before, after in ((old, new), (new, old)):
        assert diff(read_hlo(before, at_once=False), read_hlo(after, at_once=False)).replay().complete


_LAYERS: list[tuple[str, Edits, Edits, Edits]] = [  # edits of the old bodies, of the new ones, inside of the new ones
    ("one", {}, {4: (5, "logistic")}, {}),
    ("the first and the last", {}, {0: (5, "logistic"), 5: (5, "logistic")}, {}),
    ("two unlike", {}, {2: (5, "logistic"), 4: (4, "log")}, {}),
    ("all but one", {}, dict.fromkeys(range(5), (5, "logistic")), {}),
    ("all", {}, dict.fromkeys(range(6), (5, "logistic")), {}),
    ("one there and one here", {2: (5, "logistic")}, {4: (5, "logistic")}, {}),
    ("two exchanged", {2: (5, "logistic"), 3: (5, "log")}, {3: (5, "logistic"), 2: (5, "log")}, {}),
    ("inside of one", {}, {}, {4: (2, "logistic")}),
    ("inside of one, and another", {}, {5: (5, "logistic")}, {4: (2, "logistic")}),
]
_SHAPES: list[dict[str, Any]] = [
    {"opcode": "call"},
    {"opcode": "fusion"},
    {"opcode": "fusion", "is_chain": False},
    {"with_channels": True},
]


@pytest.mark.parametrize(("old", "new", "inside"), [row[1:] for row in _LAYERS], ids=[row[0] for row in _LAYERS])
def test_an_edit_in_some_of_many_equal_bodies_is_the_same_edit_at_the_same_place(
    old: Edits, new: Edits, inside: Edits
) -> None:
    for shape in _SHAPES:
        before = layers(6, 7, old, inner_size=4, **shape)
        after = layers(6, 7, new, inner_size=4, edits_inside=inside, **shape)
        for texts in ((before, after), (after, before)):
            fast = diff(*(read_hlo(text, at_once=False) for text in texts))
            slow = diff(*(read_hlo(text, at_once=True) for text in texts), pruning=False)
            if sum(fast.summary.values()) >= sum(slow.summary.values()):  # with less to look at a search may find fewer
                assert _sites(fast) == _sites(slow)
            assert fast.replay().complete
            assert slow.replay().complete


def test_bodies_in_loops_that_are_equal_but_for_one() -> None:
    for edits in ({(2, 1): (5, "logistic")}, {(2, 0): (5, "logistic"), (2, 1): (4, "log")}):
        texts = loops(3, 7, {}), loops(3, 7, edits)
        fast = diff(*(read_hlo(text, at_once=False) for text in texts))
        slow = diff(*(read_hlo(text, at_once=True) for text in texts), pruning=False)
        assert _sites(fast) == _sites(slow)
        assert fast.summary["changed"] == len(edits)
        assert fast.replay().complete


def test_turns_of_a_loop_are_counted_without_reading_the_other_loops() -> None:
    edits = {(2, 1): (5, "logistic")}
    modules = [read_hlo(loops(6, 7, each), at_once=False) for each in ({}, edits)]
    (edit,) = diff(modules[0], modules[1]).edits
    (whole,) = diff(*(read_hlo(loops(6, 7, each), at_once=True) for each in ({}, edits)), pruning=False).edits
    assert edit.cost == whole.cost and edit.cost is not None
    assert [cost.runs for cost in edit.cost if cost] == [9, 9]
    for module in modules:
        assert isinstance(module.computations, LazyComputations)
        read = {module.computations[index].name for index in module.computations.parsed}
        assert {name.split(".")[1] for name in read if name.startswith(("turn", "asks"))} == {"2"}


def test_of_many_equal_bodies_the_edited_one_is_read_and_one_for_all_others() -> None:
    modules = [
        read_hlo(layers(20, 10, edits), at_once=False) for edits in ({}, {4: (5, "logistic")}, {9: (5, "logistic")})
    ]
    for new in modules[1:]:
        assert len(diff(modules[0], new).edits) == 1
    for module, read in zip(modules, ({0, 4, 9}, {0, 4}, {0, 9}), strict=True):  # 0 stands for those after the edited
        assert isinstance(module.computations, LazyComputations)
        assert set(module.computations.parsed) == read


def test_equal_bodies_beside_a_change_of_their_caller_are_read_once() -> None:
    old = layers(20, 10)
    new = layers(20, 10, {4: (4, "logistic")}).replace("call(%call.9, %w)", "call(%call.9, %call.8)")
    modules = [read_hlo(text, at_once=False) for text in (old, new)]
    found = diff(*modules)
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("operands",)), ("changed", ("opcode",))]
    for module in modules:
        assert isinstance(module.computations, LazyComputations)
        assert len(module.computations.parsed) < 6
    assert found.replay().complete
