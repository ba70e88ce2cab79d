"""What happened, in JAX's words: sentences of the headline."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import signature

import jax
import jax.numpy as jnp
import pytest

import hlodiff
from hlodiff.differ import Edit, ModuleDiff, ProgramComparison, Site, classes_of
from hlodiff.hlo import Module
from hlodiff.report import Report, ToolchainChange, build_view, sentences, to_terminal
from tests.pass_dumps import dump
from tests.shown import happened
from tests.test_pinned_output import cases
from tests.test_turns import copies, loop, open_loop


def program(body: str, header: str = "") -> hlodiff.Module:
    lines = "\n".join("  " + line for line in body.strip().splitlines())
    return hlodiff.read_text(f"HloModule m{header}\n\nENTRY %e {{\n{lines}\n}}\n")


def said(old: hlodiff.Module, new: hlodiff.Module) -> list[str]:
    return happened(hlodiff.diff(old, new))


def verdict(found: ModuleDiff, by_compiler: bool = True) -> str:
    """The sentence of a function whose StableHLO is the same, or is not."""
    program = ProgramComparison("f", "cpu", "compiled", "changed", found, by_compiler=by_compiler)
    return build_view(Report("diff", "a", "b", (program,))).functions[0].sentence


DONATED = """%p0 = f32[8]{0} parameter(0), metadata={op_name="cache[\\'keys\\']"}
%p1 = f32[8]{0} parameter(1), metadata={op_name="x"}
ROOT %r = f32[8]{0} add(%p0, %p1)"""


def test_arguments_that_are_no_longer_donated_are_named_by_their_paths() -> None:
    old = program(DONATED, ", input_output_alias={ {}: (0, {}, may-alias) }")
    assert said(old, program(DONATED)) == ["1 argument is no longer donated: cache['keys']"]
    assert said(program(DONATED), old) == ["1 argument is donated now: cache['keys']"]


def arguments(*named: tuple[str, str]) -> hlodiff.Module:
    """A sum of arguments that have a path and a type each."""
    lines = [
        f'%p{n} = {kind}{{0}} parameter({n}), metadata={{op_name="{path}"}}' for n, (path, kind) in enumerate(named)
    ]
    sums = [f"%a{n} = f32[8]{{0}} add(%p{n - 1}, %p{n})" for n in range(1, len(named))]
    return program("\n".join([*lines, *sums[:-1], f"ROOT {sums[-1]}"]))


def test_arguments_are_told_by_their_paths_whatever_the_matcher_paired() -> None:
    x, bias, z = (("x", "f32[8]"), ("model.bias", "f32[8]"), ("z", "f32[8]"))
    other = arguments(x, z, ("y", "f32[8]"))
    old = arguments(x, bias)
    new = program(
        '%p0 = f32[8]{0} parameter(0), metadata={op_name="x"}\n'
        '%p1 = f32[8]{0} parameter(1), metadata={op_name="z"}\n'
        "%t = f32[8]{0} tanh(%p0)\nROOT %a = f32[8]{0} add(%t, %p1)"
    )
    assert said(old, new) == ["1 new argument: z", "1 argument gone: model.bias"]
    assert said(old, other)[:2] == ["2 new arguments: z, y", "1 argument gone: model.bias"]
    one, other = (
        program(
            f'%p0 = f32[8]{{0}} parameter(0), metadata={{op_name="{paths[0]}"}}\n'
            f'%p1 = f32[8]{{0}} parameter(1), metadata={{op_name="{paths[1]}"}}\n'
            f"%t = f32[8]{{0}} tanh(%p{paths.index('x')})\nROOT %s = f32[8]{{0}} subtract(%t, %p{paths.index('z')})"
        )
        for paths in (("x", "z"), ("z", "x"))
    )
    assert said(one, other) == ["arguments in another order: z, x"]
    retyped = said(arguments(x, z), program(
        '%p0 = f32[4]{0} parameter(0), metadata={op_name="x"}\n%p1 = f32[8]{0} parameter(1), metadata={op_name="z"}\n'
        "%t = f32[8]{0} pad(%p0), padding=0_4\nROOT %a = f32[8]{0} add(%t, %p1)"
    ))  # fmt: skip
    assert retyped == ["1 argument of another shape: x f32[8] -> f32[4]"]


def test_arguments_that_lie_deeper_in_a_structure_are_neither_new_nor_gone() -> None:
    """As those of an optimizer's state do when `optax.chain` is put around it."""
    old = arguments(("state[0].mu['w']", "f32[8]"), ("state[0].nu['w']", "f32[8]"))
    new = arguments(("state[1][0].mu['w']", "f32[8]"), ("state[1][0].nu['w']", "f32[8]"), ("state[2].count", "f32[8]"))
    assert said(old, new) == [
        "1 new argument: state[2].count",
        "2 arguments at another path: state[0].mu['w'] -> state[1][0].mu['w'], 1 more",
    ]
    wrapped = arguments(("state.inner[0].mu['w']", "f32[8]"), ("state.inner[0].nu['w']", "f32[8]"), ("x", "f32[8]"))
    assert said(old, wrapped)[0] == "1 new argument: x"
    assert said(old, wrapped)[1].startswith("2 arguments at another path: state[0].mu['w'] -> ")
    # Another name, another type, or too little of a name: nobody knows that it is the same.
    x, z = ("x", "f32[8]"), ("z", "f32[8]")
    for one, other in (("norm1.weight", "norm2.weight"), ("args[0]", "args[1]"), ("state.mu", "mu")):
        found = said(arguments((one, "f32[8]"), x), arguments((other, "f32[8]"), x, z))
        assert found[:2] == [f"2 new arguments: {other}, z", f"1 argument gone: {one}"]


def test_an_argument_that_is_another_one_is_no_changed_argument() -> None:
    old = arguments(("x", "f32[8]"), ("model.bias", "f32[8]"))
    new = program(
        '%p0 = f32[8]{0} parameter(0), metadata={op_name="x"}\n%p1 = f32[4]{0} parameter(1), metadata={op_name="z"}\n'
        "%t = f32[8]{0} pad(%p1), padding=0_4\nROOT %a = f32[8]{0} add(%p0, %t)"
    )
    found = hlodiff.diff(old, new)
    arguments_of = [(edit.kind, edit.op_name) for edit in found.reported if edit.op_name in ("model.bias", "z")]
    assert sorted(arguments_of) == [("added", "z"), ("removed", "model.bias")]


def test_arguments_of_filter_jit_have_the_paths_of_the_summary() -> None:
    from hlodiff.snapshots import name_arguments

    wrapped = arguments(("dynamic_nodonate['first'][0]", "f32[8]"), ("dynamic_nodonate['rest'][0]", "f32[8]"))
    rows = [{"path": "model.weight"}, {"path": "old", "unused": True}, {"path": "x"}]
    named = name_arguments(wrapped, rows).entry_computation.instructions
    assert [it.op_name for it in named[:2]] == ["model.weight", "x"]
    assert name_arguments(wrapped, rows[:1]) is wrapped


def test_results_have_the_paths_of_what_the_function_returns() -> None:
    from hlodiff.snapshots import name_results

    def returning(first: str, second: str, size: int) -> hlodiff.Module:
        module = program(
            "%x = f32[8]{0} parameter(0)\n%a = f32[8]{0} tanh(%x)\n"
            f"%b = f32[{size}]{{0}} slice(%x), slice={{[0:{size}]}}\n"
            f"ROOT %t = (f32[8]{{0}}, f32[{size}]{{0}}) tuple(%a, %b)"
        )
        return name_results(module, [{"path": f"result['{name}']"} for name in (first, second)])

    old = returning("bias", "weight", 4)
    assert said(old, returning("bias", "weight", 3)) == ["result['weight'] is f32[3] instead of f32[4]"]
    assert said(old, returning("bias", "w", 3)) == [
        "1 result at another path: result['weight'] -> result['w']",
        "result['w'] is f32[3] instead of f32[4]",
    ]


def test_a_result_that_came_or_went_is_named() -> None:
    from hlodiff.snapshots import name_results

    def returning(*paths: str, size: int = 8) -> hlodiff.Module:
        rows = [f"%{path} = f32[{size}]{{0}} {opcode}(%x)" for path, opcode in zip(paths, OPCODES, strict=False)]
        types, names = ", ".join([f"f32[{size}]{{0}}"] * len(paths)), ", ".join(f"%{path}" for path in paths)
        root = f"ROOT %t = ({types}) tuple({names})"
        module = program("\n".join([f"%x = f32[{size}]{{0}} parameter(0)", *rows, root]))
        return name_results(module, [{"path": f"result['{path}']"} for path in paths])

    one, two, three = returning("a"), returning("a", "b"), returning("a", "b", "c")
    assert said(two, three) == ["1 new result: result['c'] f32[8]"]
    assert said(three, two) == ["1 result gone: result['c']"]
    assert said(one, three) == ["2 new results: result['b'], result['c']"]
    assert "3 results instead of 2" in " ".join(said(two, returning("d", "e", "f"))), "none is known to be the same"


OPCODES = ["tanh", "sine", "cosine"]


def test_a_result_that_is_split_in_another_way_is_said() -> None:
    """A sharding constraint may place a result, though no argument is placed in another way."""

    def text(size: int, partitions: int = 4) -> Module:
        return hlodiff.read_text(
            f"HloModule m, num_partitions={partitions}\n\nENTRY %e {{\n  %p = f32[128] parameter(0)\n"
            f"  %q = f32[8] parameter(1)\n  %a = f32[{size}] slice(%p), slice={{[0:{size}]}}\n"
            f"  ROOT %r = (f32[{size}], f32[8]) tuple(%a, %q)\n}}\n"
        )

    assert said(text(64), text(32))[0] == "1 result of another shape on each device: result 0 f32[64] -> f32[32]"
    assert not any("result" in words for words in said(text(64), text(32, partitions=8)))


AGAIN = 'metadata={op_name="jit(f)/transpose(jvp())/checkpoint/rematted_computation/tanh"}'


@pytest.mark.parametrize("back", [False, True])
def test_rematerialisation_is_called_so(back: bool) -> None:
    def pair(first: str) -> list[Module]:
        head = f"%p = f32[8]{{0}} parameter(0)\n{first}\n%t = f32[8]{{0}} tanh(%s)\n"
        old = program(f"{head}ROOT %r = f32[8]{{0}} add(%p, %t)")
        again = f"%u = f32[8]{{0}} tanh(%p), {AGAIN}\n%a = f32[8]{{0}} add(%p, %t)"
        new = program(f"{head}{again}\nROOT %r = f32[8]{{0}} multiply(%a, %u)")
        return [new, old] if back else [old, new]

    words = "no longer computed" if back else "computed"
    assert said(*pair("%s = f32[8]{0} sine(%p)")) == [
        f"at least 1 operation is {words} again in the backward pass (rematerialisation)"
    ]
    assert said(*pair(f"%s = f32[8]{{0}} sine(%p), {AGAIN}")) == [], "a compiler does less of it twice"


def test_what_only_the_backward_pass_computes_is_not_computed_again() -> None:
    """Its scope holds the cosine, which is the derivative of the sine, too."""
    parameters = "%p = f32[8]{0} parameter(0)\n%q = f32[8]{0} parameter(1)"
    old = program(f"{parameters}\n%s = f32[8]{{0}} sine(%p)\nROOT %r = f32[8]{{0}} add(%s, %q)")
    new = program(
        f"{parameters}\n%s = f32[8]{{0}} sine(%p)\n%t = f32[8]{{0}} sine(%p), {AGAIN}\n"
        f"%u = f32[8]{{0}} cosine(%p), {AGAIN}\n%m = f32[8]{{0}} multiply(%u, %t), {AGAIN}\n"
        "%a = f32[8]{0} add(%s, %m)\nROOT %r = f32[8]{0} add(%a, %q)"
    )
    assert said(old, new) == ["at least 1 operation is computed again in the backward pass (rematerialisation)"]


def test_what_the_compiler_adds_to_a_loop_is_not_computed_again() -> None:
    """The conditions of two loops are alike, also where only one of them is in the scope."""

    def text(scope: str) -> str:
        loops = "\n".join(
            f"""%body{n} (p: (s32[], f32[8])) -> (s32[], f32[8]) {{
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8] get-tuple-element(%p), index=1
  %y = f32[8] {opcode}(%x), metadata={{op_name="jit(f)/{place}/{opcode}"}}
  ROOT %t = (s32[], f32[8]) tuple(%i, %y)
}}

%condition{n} (p: (s32[], f32[8])) -> pred[] {{
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %four = s32[] constant(4)
  ROOT %c = pred[] compare(%i, %four), direction=LT
}}
"""
            for n, (opcode, place) in enumerate((("sine", scope), ("cosine", "transpose(jvp())")))
        )
        return f"""HloModule m

{loops}
ENTRY %e (i: s32[], x: f32[8]) -> (s32[], f32[8]) {{
  %i = s32[] parameter(0)
  %x = f32[8] parameter(1)
  %t = (s32[], f32[8]) tuple(%i, %x)
  %w = (s32[], f32[8]) while(%t), condition=%condition0, body=%body0, metadata={{op_name="jit(f)/{scope}/while"}}
  ROOT %v = (s32[], f32[8]) while(%w), condition=%condition1, body=%body1, metadata={{op_name="jit(f)/transpose/while"}}
}}
"""

    scope = "transpose(jvp())/checkpoint/rematted_computation"
    more = f'  %z = f32[8] negate(%x), metadata={{op_name="jit(f)/{scope}/neg"}}\n  %y = f32[8] sine(%z)'
    old, new = (hlodiff.read_text(one) for one in (text("jvp()"), text(scope).replace("  %y = f32[8] sine(%x)", more)))
    assert not [words for words in said(old, new) if "again" in words]


def test_values_that_a_policy_saves_end_what_is_computed_again() -> None:
    """In StableHLO values are compared by how they are computed, through barriers and from what a loop saved."""

    def text(scope: str) -> str:
        return f"""module @m {{
  func.func public @main(%x: tensor<8xbf16>, %saved: tensor<4x8xf32>, %i: tensor<i32>, %g: tensor<8xf32>)
      -> tensor<8xf32> {{
    %0 = stablehlo.convert %x : (tensor<8xbf16>) -> tensor<8xf32> loc("jit(f)/jvp()/convert_element_type")
    %1 = stablehlo.sine %0 : tensor<8xf32> loc("jit(f)/jvp()/sin")
    %2 = func.call @kept(%1) : (tensor<8xf32>) -> tensor<8xf32> loc("jit(f)/jvp()/kept")
    %3 = stablehlo.tanh %2 : tensor<8xf32> loc("jit(f)/jvp()/tanh")
    %4:2 = stablehlo.optimization_barrier %x, %g : tensor<8xbf16>, tensor<8xf32>
    %5 = stablehlo.convert %4#0 : (tensor<8xbf16>) -> tensor<8xf32> loc("jit(f)/{scope}/convert")
    %6 = stablehlo.sine %5 : tensor<8xf32> loc("jit(f)/{scope}/sin")
    %7 = stablehlo.dynamic_slice %saved, %i, %i, sizes = [1, 8]
      : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %8 = stablehlo.reshape %7 : (tensor<1x8xf32>) -> tensor<8xf32>
    %9 = stablehlo.tanh %8 : tensor<8xf32> loc("jit(f)/{scope}/tanh")
    %10 = stablehlo.cosine %9 : tensor<8xf32> loc("jit(f)/{scope}/cos")
    %11 = stablehlo.add %6, %10 : tensor<8xf32> loc("jit(f)/transpose(jvp())/add")
    %12 = stablehlo.add %3, %11 : tensor<8xf32> loc("jit(f)/jvp()/add")
    return %12 : tensor<8xf32>
  }}
  func.func private @kept(%a: tensor<8xf32>) -> tensor<8xf32> {{
    %b = stablehlo.exponential %a : tensor<8xf32>
    return %b : tensor<8xf32>
  }}
}}
"""

    old, new = (hlodiff.read_text(text(f"transpose(jvp()){scope}")) for scope in ("", "/rematted_computation"))
    changed = hlodiff.read_text(text("transpose(jvp())").replace("cosine %9", "sine %9"))
    words = (
        "at least 3 operations are computed again in the backward pass (rematerialisation)"  # convert, sine and tanh
    )
    assert said(changed, new)[:1] == [words]
    assert not said(changed, old)


def test_what_is_broadcast_before_a_loop_or_in_it_is_one_value() -> None:
    """A bias becomes a row outside of the forward pass, and in the backward pass only."""

    def text(scope: str) -> str:
        return f"""module @m {{
  func.func public @main(%x: tensor<4x8xf32>, %row: tensor<1x8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {{
    %0 = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.add %x, %0 : tensor<4x8xf32> loc("jit(f)/jvp()/add")
    %2 = stablehlo.tanh %1 : tensor<4x8xf32> loc("jit(f)/jvp()/tanh")
    %3:2 = stablehlo.optimization_barrier %x, %bias : tensor<4x8xf32>, tensor<8xf32>
    %4 = stablehlo.broadcast_in_dim %3#1, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %6 = stablehlo.add %3#0, %5 : tensor<4x8xf32> loc("jit(f)/{scope}/add")
    %7 = stablehlo.tanh %6 : tensor<4x8xf32> loc("jit(f)/{scope}/tanh")
    %8 = stablehlo.add %2, %7 : tensor<4x8xf32> loc("jit(f)/transpose(jvp())/add_any")
    return %8 : tensor<4x8xf32>
  }}
}}
"""

    old = hlodiff.read_text(text("transpose(jvp())").replace("tanh %6", "sine %6"))
    new = hlodiff.read_text(text("transpose(jvp())/rematted_computation"))
    assert said(old, new)[0] == "at least 2 operations are computed again in the backward pass (rematerialisation)"


def test_a_cast_that_is_computed_again_rounds_nothing_more() -> None:
    """Also where the cast of the forward pass is listed as added, because that of the backward pass matches."""

    def text(with_checkpoint: bool) -> str:
        scope = "transpose(jvp())/rematted_computation" if with_checkpoint else "jvp()"
        forward = (
            """    %0 = stablehlo.convert %x : (tensor<8xbf16>) -> tensor<8xf32> loc("jit(f)/jvp()/convert")
    %1 = stablehlo.sine %0 : tensor<8xf32> loc("jit(f)/jvp()/sin")
    %2:2 = stablehlo.optimization_barrier %x, %1 : tensor<8xbf16>, tensor<8xf32>
"""
            if with_checkpoint
            else ""
        )
        operand, used = ("%2#0", "%1") if with_checkpoint else ("%x", "%4")
        return f"""module @m {{
  func.func public @main(%x: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xf32>) {{
{forward}    %3 = stablehlo.convert {operand} : (tensor<8xbf16>) -> tensor<8xf32> loc("jit(f)/{scope}/convert")
    %4 = stablehlo.sine %3 : tensor<8xf32> loc("jit(f)/{scope}/sin")
    %5 = stablehlo.multiply %4, %3 : tensor<8xf32> loc("jit(f)/transpose(jvp())/mul")
    return {used}, %5 : tensor<8xf32>, tensor<8xf32>
  }}
}}
"""

    old, new = (hlodiff.read_text(text(with_checkpoint)) for with_checkpoint in (False, True))
    assert classes_of(hlodiff.diff(old, new)) == classes_of(hlodiff.diff(new, old)) == ("structure",)


def test_what_a_loop_computes_again_from_its_own_state_is_known_by_its_scope() -> None:
    """The loop of the backward pass takes the state from an array: nothing there is equal to the forward pass."""

    def text(again: str) -> str:
        used = "%1" if again else "%s"
        return f"""module @m {{
  func.func public @main(%x: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {{
    %0 = stablehlo.sine %x : tensor<8xf32> loc("jit(f)/jvp()/sin")
{again}    %2 = stablehlo.multiply {used}, %s : tensor<8xf32> loc("jit(f)/transpose(jvp())/mul")
    return %0, %2 : tensor<8xf32>, tensor<8xf32>
  }}
}}
"""

    scope = "transpose(jvp())/while/body/checkpoint/rematted_computation"
    again = f'    %1 = stablehlo.sine %s : tensor<8xf32> loc("jit(f)/{scope}/sin")\n'
    old, new = hlodiff.read_text(text("")), hlodiff.read_text(text(again))
    assert said(old, new) == ["at least 1 operation is computed again in the backward pass (rematerialisation)"]
    assert said(new, old) == [
        "at least 1 operation is no longer computed again in the backward pass (rematerialisation)"
    ]


def test_what_the_backward_pass_alone_computes_is_not_computed_again() -> None:
    """`jax.checkpoint` around a loss whose value nobody uses: the forward pass is dead code."""

    def step(scope: str, barrier: str) -> Module:
        names = [f'metadata={{op_name="jit(f)/{scope}/{name}"}}' for name in ("sin", "tanh")]
        return program(
            f"%p = f32[8]{{0}} parameter(0)\n{barrier}%s = f32[8]{{0}} sine(%{'b' if barrier else 'p'}), {names[0]}\n"
            f"ROOT %t = f32[8]{{0}} tanh(%s), {names[1]}"
        )

    barrier = "%b = f32[8]{0} opt-barrier(%p)\n"
    old, new = step("jvp()", ""), step("transpose(jvp())/checkpoint/rematted_computation", barrier)
    assert said(old, new) == []
    assert said(new, old) == []


def test_a_call_around_a_loop_that_is_inlined_leaves_its_operations_where_the_call_was() -> None:
    """The loop moves with all that it calls, two levels deep, and nothing of it is removed or added."""
    array, row = "tensor<4x8xf32>", "tensor<8xf32>"
    loop = f"""    %zero = stablehlo.constant dense<0> : tensor<i32>
    %l:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, {array}
     cond {{
      %n = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }} do {{
      %o = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %o : tensor<i32>
      %d = func.call @turn(%c) : ({array}) -> {array}
      stablehlo.return %j, %d : tensor<i32>, {array}
    }}
    %s = stablehlo.sine %l#1 : {array}
"""
    inner = f"""  func.func private @turn(%x: {array}) -> {array} {{
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
      : ({array}, tensor<f32>) -> {row}
    %b = stablehlo.broadcast_in_dim %r, dims = [1] : ({row}) -> {array}
    return %b : {array}
  }}
"""
    use = f"    %e = stablehlo.exponential %s : {array}\n    return %e : {array}\n  }}\n"
    head = f"module @m {{\n  func.func public @main(%x: {array}) -> {array} {{\n"
    call = f"    %s = func.call @helper(%x) : ({array}) -> {array}\n"
    helper = f"  func.func private @helper(%x: {array}) -> {array} {{\n{loop}    return %s : {array}\n  }}\n"
    old = hlodiff.read_text(f"{head}{call}{use}{helper}{inner}}}")
    new = hlodiff.read_text(f"{head}{loop}{use}{inner}}}")
    for pair, are in (((old, new), "inlined"), ((new, old), "no longer inlined")):
        found = hlodiff.diff(*pair)
        assert found.replay().complete
        assert [edit.old.opcode if edit.old else "" for edit in found.edits if edit.kind == "moved"].count("while") == 1
        assert happened(found) == [f"1 call is {are}: helper()"]
        assert classes_of(found) == ("cost",)


def test_arguments_of_one_path_are_paired_where_arguments_came_though_others_are_used_like_them() -> None:
    def step(paths: str, uses: dict[str, str]) -> Module:
        lines = [
            f'%{path} = f32[8]{{0}} parameter({n}), metadata={{op_name="m.{path}"}}' for n, path in enumerate(paths)
        ]
        for path, opcodes in uses.items():
            value = path
            for opcode in opcodes.split():
                lines.append(f"%{opcode}.{path} = f32[8]{{0}} {opcode}(%{value})")
                value = f"{opcode}.{path}"
        results = [line.partition(" ")[0] for line in lines[-len(paths) :]]
        return program(
            "\n".join([*lines, f"ROOT %r = ({', '.join(['f32[8]{0}'] * len(paths))}) tuple({', '.join(results)})"])
        )

    old = step("ab", {"a": "sine", "b": "cosine"})
    new = step("acb", {"a": "cosine", "c": "tanh", "b": "sine"})
    diff = hlodiff.diff(old, new)
    assert said(old, new)[0] == "1 new argument: m.c"
    arguments_of = [
        (edit.kind, edit.op_name) for edit in diff.edits if "parameter" in {s.opcode for s in (edit.old, edit.new) if s}
    ]
    assert arguments_of == [("added", "m.c")]
    assert not diff.limits


def test_another_generator_of_random_numbers() -> None:
    threefry = 'metadata={op_name="jit(f)/jit(_uniform)/threefry2x32/xor"}'
    old = program(f"%p = u32[8]{{0}} parameter(0)\n%x = u32[8]{{0}} xor(%p, %p), {threefry}\n"
                  "ROOT %r = u32[8]{0} negate(%x)")  # fmt: skip
    generate = "%x = u32[8]{0} rng-bit-generator(%p), algorithm=rng_default"
    new = program(f"%p = u32[8]{{0}} parameter(0)\n{generate}\nROOT %r = u32[8]{{0}} negate(%x)")
    assert said(old, new) == ["random numbers come from rng_bit_generator instead of threefry2x32"]


def test_weights_that_became_a_constant_are_told_with_their_bytes() -> None:
    weight = '%w = f32[512]{0} parameter(1), metadata={op_name="model.weight"}'
    old = program(f"%p = f32[512]{{0}} parameter(0)\n{weight}\nROOT %r = f32[512]{{0}} add(%p, %w)")
    values = ",".join(str(n) for n in range(512))
    new = program(f"%p = f32[512]{{0}} parameter(0)\n%w = f32[512]{{0}} constant({{{values}}})\n"
                  "ROOT %r = f32[512]{0} add(%p, %w)")  # fmt: skip
    assert said(old, new) == ["1 large constant added (2.0 KiB), 1 argument gone: model.weight"]
    shown = str(hlodiff.diff(old, new))
    headline = " ".join(shown.split("\n  changed")[0].split())
    assert headline.endswith("; 1 large constant added (2.0 KiB), 1 argument gone: model.weight")


@pytest.mark.parametrize("opcode", ["dynamic-update-slice", "fusion"])
def test_a_written_buffer_in_another_layout_is_a_sentence_of_its_own(opcode: str) -> None:
    write = "dynamic-update-slice(%b, %u, %i, %i)"
    inside = ""
    if opcode == "fusion":
        inside = (
            "%f {\n  %b = f32[64,128]{1,0} parameter(0)\n  %u = f32[1,128]{1,0} parameter(1)\n"
            "  %i = s32[] parameter(2)\n"
            f"  ROOT %d = f32[64,128]{{1,0}} {write}\n}}\n\n"
        )
    call = "fusion(%b, %u, %i), kind=kLoop, calls=%f" if inside else write
    text = (
        f"HloModule m\n\n{inside}ENTRY %e {{\n  %b = f32[64,128]{{1,0}} parameter(0)\n"
        f"  %u = f32[1,128]{{1,0}} parameter(1)\n  %i = s32[] parameter(2)\n  ROOT %d = f32[64,128]{{1,0}} {call}\n}}\n"
    )
    old, new = hlodiff.read_text(text), hlodiff.read_text(text.replace("f32[64,128]{1,0}", "f32[64,128]{0,1}"))
    assert said(old, new) == [f"the buffer that {opcode} writes has another layout ({{1,0}} -> {{0,1}})"]


def test_a_buffer_that_is_written_in_another_order_is_not_better_for_sure() -> None:
    """The end of a compile with JAX 0.9.1 and with 0.9.2, which was five times slower: every number fell."""
    dumps = [dump(f"scatter-cuda-h100-jax-0.9.{n}") for n in (1, 2)]
    old, new = (hlodiff.read_text(one.read(one.stages[-1].file).decode()) for one in dumps)
    words = "the buffer that scatter writes has its dimensions in another order (f32[120,64] -> f32[64,120])"
    assert any(sentence.startswith(words) for sentence in said(old, new))
    program = ProgramComparison("f", "cuda-h100", "compiled", "changed", hlodiff.diff(old, new))
    first = to_terminal(Report("diff", "a", "b", (program,)), width=160).splitlines()[0]
    assert first == "f  ◆ mixed on cuda-h100: bytes accessed -21 %, but a buffer is written in another order; fns.py:27"


@pytest.mark.parametrize(
    ("buffer", "update", "is_said"),
    [
        ("f32[10,24,6]{1,2,0}", "f32[1,24,6]{1,2,0}", False),  # the same memory by other names
        ("f32[10,24,6]{2,1,0}", "f32[1,24,6]{2,1,0}", False),  # each write is one piece of 144 elements as before
        ("f32[6,10,24]{2,1,0}", "f32[6,1,24]{2,1,0}", True),  # now of 24
    ],
)
def test_a_write_into_one_piece_of_memory_as_before_is_no_worse(buffer: str, update: str, is_said: bool) -> None:
    def program(whole: str, part: str) -> hlodiff.Module:
        head = f"HloModule m\n\nENTRY %e {{\n  %b = {whole} parameter(0)\n  %u = {part} parameter(1)\n"
        last = f"  ROOT %d = {whole} dynamic-update-slice(%b, %u, %i, %i, %i)\n}}\n"
        return hlodiff.read_text(f"{head}  %i = s32[] parameter(2)\n{last}")

    old = program("f32[10,6,24]{2,1,0}", "f32[1,6,24]{2,1,0}")
    found = [words for words in said(old, program(buffer, update)) if "writes" in words]
    assert bool(found) == is_said


def test_a_setting_is_named_and_not_your_code() -> None:
    """Only one that has to do with an edit: x64 differs too, and no type of 64 bits came or went."""
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = f"HloModule m\n\nENTRY %e {{\n  %p = f32[8,8] parameter(0)\n  ROOT %r = f32[8,8] dot(%p, %p), {dims}\n}}\n"
    highest = text.replace(dims, f"{dims}, operand_precision={{highest,highest}}")
    diff = hlodiff.diff(hlodiff.read_text(text), hlodiff.read_text(highest))
    programs = (ProgramComparison("f", "cpu", "stablehlo", "changed", diff, other_toolchain=True),)
    flag = ToolchainChange("x64", "False", "True")
    setting = (flag, ToolchainChange("matmul_precision", "default", "highest", ("cpu",)))
    (line,) = build_view(Report("diff", "a", "b", programs, toolchain=setting)).causes
    assert line.endswith("in StableHLO too: the configuration changed (matmul_precision default -> highest)")
    (line,) = build_view(Report("diff", "a", "b", programs, toolchain=(flag, ToolchainChange("jax", "1", "2")))).causes
    assert "your code changed" in line


FUSED = """HloModule m

%body {{
  %p.0 = f32[8]{{0}} parameter(0)
  ROOT %n.1 = f32[8]{{0}} negate(%p.0)
}}

ENTRY %e {{
  %p.2 = f32[8]{{0}} parameter(0)
  ROOT %f.3 = f32[8]{{0}} fusion(%p.2), calls=%body, kind={}
}}
"""


def test_fusions_of_another_kind_are_counted_where_the_compiler_alone_changed_them() -> None:
    config = 'kCustom, backend_config={"fusion_config":{"kind":"__ynn_fusion"}}'
    found = hlodiff.diff(hlodiff.read_text(FUSED.format("kLoop")), hlodiff.read_text(FUSED.format(config)))
    words = "1 fusion is of kind __ynn_fusion now"
    back = hlodiff.diff(hlodiff.read_text(FUSED.format(config)), hlodiff.read_text(FUSED.format("kLoop")))
    assert verdict(found) == f"same cost on cpu; {words}"
    assert verdict(back) == verdict(found, by_compiler=False) == "same cost on cpu"


def test_arguments_that_only_change_places_and_donation_are_neither_new_nor_gone() -> None:
    """`eqx.filter_jit` puts what is donated first, so a donation that is gone is another order too."""
    paths = ("model.a", "model.b", "tokens")

    def lowered(order: tuple[int, ...], donated: bool) -> hlodiff.Module:
        named = [
            f"%arg{n}: tensor<8xf32> "
            + ("{tf.aliasing_output = " + f"{path}" + " : i32} " if donated and path < 2 else "")
            + f'loc("{paths[path]}")'
            for n, path in enumerate(order)
        ]
        a, b, x = (order.index(path) for path in range(3))
        return hlodiff.read_text(
            f"module @m {{\n  func.func public @main({', '.join(named)}) -> (tensor<8xf32>, tensor<8xf32>) {{\n"
            f"    %0 = stablehlo.add %arg{a}, %arg{x} : tensor<8xf32>\n"
            f"    %1 = stablehlo.multiply %arg{b}, %arg{x} : tensor<8xf32>\n"
            "    return %0, %1 : tensor<8xf32>, tensor<8xf32>\n  }\n}\n"
        )

    found = hlodiff.diff(lowered((0, 1, 2), True), lowered((2, 0, 1), False))
    words = " ".join(happened(found))
    assert "2 arguments are no longer donated: model.a, model.b" in words
    assert "new argument" not in words and "gone" not in words
    assert {edit.kind for edit in found.edits} == {"changed"}
    assert found.replay().complete


def test_arguments_in_another_order_are_paired_by_path_though_others_are_used_alike() -> None:
    """The moments of an optimizer are used like each other: in another order, a number of one is one of another's."""
    paths = ("model", "state.count", "state.mu", "state.nu", "tokens")
    uses = {"model": "negate(", "state.mu": "exponential(", "state.nu": "exponential(", "tokens": "cosine("}

    def compiled(order: tuple[str, ...], donated: tuple[str, ...], start: str) -> hlodiff.Module:
        held = [f'  %{path} = f32[8] parameter({n}), metadata={{op_name="{path}"}}' for n, path in enumerate(order)]
        used = [f"  %of_{path} = f32[8] {opcode}%{path})" for path, opcode in uses.items() if path != "model"]
        used += [f"  %of_model = f32[8] {start}%model)", "  %of_state.count = f32[8] sine(%state.count)"]
        root = f"  ROOT %all = (f32[8]{', f32[8]' * 4}) tuple({', '.join(f'%of_{path}' for path in paths)})"
        aliases = ", ".join(f"{{{paths.index(one)}}}: ({order.index(one)}, {{}}, may-alias)" for one in donated)
        header = f"HloModule m, input_output_alias={{ {aliases} }}"
        return hlodiff.read_text("\n".join([header, "", "ENTRY %e {", *held, *used, root, "}", ""]))

    old = compiled(paths, paths[:4], "negate(")
    new = compiled(("state.count", "state.mu", "state.nu", "tokens", "model"), paths[1:4], "abs(")
    found = hlodiff.diff(old, new)
    assert "1 argument is no longer donated: model" in happened(found)
    held = [edit for edit in found.edits if edit.old and edit.new and edit.old.opcode == "parameter"]
    assert held and all(edit.old.name == edit.new.name for edit in held if edit.old and edit.new)
    assert not [edit for edit in found.edits if "operands" in edit.fields]
    assert found.replay().complete


def test_two_arguments_of_one_shape_that_changed_places_are_what_they_are_used_for() -> None:
    """The gains of two norms are used alike at first, and donated: only further down one feeds another product."""

    def lowered(paths: tuple[str, ...]) -> hlodiff.Module:
        at = {path: f"%arg{n}" for n, path in enumerate(paths)}
        named = [
            f'%arg{n}: tensor<4xf32> {{tf.aliasing_output = {n} : i32}} loc("{path}")' for n, path in enumerate(paths)
        ]
        body = [
            f"    %a0 = stablehlo.multiply {at['model.norm1']}, {at['model.norm1']} : tensor<4xf32>",
            "    %a1 = stablehlo.tanh %a0 : tensor<4xf32>",
            "    %a2 = stablehlo.sine %a1 : tensor<4xf32>",
            f"    %b0 = stablehlo.multiply {at['model.norm2']}, {at['model.norm2']} : tensor<4xf32>",
            "    %b1 = stablehlo.tanh %b0 : tensor<4xf32>",
            "    %b2 = stablehlo.cosine %b1 : tensor<4xf32>",
        ]
        given = ["%a2" if path == "model.norm1" else "%b2" for path in paths]
        return hlodiff.read_text(
            f"module @m {{\n  func.func public @main({', '.join(named)}) -> (tensor<4xf32>, tensor<4xf32>) {{\n"
            + "\n".join(body)
            + f"\n    return {', '.join(given)} : tensor<4xf32>, tensor<4xf32>\n  }}\n}}\n"
        )

    found = hlodiff.diff(lowered(("model.norm1", "model.norm2")), lowered(("model.norm2", "model.norm1")))
    assert happened(found)[0] == "arguments in another order: model.norm2, model.norm1"
    assert not [edit for edit in found.edits if edit.old and edit.old.opcode in ("multiply", "sine", "cosine")]
    assert found.replay().complete
    text = to_terminal(Report("check", "a", "b", (ProgramComparison("f", "cpu", "stablehlo", "changed", found),)))
    assert "donated" not in text
    assert "parameter_number" not in text


def test_results_that_depend_on_half_or_twice_as_many_arguments_are_named() -> None:
    """Where a gradient is stopped, a weight only depends on itself, and the gradient itself is a constant."""
    old, new = (
        hlodiff.read_text(
            "module @m {\n"
            '  func.func public @main(%arg0: tensor<4xf32> loc("w"), %arg1: tensor<4xf32> loc("b"), '
            '%arg2: tensor<4xf32> loc("x")) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {\n'
            "    %zero = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
            "    %0 = stablehlo.multiply %arg1, %arg2 : tensor<4xf32>\n"
            "    %1 = stablehlo.multiply %0, %arg0 : tensor<4xf32>\n"
            f"    %2 = stablehlo.subtract %arg0, {gradient} : tensor<4xf32>\n"
            f"    %3 = stablehlo.negate {gradient} : tensor<4xf32>\n"
            "    return %2, %3, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n  }\n}\n"
        )
        for gradient in ("%0", "%zero")
    )
    words = "2 results now depend on at most half as many arguments: result 0 only on w, result 1 on none"
    assert words in happened(hlodiff.diff(old, new))
    words = "2 results now depend on at least twice as many arguments: "
    assert f"{words}result 0 on 3 instead of 1, result 1 on 2 instead of 0" in happened(hlodiff.diff(new, old))


def gradients(second: str, *types: str) -> hlodiff.Module:
    """A program with the gradients of two weights, of which one may not be an argument."""
    paths = ("w1", "w2", "x")[:: 1 if len(types) > 2 else 2]
    named = [f'%{path}: {one} loc("{path}")' for path, one in zip(paths, types, strict=True)]
    infos = [f"{{jax.result_info = \"['{name}']\"}}" for name in ("w1", "w2")]
    results = ", ".join(f"tensor<4xf32> {info}" for info in infos)
    return hlodiff.read_text(
        f"module @m {{\n  func.func public @main({', '.join(named)}) -> ({results}) {{\n"
        "    %first = stablehlo.multiply %w1, %x : tensor<4xf32>\n"
        f"{second}"
        "    return %first, %second : tensor<4xf32>, tensor<4xf32>\n  }\n"
        "  func.func private @zeros(%n: tensor<bf16>) -> tensor<4xf32> {\n"
        "    %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<bf16>) -> tensor<4xbf16>\n"
        "    %f = stablehlo.convert %b : (tensor<4xbf16>) -> tensor<4xf32>\n"
        "    return %f : tensor<4xf32>\n  }\n}\n"
    )


COMPUTED = "    %second = stablehlo.multiply %w2, %x : tensor<4xf32>\n"


@pytest.mark.parametrize("number", ["0", "1", "0.3"])
def test_a_result_that_is_a_constant_number_now_is_said_to_be(number: str) -> None:
    """Where a weight is no longer used, JAX returns zeros as its gradient and drops the argument."""
    stopped = f"    %n = stablehlo.constant dense<{float(number)}> : tensor<bf16>\n"
    stopped += "    %second = func.call @zeros(%n) : (tensor<bf16>) -> tensor<4xf32>\n"
    whole, fewer = ("tensor<4xf32>",) * 3, ("tensor<4xf32>",) * 2
    is_exact = number != "0.3"  # another number in bfloat16
    for types in (whole, fewer):
        old, new = gradients(COMPUTED, *whole), gradients(stopped, *types)
        now = f"result['w2'] is now constant {number}"
        assert (now in happened(hlodiff.diff(old, new))) == is_exact
        back = hlodiff.diff(new, old)
        assert (f"result['w2'] is no longer constant {number}" in happened(back)) == is_exact
        programs = (ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new)),)
        (view,) = build_view(Report("diff", "a", "b", programs)).functions
        assert (now in view.sentence) == is_exact


@pytest.mark.parametrize("size", [8, 4])
def test_arguments_whose_results_only_have_other_numbers_are_not_listed(size: int) -> None:
    """A layer more puts its results before others: what is donated to them is donated to the same results as before."""

    def stepped(paths: tuple[str, ...], size: int) -> hlodiff.Module:
        opcodes = {"first": "sine", "second": "cosine", "third": "tanh", "last": "log"}
        types = [f"f32[{size if path == 'first' else 8}]" for path in paths]
        rows = [
            f'  %{path} = {one} parameter({n}), metadata={{op_name="{path}"}}'
            for n, (path, one) in enumerate(zip(paths, types, strict=True))
        ]
        rows += [f"  %of_{path} = {one} {opcodes[path]}(%{path})" for path, one in zip(paths, types, strict=True)]
        root = ", ".join(f"%of_{path}" for path in paths)
        rows.append(f"  ROOT %all = ({', '.join(types)}) tuple({root})")
        aliases = ", ".join(f"{{{n}}}: ({n}, {{}}, may-alias)" for n in range(len(paths)))
        header = f"HloModule m, input_output_alias={{ {aliases} }}"
        return hlodiff.read_text("\n".join([header, "", "ENTRY %e {", *rows, "}", ""]))

    found = hlodiff.diff(stepped(("first", "third", "last"), 8), stepped(("first", "second", "third", "last"), size))
    text = to_terminal(Report("check", "a", "b", (ProgramComparison("f", "cpu", "compiled", "changed", found),)))
    assert "1 new argument: second" in text
    assert ("4 results instead of 3" in text) == (size == 8)
    assert "donated to" not in text
    assert sum(edit.count for edit in found.edits if edit.fields == ("alias",)) >= 2, "the script has them"


def test_a_donation_that_no_output_uses_is_named() -> None:
    old = program(DONATED, ", input_output_alias={ {}: (0, {}, may-alias) }")
    new = program(DONATED, ", buffer_donor={ (0, {}) }")
    assert said(old, new) == ["1 argument is still donated, but no output uses the memory now: cache['keys']"]


def test_a_donated_argument_that_another_output_uses_is_not_one_that_none_uses() -> None:
    both = DONATED.replace("ROOT %r", "%s")
    both += "\nROOT %r = (f32[8], f32[8]) tuple(%s, %s)"
    old = program(both, ", input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }")
    new = program(both, ", buffer_donor={ (0, {}) }, input_output_alias={ {0}: (1, {}, may-alias) }")
    assert said(old, new) == ["1 argument is still donated, but no output uses the memory now: cache['keys']"]


BRANCHES = """HloModule m

%same {{
  ROOT %p.0 = f32[8]{{0}} parameter(0)
}}

%other {{
  %p.1 = f32[8]{{0}} parameter(0)
  ROOT %n.2 = f32[8]{{0}} negate(%p.1)
}}

ENTRY %e {{
  %p.3 = s32[] parameter(0)
  %p.4 = f32[8]{{0}} parameter(1)
  ROOT %c.5 = f32[8]{{0}} conditional(%p.3, %p.4, %p.4), branch_computations={{{}}}
}}
"""


def test_branches_in_another_order_are_said() -> None:
    old, new = (hlodiff.read_text(BRANCHES.format(order)) for order in ("%same, %other", "%other, %same"))
    assert "; the branches of 1 conditional are in another order" in verdict(hlodiff.diff(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (loop(turns=12), loop(turns=24), "a loop turns 24 times instead of 12"),
        (loop(turns=12), loop(turns=1), "a loop turns 1 time instead of 12"),
        (loop(turns=12), open_loop(), "how often a loop turns is no longer known (was 12 times)"),
        (open_loop(), loop(turns=12), "how often a loop turns is known now (12 times)"),
        (loop(turns=12), loop(inside=2, turns=12), ""),
        (loop(turns=12), copies(12), ""),
        (open_loop(), open_loop(inside=2), ""),
    ],
)
def test_a_loop_that_turns_more_or_less_often_is_told_so(old: str, new: str, words: str) -> None:
    assert said(*(hlodiff.read_text(text) for text in (old, new))) == ([words] if words else [])


def within(tolerance: float, turns: int) -> str:
    """A loop that turns so often, within one that data ends."""
    inner, _, entry = loop(turns=turns, inside=0, outside=0).partition("ENTRY")
    body = entry.partition("{\n")[2].partition("  ROOT")[0]
    return (
        f"{inner}%step (p: f32[8]) -> f32[8] {{\n{body}  ROOT %last = f32[8]{{0}} negate(%o)\n}}\n\n"
        "%far (q: f32[8]) -> pred[] {\n  %q = f32[8]{0} parameter(0)\n  %first = f32[1]{0} slice(%q), slice={[0:1]}\n"
        f"  %error = f32[] bitcast(%first)\n  %e = f32[] constant({tolerance})\n"
        "  ROOT %more = pred[] compare(%error, %e), direction=GT\n}\n\n"
        "ENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n"
        "  ROOT %solve = f32[8]{0} while(%x), condition=%far, body=%step\n}\n"
    )


def test_a_loop_within_one_that_data_ends_at_another_tolerance_turns_less_often() -> None:
    old, new = (hlodiff.read_text(within(*one)) for one in ((0.5, 7), (0.25, 2)))
    assert said(old, new) == ["a loop turns 2 times instead of 7"]
    assert said(old, hlodiff.read_text(within(0.25, 7))) == []


def test_other_loops_are_said_by_how_often_they_turn() -> None:
    old, new = (hlodiff.read_text(text) for text in (within(0.5, 7), loop(turns=5)))
    assert "1 loop added (5 turns), 1 gone (of unknown length, inner ones not counted)" in said(old, new)
    assert "1 loop added (of unknown length, inner ones not counted), 1 gone (5 turns)" in said(new, old)


def test_a_loop_that_is_not_matched_with_what_it_was_turns_more_often_too() -> None:
    old, new = (hlodiff.read_text(loop(turns=turns)) for turns in (6, 13))
    whiles = [
        Site(n, k, body.name, it.name, it.opcode, f"%{it.name} = s32[] while(%x)")
        for module in (old, new)
        for n, body in enumerate(module.computations)
        for k, it in enumerate(body.instructions)
        if it.opcode == "while"
    ]
    assert len(whiles) == 2
    found = hlodiff.diff(old, new)
    apart = Edit("removed", (), 1, ((whiles[0], None),)), Edit("added", (), 1, ((None, whiles[1]),))
    assert "a loop turns 13 times instead of 6" in happened(replace(found, edits=(*found.edits, *apart)))
    assert "a loop turns" not in " ".join(happened(replace(found, edits=(*found.edits, apart[1]))))


@pytest.mark.parametrize("written", ["algorithm=rng_{}", "algorithm=dot_{}"])
def test_the_algorithm_of_random_numbers_is_no_precision(written: str) -> None:
    """That of a product is."""
    is_random = "rng" in written
    row = "(u64[2]{0}, u32[8]{0}) rng-bit-generator(%k)" if is_random else "f32[] dot(%x, %x), lhs_contracting_dims={0}"
    body = f"%k = u64[2]{{0}} parameter(0)\n%x = f32[8]{{0}} parameter(1)\nROOT %r = {row}, {written}"
    old, new = (program(body.replace("{}", name)) for name in ("default", "philox"))
    found = hlodiff.diff(old, new)
    assert [edit.fields for edit in found.edits] == [("attribute:algorithm",) if is_random else ("precision",)]
    classes = ProgramComparison("f", "cpu", "compiled", "changed", found).classes
    assert classes == (("structure",) if is_random else ("numerics",)) and found.replay().complete


def test_no_sentence_is_missed_where_a_diff_holds_nothing_that_it_is_about() -> None:
    guarded = [one for one in vars(sentences).values() if hasattr(one, "__wrapped__")]
    assert len(guarded) > 8
    for case in cases():
        found = hlodiff.diff(*(hlodiff.read_text(text, trusted=True) for text in (case.old, case.new)))
        for write in guarded:
            given = {"packages": ()} if "packages" in signature(write).parameters else {}
            assert list(write(found, **given)) == list(write.__wrapped__(found, **given)), (case.name, write.__name__)


RESHARDED = """module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @empty_mesh = <[]>
  sdy.mesh @NAME = <[SIZES]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@NAME, [{"data"}, {}]>},
      %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@NAME, [{OTHER}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
"""


def resharded(name: str, sizes: str, other: str = "") -> hlodiff.Module:
    return hlodiff.read_text(RESHARDED.replace("NAME", name).replace("SIZES", sizes).replace("OTHER", other))


def test_what_is_split_over_the_same_axes_follows_from_the_mesh() -> None:
    old = resharded("mesh_data2_model2", '"data"=2, "model"=2')
    found = hlodiff.diff(old, resharded("mesh_data4_model1", '"data"=4, "model"=1'))
    assert [edit.fields for edit in found.edits if edit.cause is None] == [("attribute:sdy.mesh @mesh_data4_model1",)]
    assert classes_of(found) == ("interface", "placement")
    assert found.replay().complete
    other = hlodiff.diff(old, resharded("mesh_data4_model1", '"data"=4, "model"=1', '"model"'))
    assert ("sharding",) in [edit.fields for edit in other.edits if edit.cause is None], "and one over another axis"


def test_a_mesh_of_other_sizes_is_what_happened() -> None:
    old, new = (resharded("mesh", f'"data"={data}, "model"={model}') for data, model in ((2, 2), (4, 1)))
    assert said(old, new) == ["the mesh is data=4, model=1 instead of data=2, model=2"]
    assert said(old, resharded("grid", '"data"=2, "model"=2')) == []


def test_arguments_that_follow_from_another_mesh_are_not_said_to_be_sharded_differently() -> None:
    old, new = resharded("mesh_a", '"data"=2, "model"=2'), resharded("mesh_b", '"model"=2, "data"=2')
    assert said(old, new) == ["the mesh is model=2, data=2 instead of data=2, model=2"]
    new = resharded("mesh_b", '"model"=2, "data"=2', '"model"')
    assert said(old, new)[1:] == ["1 argument is sharded differently (replicated -> P('model', None))"]


RETURNED = """module @m {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{ARGUMENT}, {}]>})
      -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{FIRST}, {}]>},
      tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {SECOND}]>}) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x8xf32>
    return %0, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
"""


def returned(first: str, second: str, argument: str = "") -> hlodiff.Module:
    text = RETURNED.replace("FIRST", first).replace("SECOND", second).replace("ARGUMENT", argument)
    return hlodiff.read_text(text)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (("", ""), ["2 results are sharded differently (now replicated)"]),
        (("", '"model"'), ["1 result is sharded differently (P('data', None) -> replicated)"]),
        (('"model"', '"data"'), ["2 results are sharded differently"]),
        (('"data"', '"model"', '"data"'), ["1 argument is sharded differently (replicated -> P('data', None))"]),
    ],
)
def test_results_that_are_sharded_differently_are_counted(new: tuple[str, ...], expected: list[str]) -> None:
    found = hlodiff.diff(returned('"data"', '"model"'), returned(*new))
    assert happened(found) == expected
    shown = to_terminal(Report("diff", "a", "b", (ProgramComparison("f", "cpu-4", "stablehlo", "changed", found),)))
    assert "changed return" not in shown


def test_a_result_that_is_sharded_as_its_argument_is_now_is_no_second_sentence() -> None:
    old, new = returned('"data"', '"model"', '"data"'), returned('"model"', '"model"', '"model"')
    assert said(old, new) == ["1 argument is sharded differently (P('data', None) -> P('model', None))"]


LOOP = """HloModule m

%body {
  %c = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %one = s32[] constant(1)
  %n = s32[] add(%i, %one)
  %x = f32[8]{0} get-tuple-element(%c), index=1
  %y = f32[8]{0} sine(%x)
  ROOT %t = (s32[], f32[8]{0}) tuple(%n, %y)
}

%condition {
  %c = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %limit = s32[] constant(5)
  ROOT %p = pred[] compare(%i, %limit), direction=LT
}

ENTRY %e {
  %x = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %t = (s32[], f32[8]{0}) tuple(%zero, %x)
  %w = (s32[], f32[8]{0}) while(%t), condition=%condition, body=%body
  %y = f32[8]{0} get-tuple-element(%w), index=1
  ROOT %r = f32[8]{0} copy(%y)
}
"""


def test_what_was_taken_into_a_loop_runs_as_often_as_it_turns() -> None:
    outside = hlodiff.read_text(
        LOOP.replace("copy(%y)", "copy(%s)").replace("ROOT %r", "%s = f32[8]{0} cosine(%y)\n  ROOT %r")
    )
    text = LOOP.replace("sine(%x)", "sine(%s)").replace(
        "  %y = f32[8]{0} sine", "  %s = f32[8]{0} cosine(%x)\n  %y = f32[8]{0} sine"
    )
    assert said(outside, hlodiff.read_text(text)) == ["1 cosine runs 5 times per call instead of 1"]
    assert said(hlodiff.read_text(text), outside) == ["1 cosine runs 1 time per call instead of 5"]
    # How often a loop turns that nothing counts, nobody knows; and another operation is another operation.
    unknown = text.replace("constant(5)", "get-tuple-element(%c), index=0")
    assert not any("per call" in words for words in said(outside, hlodiff.read_text(unknown)))
    assert not said(outside, hlodiff.read_text(text.replace("cosine", "tanh")))


def test_operations_in_another_order_are_neither_new_nor_gone() -> None:
    text = """module @m {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %a = stablehlo.tanh %x : tensor<8xf32>
    %b = stablehlo.sine %a : tensor<8xf32>
    return %b : tensor<8xf32>
  }
}
"""
    turned = text.replace("sine", "exponential").replace("tanh", "sine").replace("exponential", "tanh")
    old, new = hlodiff.read_text(text), hlodiff.read_text(turned)
    assert said(old, new) == ["the same operations are connected differently"]
    assert not said(old, hlodiff.read_text(turned.replace("stablehlo.tanh", "stablehlo.abs")))
    more = turned.replace("    return %b", "    %c = stablehlo.abs %b : tensor<8xf32>\n    return %c")
    assert not said(old, hlodiff.read_text(more))


def test_what_happened_is_worked_out_once_for_each_program(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counting(name: str) -> Callable[..., Iterator[str]]:
        real: Callable[..., Iterator[str]] = getattr(sentences, name)

        def counted(*them: object) -> Iterator[str]:
            asked.append(name)
            return real(*them)

        return counted

    names = ("what_happened", "format_unrolled", "moved_work", "constraint_counts", "other_element_types")
    for name in names:
        monkeypatch.setattr(sentences, name, counting(name))
    old = program(DONATED, ", input_output_alias={ {}: (0, {}, may-alias) }")
    programs = [
        ProgramComparison(f"f{n}", "cpu", "compiled", "changed", hlodiff.diff(old, program(DONATED))) for n in range(3)
    ]
    text = str(Report("check", "a", "b", tuple(programs), all=True))
    assert "no longer donated: cache['keys']" in text
    assert {name: asked.count(name) for name in names} == dict.fromkeys(names, 3)


def test_a_lookup_that_gives_nan_for_what_is_out_of_range_says_so() -> None:
    """`jnp.take` chooses NaN where indexing takes the last row; nothing else in the first line would say so."""
    table, index = jax.ShapeDtypeStruct((8, 4), jnp.float32), jax.ShapeDtypeStruct((3,), jnp.int32)

    def first(old: Callable[..., jax.Array], new: Callable[..., jax.Array]) -> str:
        sides = [hlodiff.read_text(jax.jit(one).lower(table, index).as_text()) for one in (old, new)]
        compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*sides))
        return to_terminal(Report("diff", "a", "b", (compared,)), width=300).splitlines()[0]

    def indexed(table: jax.Array, index: jax.Array) -> jax.Array:
        return table[index]

    def taken(table: jax.Array, index: jax.Array) -> jax.Array:
        return jnp.take(table, index, axis=0)

    def taken_twice(table: jax.Array, index: jax.Array) -> jax.Array:
        return jnp.take(table, index, axis=0) + jnp.take(table[::-1], index, axis=0)

    assert "; 1 more select that gives NaN" in first(indexed, taken)
    assert "; 2 selects fewer that give NaN" in first(taken_twice, indexed)
    assert "NaN" not in first(indexed, lambda table, index: jnp.where(index[:, None] > 2, table[index], 0.0))
