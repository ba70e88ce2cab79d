"""SCENARIOS.md, rows G: graphs and fingerprints, and files that are no program."""

from __future__ import annotations

import pytest

from benchmarks.programs import ROOT
from hlodiff.differ import diff
from hlodiff.errors import ReadError
from hlodiff.graph import call_graph, dataflow, inlined_view
from hlodiff.hlo import read_text
from tests.scenarios import lines, module


def test_g1_operands_in_order_and_shared_ones_once() -> None:
    graph = dataflow(
        module(
            """
  p = f32[] parameter(0)
  c = f32[] constant(1)
  inner = f32[] add(p, c)
  ROOT outer = f32[] add(inner, p)
"""
        ).entry_computation
    )
    assert len(graph) == 4
    assert sorted(graph.edges(keys=True)) == [(0, 2, 0), (0, 3, 1), (1, 2, 1), (2, 3, 0)]


CONDITIONAL = """
yes {
  a = f32[] parameter(0)
  ROOT n = f32[] negate(a)
}

no {
  b = f32[] parameter(0)
  ROOT m = f32[] abs(b)
}

ENTRY main {
  k = s32[] parameter(0)
  p = f32[] parameter(1)
  ROOT c = f32[] conditional(k, p, p), branch_computations={yes, no}
}
"""


def test_g3_branches_are_called_computations_in_order() -> None:
    program = module(CONDITIONAL)
    root = program.entry_computation.instructions[program.entry_computation.root]
    assert [program.computations[c].name for c in root.called] == ["yes", "no"]
    swapped = module(CONDITIONAL.replace("{yes, no}", "{no, yes}"))
    assert not diff(program, swapped).identical


def test_g4_g5_layouts() -> None:
    text = "  p = f32[2,3]{1,0} parameter(0)\n  ROOT n = f32[2,3]{1,0} negate(p)"
    one, other = module(text), module(text.replace("{1,0}", "{0,1}"))
    found = diff(one, other)
    assert not found.identical and {field for edit in found.edits for field in edit.fields} == {"layout"}


def test_g6_send_and_recv_with_a_dangling_done() -> None:
    text = """
  p = f32[4]{0} parameter(0)
  tok = token[] after-all()
  s = (f32[4]{0}, u32[], token[]) send(p, tok), channel_id=1
  d = token[] send-done(s), channel_id=1
  ROOT n = f32[4]{0} negate(p)
"""
    graph = dataflow(module(text).entry_computation)
    assert (len(graph), graph.number_of_edges()) == (5, 4)
    gone = text.replace("  d = token[] send-done(s), channel_id=1\n", "")
    assert lines(diff(module(text), module(gone))) == ["removed send-done"]


def test_g7_one_shared_constant_is_not_four_equal_ones() -> None:
    shared = """
  c = f32[] constant(1)
  a = f32[] add(c, c)
  b = f32[] add(c, c)
  ROOT r = f32[] add(a, b)
"""
    four = """
  c = f32[] constant(1)
  d = f32[] constant(1)
  e = f32[] constant(1)
  f = f32[] constant(1)
  a = f32[] add(c, d)
  b = f32[] add(e, f)
  ROOT r = f32[] add(a, b)
"""
    assert not diff(module(shared), module(four)).identical


def test_g9_two_call_sites_of_one_computation() -> None:
    text = CONDITIONAL.replace("{yes, no}", "{yes, yes}")
    program = module(text)
    graph = call_graph(program)
    assert [site.branch for site in graph.edges[program.entry, 0]["sites"]] == [0, 1]
    assert len(program.computations) == 3


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", "bad.hlo", "empty"),
        ("\n\n", "bad.hlo", "empty"),
        ("nonsense", "bad.hlo:1:1", "HloModule"),
        ("HloModule m\n", "bad.hlo:2", "before the first computation"),
        ("HloModule m, x={\n", "bad.hlo:1", "without its partner"),
        ("HloModule m\nENTRY e {\n  p = f32[] parameter(0)", "bad.hlo:3", "ends inside computation %e"),
        ("HloModule m\nENTRY e {\n  ROOT a = f32[] add(p, q)\n}", "bad.hlo:3:22", "operand %p is not defined"),
        ("HloModule m\nENTRY e {\n  ROOT a = f32[] add(p", "bad.hlo:3", "without its partner"),
        ("HloModule m\nENTRY e {\n  what is this\n}", "bad.hlo:3:3", "expected an instruction"),
        ("HloModule m\nENTRY e {\n}", "bad.hlo:3", "no instruction"),
        ("HloModule m\nENTRY e {\n<<<<<<< ours\n}", "bad.hlo:3:1", "merge conflict"),
        (
            "HloModule m\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=%gone\n}",
            "bad.hlo:4:37",
            "computation %gone is not defined",
        ),
        (
            "HloModule m, entry_computation_layout={(f32[])->f32[]}\na {\n  p = f32[] parameter(0)\n}\n"
            "b {\n  q = f32[] parameter(0)\n}",
            "bad.hlo:1",
            "ENTRY",
        ),
    ],
)
def test_g10_broken_files_say_where(text: str, place: str, what: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_text(text, path="bad.hlo")
    message = str(caught.value)
    assert message.startswith(place), message
    assert what in message


def test_g10_the_caret_stands_under_the_place() -> None:
    with pytest.raises(ReadError) as caught:
        read_text("HloModule m\nENTRY e {\n  ROOT a = f32[] add(p, q)\n}", path="bad.hlo")
    _, line, caret = str(caught.value).split("\n")[:3]
    assert line[caret.index("^")] == "p"


ASYNC = """
wrapped {
  a = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(a)
}

ENTRY main {
  p = f32[4]{0} parameter(0)
  q = f32[4]{0} parameter(1)
  s = ((f32[4]{0}), f32[4]{0}, u32[]) async-start(p), calls=wrapped
  u = ((f32[4]{0}), f32[4]{0}, u32[]) async-update(s)
  d = f32[4]{0} async-done(u)
  cs = ((f32[4], f32[4]), (f32[4], f32[4])) collective-permute-start(d, q), source_target_pairs={{0,1},{1,0}}
  cd = (f32[4], f32[4]) collective-permute-done(cs)
  ROOT g = f32[4]{0} get-tuple-element(cd), index=0
}
"""


def test_g13_g14_async_chains_and_permutes_of_two_operands() -> None:
    program = module(ASYNC)
    graph = dataflow(program.entry_computation)
    assert [len(it.operands) for it in program.entry_computation.instructions] == [0, 0, 1, 1, 1, 2, 1, 1]
    assert graph.number_of_edges() == 7
    assert diff(program, module(ASYNC)).identical


def test_a_chain_of_2000_1000_siblings_and_10000_parameters() -> None:
    chain = "  x0 = f32[] parameter(0)\n" + "\n".join(
        f"  {'ROOT ' if n == 2000 else ''}x{n} = f32[] sine(x{n - 1})" for n in range(1, 2001)
    )
    assert lines(diff(module(chain), module(chain.replace("x1000 = f32[] sine", "x1000 = f32[] cosine")))) == [
        "changed sine->cosine opcode"
    ]
    shape = ", ".join(["f32[]"] * 1000)
    names = ", ".join(f"s{n}" for n in range(1000))
    siblings = "  p = f32[] parameter(0)\n" + "\n".join(f"  s{n} = f32[] sine(p)" for n in range(1000))
    siblings += f"\n  ROOT t = ({shape}) tuple({names})"
    assert lines(diff(module(siblings), module(siblings.replace("s7 = f32[] sine", "s7 = f32[] tan")))) == [
        "changed sine->tan opcode"
    ]
    parameters = (
        "\n".join(f"  p{n} = f32[] parameter({n})" for n in range(10_000)) + "\n  ROOT r = f32[] add(p0, p9999)"
    )
    assert lines(diff(module(parameters), module(parameters.replace("add(p0", "add(p1")))) == ["changed add operands"]


@pytest.mark.parametrize("target", ["cpu", "cuda-h100-x4", "tpu-v5e-2x2"])
def test_neighbours_across_borders_are_the_same_for_one_place_and_for_all(target: str) -> None:
    program = read_text((ROOT / "snapshots" / "optax_train_step" / target / "compiled.hlo").read_text())
    whole = inlined_view(program, ())
    for place in whole.operands:
        found = inlined_view(program, (), [place])
        assert found.operands == {place: whole.operands[place]}
        assert found.users.get(place, ()) == whole.users.get(place, ())
