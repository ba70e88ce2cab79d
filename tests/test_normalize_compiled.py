"""Each rule for compiled HLO by its fixture, and what a rule must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.hlo import Module, print_hlo, read_hlo
from hlodiff.normalizer import PASSES, Pass, normalize, normalize_counted, to_text

FIXTURES = Path(__file__).parent / "fixtures" / "normalize"
COMPILED = [rule for rule in PASSES if "compiled" in rule.stages]


def same(old: str, new: str) -> bool:
    return to_text(normalize(read_hlo(old))) == to_text(normalize(read_hlo(new)))


def program(body: str, header: str = "", before: str = "") -> str:
    """A module around the lines of an entry computation."""
    lines = "\n".join("  " + line.strip() for line in body.strip().splitlines())
    return f"HloModule m{header}\n\n{before}\nENTRY main {{\n{lines}\n}}\n"


ADD = """
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}
"""


@pytest.mark.parametrize("rule", COMPILED, ids=lambda rule: rule.name)
def test_each_rule_turns_its_fixture_from_before_to_after(rule: Pass) -> None:
    before = read_hlo((FIXTURES / rule.name / "before.hlo").read_text())
    module, count = rule.apply(before)
    assert print_hlo(module) == (FIXTURES / rule.name / "after.hlo").read_text()
    assert count > 0
    again, more = rule.apply(read_hlo(print_hlo(module)))
    assert print_hlo(again) == print_hlo(module)
    assert more == 0


def test_rules_say_what_they_drop_and_hide() -> None:
    names = [rule.name for rule in COMPILED]
    assert len(set(names)) == len(names)
    for rule in COMPILED:
        assert rule.drops.endswith(".")
        assert rule.hides.endswith(".")


def test_counts_name_the_rules_that_did_something() -> None:
    text = program('ROOT x = f32[2]{0} parameter(0), metadata={op_name="x"}')
    counts = normalize_counted(read_hlo(text))[1]
    assert counts == {"metadata": 1, "module_name": 1, "names": 1}


def test_lines_of_the_text_survive() -> None:
    module = normalize(read_hlo(program("p = f32[2]{0} parameter(0)\nROOT s = f32[2]{0} sine(p)")))
    assert [it.line for it in module.entry_computation.instructions] == [5, 6]


KEPT = {
    "compute_type": 'frontend_attributes={_xla_compute_type="host"}',
    "scheduling_group": 'frontend_attributes={_scheduling_group_id="1"}',
    "stream": 'frontend_attributes={_xla_stream_annotation="1"}',
    "inlineable": 'frontend_attributes={inlineable="false"}',
    "sdy_sharding": 'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"a\\"}]>"}',
    "sharding": "sharding={devices=[2]<=[2]}",
    "window_bounds": 'backend_config={"window_config":{"kernel_window_bounds":["8","1"]}}',
    "emitter": 'backend_config={"convolution_algorithm_config":{"emitter":"EmitAllBatchInSublanes"}}',
    "aliasing": 'backend_config={"aliasing_operands":{"lists":[{"indices":["0","1"]}]}}',
    "ynn": 'backend_config={"fusion_config":{"kind":"__ynn_fusion"}}',
    "tiles": 'backend_config={"fusion_backend_config":{"block_level_fusion_config":{"num_warps":"4"}}}',
    "trip_count": 'backend_config={"known_trip_count":{"n":"10"}}',
    "precision": "operand_precision={highest}",
}


@pytest.mark.parametrize("attribute", KEPT.values(), ids=KEPT.keys())
def test_what_is_the_program_is_kept(attribute: str) -> None:
    bare = program("p = f32[2]{0} parameter(0)\nROOT s = f32[2]{0} sine(p)")
    assert not same(bare, bare.replace("sine(p)", f"sine(p), {attribute}"))


HEADER_KEPT = [
    "num_partitions=4",
    "replica_count=2",
    "is_scheduled=true",
    "input_output_alias={ {}: (0, {}, may-alias) }",
    "buffer_donor={ (0, {}) }",
    "entry_computation_layout={(f32[2]{0})->f32[2]{0}}",
]


@pytest.mark.parametrize("attribute", HEADER_KEPT)
def test_what_the_header_says_of_the_program_is_kept(attribute: str) -> None:
    body = "p = f32[2]{0} parameter(0)\nROOT s = f32[2]{0} sine(p)"
    assert not same(program(body), program(body, f", {attribute}"))


def test_a_brace_in_a_string_does_not_end_an_attribute() -> None:
    config = 'backend_config={"note":"a } b \\" { c","estimated":1}'
    text = program(f"p = f32[2]{{0}} parameter(0)\nROOT s = f32[2]{{0}} sine(p), {config}, sharding={{replicated}}")
    root = normalize(read_hlo(text)).entry_computation.instructions[1]
    assert root.attribute("backend_config") == '{"estimated":1,"note":"a } b \\" { c"}'
    assert root.attribute("sharding") == "{replicated}"


def test_both_forms_of_metadata_go() -> None:
    old = program('ROOT p = f32[2]{0} parameter(0), metadata={op_name="x" source_file="/home/a/b.py" source_line=3}')
    new = program('ROOT p = f32[2]{0} parameter(0), metadata={op_name="y" stack_frame_id=7}')
    assert same(old, new)


def channels(*numbers: int) -> str:
    one, two, three, four = numbers
    return program(
        f"""
        x = f32[2]{{0}} parameter(0)
        y = f32[2]{{0}} parameter(1)
        t = token[] after-all()
        s1 = (f32[2]{{0}}, u32[], token[]) send(x, t), channel_id={one}
        d1 = token[] send-done(s1), channel_id={one}
        s2 = (f32[2]{{0}}, u32[], token[]) send(y, t), channel_id={two}
        d2 = token[] send-done(s2), channel_id={two}
        r1 = (f32[2]{{0}}, u32[], token[]) recv(t), channel_id={three}
        e1 = (f32[2]{{0}}, token[]) recv-done(r1), channel_id={three}
        r2 = (f32[2]{{0}}, u32[], token[]) recv(t), channel_id={four}
        e2 = (f32[2]{{0}}, token[]) recv-done(r2), channel_id={four}
        v1 = f32[2]{{0}} get-tuple-element(e1), index=0
        v2 = f32[2]{{0}} get-tuple-element(e2), index=0
        ROOT r = f32[2]{{0}} subtract(v1, v2)
        """
    )


def test_channels_renumbered_alike_are_the_same_and_swapped_partners_are_not() -> None:
    assert same(channels(1, 2, 1, 2), channels(9, 4, 9, 4))
    assert not same(channels(1, 2, 1, 2), channels(1, 2, 2, 1))


def reduces(*numbers: int) -> str:
    first, second, third = numbers
    return program(
        f"""
        x = f32[2]{{0}} parameter(0)
        a = f32[2]{{0}} all-reduce(x), channel_id={first}, replica_groups={{{{0,1}}}}, to_apply=add
        b = f32[2]{{0}} all-reduce(a), channel_id={second}, replica_groups={{{{0,1}}}}, to_apply=add
        ROOT c = f32[2]{{0}} all-reduce(b), channel_id={third}, replica_groups={{{{0,1}}}}, to_apply=add
        """,
        before=ADD,
    )


def test_collectives_that_share_a_channel_stay_partners() -> None:
    assert same(reduces(1, 2, 3), reduces(7, 5, 6))
    assert same(reduces(1, 1, 3), reduces(4, 4, 2))
    assert not same(reduces(1, 1, 3), reduces(1, 3, 3))
    assert not same(reduces(1, 1, 3), reduces(1, 2, 3))


def test_an_added_collective_does_not_renumber_the_others() -> None:
    old = normalize(read_hlo(reduces(1, 2, 3)))
    permute = "  ROOT g = f32[2]{0} collective-permute(c), channel_id=8, source_target_pairs={{0,1}}\n}"
    more = reduces(1, 2, 3).replace("ROOT c", "c").rpartition("}")[0] + permute + "\n"
    numbers = {it.attribute("channel_id") for it in old.entry_computation.instructions} - {None}
    after = {it.attribute("channel_id") for it in normalize(read_hlo(more)).entry_computation.instructions}
    assert len(numbers) == 3
    assert numbers <= after


FUSED = """
body {
  p0 = f32[2]{0} parameter(0)
  p1 = f32[2]{0} parameter(1)
  ROOT d = f32[2]{0} subtract(p0, p1)
}
"""
TWO = "a = f32[2]{0} parameter(0)\nb = f32[2]{0} parameter(1)\n"


def test_parameters_of_a_fusion_swapped_with_its_operands_are_nothing() -> None:
    swapped = FUSED.replace("subtract(p0, p1)", "subtract(p1, p0)")
    call = TWO + "ROOT f = f32[2]{0} fusion(%s), kind=kLoop, calls=body"
    old = program(call % "a, b", before=FUSED)
    assert same(old, program(call % "b, a", before=swapped))
    assert not same(old, program(call % "b, a", before=FUSED))
    assert not same(old, program(call % "a, b", before=swapped))


def test_parameters_of_a_called_computation_keep_their_order() -> None:
    swapped = FUSED.replace("subtract(p0, p1)", "subtract(p1, p0)")
    call = TWO + "ROOT f = f32[2]{0} call(%s), to_apply=body"
    assert not same(program(call % "a, b", before=FUSED), program(call % "b, a", before=swapped))


def test_fusions_inside_fusions_are_renumbered_from_the_inside() -> None:
    outer = """
outer {
  q0 = f32[2]{0} parameter(0)
  q1 = f32[2]{0} parameter(1)
  ROOT f = f32[2]{0} fusion(%s), kind=kLoop, calls=body
}
"""
    call = TWO + "ROOT g = f32[2]{0} fusion(a, b), kind=kOutput, calls=outer"
    swapped = FUSED.replace("subtract(p0, p1)", "subtract(p1, p0)")
    old = program(call, before=FUSED + outer % "q0, q1")
    assert same(old, program(call, before=swapped + outer % "q1, q0"))
    assert not same(old, program(call, before=FUSED + outer % "q1, q0"))


def test_operand_numbers_follow_the_parameters_of_a_fusion() -> None:
    swapped = FUSED.replace("subtract(p0, p1)", "subtract(p1, p0)")
    call = TWO + "ROOT f = f32[2]{0} fusion(%s), kind=kLoop, calls=body, output_to_operand_aliasing={{}: (%d, {})}"
    old = program(call % ("a, b", 0), before=FUSED)
    assert same(old, program(call % ("b, a", 1), before=swapped))
    assert not same(old, program(call % ("b, a", 0), before=swapped))
    buffers = TWO + "ROOT f = f32[2]{0} fusion(%s), kind=kLoop, calls=body, backend_config=%s"
    config = '{"aliasing_operands":{"lists":[{"indices":["%d","2"]}]}}'
    old = program(buffers % ("a, b", config % 0), before=FUSED)
    assert same(old, program(buffers % ("b, a", config % 1), before=swapped))
    assert not same(old, program(buffers % ("b, a", config % 0), before=swapped))


def test_two_equal_bodies_become_one_and_an_unequal_one_stays() -> None:
    other = FUSED.replace("body", "other")
    call = (
        TWO
        + "f = f32[2]{0} fusion(a, b), kind=kLoop, calls=body\nROOT g = f32[2]{0} fusion(f, b), kind=kLoop, calls=other"
    )
    assert len(normalize(read_hlo(program(call, before=FUSED + other))).computations) == 2
    unequal = other.replace("subtract", "divide")
    assert len(normalize(read_hlo(program(call, before=FUSED + unequal))).computations) == 3


LOOP = """
cond {
  c = (s32[], f32[2]{0}) parameter(0)
  ROOT t = pred[] constant(true)
}

NAME {
  s = (s32[], f32[2]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2]{0} get-tuple-element(s), index=1
FIRST
SECOND
  u = f32[2]{0} add(y, z)
  ROOT r = (s32[], f32[2]{0}) tuple(i, u)
}
"""
SINE, COSINE = "  y = f32[2]{0} sine(x)", "  z = f32[2]{0} cosine(x)"


def loop(name: str, first: str, second: str) -> str:
    return LOOP.replace("NAME", name).replace("FIRST", first).replace("SECOND", second)


def test_a_schedule_is_kept_and_an_order_without_one_is_not() -> None:
    call = "p = (s32[], f32[2]{0}) parameter(0)\nROOT w = (s32[], f32[2]{0}) while(p), condition=cond, body=body"
    old, new = loop("body", SINE, COSINE), loop("body", COSINE, SINE)
    assert same(program(call, before=old), program(call, before=new))
    assert not same(program(call, ", is_scheduled=true", old), program(call, ", is_scheduled=true", new))


def test_equal_bodies_with_different_schedules_are_not_merged() -> None:
    second = loop("other", COSINE, SINE).split("\n\n")[1]
    call = """p = (s32[], f32[2]{0}) parameter(0)
              w = (s32[], f32[2]{0}) while(p), condition=cond, body=body
              ROOT v = (s32[], f32[2]{0}) while(w), condition=cond, body=other"""
    text = program(call, ", is_scheduled=true", loop("body", SINE, COSINE) + "\n" + second)
    assert len(normalize(read_hlo(text)).computations) == 4
    assert len(normalize(read_hlo(text.replace(", is_scheduled=true", ""))).computations) == 3


def test_a_fusion_body_has_no_schedule() -> None:
    body = "body {\n  x = f32[2]{0} parameter(0)\n%s\n%s\n  ROOT u = f32[2]{0} add(y, z)\n}\n"
    call = "a = f32[2]{0} parameter(0)\nROOT f = f32[2]{0} fusion(a), kind=kLoop, calls=body"
    header = ", is_scheduled=true"
    assert same(program(call, header, body % (SINE, COSINE)), program(call, header, body % (COSINE, SINE)))


def test_names_do_not_depend_on_the_schedule() -> None:
    lines = ["x = f32[2]{0} parameter(0)", SINE, COSINE, "ROOT u = f32[2]{0} add(y, z)"]
    old = to_text(normalize(read_hlo(program("\n".join(lines), ", is_scheduled=true"))))
    lines[1:3] = lines[2:0:-1]
    new = to_text(normalize(read_hlo(program("\n".join(lines), ", is_scheduled=true"))))
    assert old != new
    assert sorted(old.splitlines()) == sorted(new.splitlines())


def literal(text: str, count: int = 100) -> Module:
    return normalize(read_hlo(program(f"ROOT c = s32[{count}]{{0}} constant({text})")))


def test_a_large_constant_is_its_hash_and_still_differs() -> None:
    numbers = [str(n) for n in range(100)]
    one = to_text(literal("{" + ", ".join(numbers) + "}"))
    assert 'hlodiff_literal="s32[100] 400 bytes sha256:' in one
    assert one == to_text(literal("{ " + ",\n".join(numbers) + " }"))
    assert one != to_text(literal("{" + ", ".join([*numbers[:-1], "98"]) + "}"))


def test_numbers_of_large_constants_may_be_ignored() -> None:
    texts = ["{" + ", ".join([*map(str, range(99)), last]) + "}" for last in ("99", "98")]
    old, new = (read_hlo(program(f"ROOT c = s32[100]{{0}} constant({text})")) for text in texts)
    ignored = to_text(normalize(old, large_constants="ignore"))
    assert 'hlodiff_literal="s32[100] 400 bytes"' in ignored
    assert ignored == to_text(normalize(new, large_constants="ignore"))
    assert ignored == to_text(normalize(normalize(old), large_constants="ignore"))
    assert to_text(normalize(old, large_constants="ignore")) != to_text(normalize(old))
    small = program("ROOT c = s32[2]{0} constant({1, 2})")
    assert "constant({1, 2})" in to_text(normalize(read_hlo(small), large_constants="ignore"))


def test_a_small_constant_and_an_elided_one_stay() -> None:
    assert "constant({1, 2})" in to_text(literal("{1, 2}", 2))
    assert "constant({...})\n" in to_text(literal("{...}"))


def test_programs_that_nobody_compiled_do_not_crash() -> None:
    text = program(
        'p = f9odd[2]{0} parameter(0)\nROOT q = f32[2]{0} new.opcode-7(p, p), flag, a={b, "c}"}, backend_config={oops'
    )
    with pytest.raises(Exception, match="bracket or quote"):
        read_hlo(text)
    fine = normalize(read_hlo(text.replace("{oops", '"{oops"')))
    assert fine.entry_computation.instructions[1].attribute("backend_config") == '"{oops"'


def test_deep_wide_and_large_programs_take_no_recursion() -> None:
    chain = "\n".join(f"s{n} = f32[2]{{0}} sine(s{n - 1})" for n in range(1, 2500))
    siblings = "\n".join(f"t{n} = f32[2]{{0}} cosine(s0)" for n in range(2000))
    operands = ", ".join(f"t{n}" for n in range(2000))
    root = f"ROOT r = f32[2]{{0}} concatenate(s2499, {operands}), dimensions={{0}}"
    body = f"s0 = f32[2]{{0}} parameter(0)\n{chain}\n{siblings}\n{root}"
    module = normalize(read_hlo(program(body)))
    names = {it.name for it in module.entry_computation.instructions}
    assert len(names) == module.instruction_count() == 2500 + 2000 + 1
