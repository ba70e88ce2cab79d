"""`hlodiff inspect variants`: whose an instruction is, what crosses a border, and what nested `jit` really does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff import registry
from hlodiff.capture import Executable, VariantRun, VariantsResult
from hlodiff.errors import ConfigError, RegistryError
from hlodiff.hlo import Frame, read_text
from hlodiff.inspect import variants_json, variants_markdown, variants_text
from hlodiff.inspect.variants import (
    Calls,
    Comparison,
    Kernel,
    Variant,
    inner_calls,
    kernels,
    over_limits,
    part_of,
    variant_limits,
)
from tests.typed import typed as run

# What XLA makes of `sin(f(f(x)))` with `f = x -> tanh(x) * 2` where `f` is jitted too: the first call of `f` has
# become one kernel with `sin`, the matmul of the second stands alone.
PROGRAM = """HloModule jit_g, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

FileNames
1 "/srv/project/model.py"
2 "/venv/lib/python3.11/site-packages/jax/_src/pjit.py"

FunctionNames
1 "Model.f"
2 "g"
3 "wrapper"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=4 end_column=20}
2 {file_name_id=1 function_name_id=2 line=6 end_line=6 column=4 end_column=20}
3 {file_name_id=1 function_name_id=2 line=7 end_line=7 column=4 end_column=20}
4 {file_name_id=2 function_name_id=3 line=99 end_line=99 column=4 end_column=20}

StackFrames
1 {file_location_id=2 parent_frame_id=1}
2 {file_location_id=3 parent_frame_id=1}
3 {file_location_id=4 parent_frame_id=2}
4 {file_location_id=1 parent_frame_id=4}
5 {file_location_id=1 parent_frame_id=3}

%fused_computation (param_0.1: f32[8]) -> f32[8] {
  %param_0.1 = f32[8]{0} parameter(0)
  %two = f32[] constant(2)
  %twos = f32[8]{0} broadcast(%two), dimensions={}
  %tanh.3 = f32[8]{0} tanh(%param_0.1), metadata={op_name="jit(g)/jit(f)/tanh" stack_frame_id=4}
  %multiply.7 = f32[8]{0} multiply(%tanh.3, %twos), metadata={op_name="jit(g)/jit(f)/mul" stack_frame_id=4}
  ROOT %sine.1 = f32[8]{0} sine(%multiply.7), metadata={op_name="jit(g)/sin" stack_frame_id=1}
}

ENTRY %main.9 (x.1: f32[8]) -> f32[8] {
  %x.1 = f32[8]{0} parameter(0), metadata={op_name="x"}
  %loop_fusion = f32[8]{0} fusion(%x.1), kind=kLoop, calls=%fused_computation
  ROOT %cosine = f32[8]{0} cosine(%loop_fusion), metadata={op_name="jit(g)/jit(f)/cos" stack_frame_id=5}
}
"""
STABLEHLO = """module @jit_g {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


def test_kernels_say_whose_operations_they_hold() -> None:
    module = read_text(PROGRAM)
    assert kernels(module, [("f", "model.py")], "/srv/project") == (
        Kernel(("f at model.py:6", ""), ("tanh", "multiply", "sine")),
        Kernel(("f at model.py:7",), ("cosine",)),
    )
    assert [kernel.crosses for kernel in kernels(module, [("f", "model.py")], "/srv/project")] == [True, False]


def test_a_function_of_the_same_name_elsewhere_is_another() -> None:
    module = read_text(PROGRAM)
    assert {part for kernel in kernels(module, [("f", "other.py")], "/srv/project") for part in kernel.parts} == {""}


def test_the_line_that_called_is_the_users() -> None:
    stack = [Frame("m.py", 3, "f"), Frame("/x/site-packages/jax/a.py", 9, "wrapped"), Frame("m.py", 12, "g")]
    assert part_of(stack, [("f", "m.py")]) == "f at m.py:12"
    assert part_of(stack[:1], [("f", "m.py")]) == "f"
    assert part_of(stack[1:], [("f", "m.py")]) == ""


def test_calls_of_inner_functions_are_counted() -> None:
    assert inner_calls(read_text(STABLEHLO), read_text(PROGRAM)) == Calls(("f",), 2, 0)


NONE = Variant("none", executables=3, eager=3, launches=5, stablehlo=9, instructions=9, bytes_accessed=64.0, flops=40.0)
OUTER = Variant(
    "outer", executables=1, launches=1, stablehlo=6, instructions=8, fusions=1, bytes_accessed=16.0, flops=40.0,
    traces=1, trace=0.002, compile=0.1, first=0.15, later=0.0001,
    kernels=(Kernel(("", "f at m.py:6"), ("tanh", "sine")), Kernel(("f at m.py:7",), ("dot",))), calls=Calls((), 0, 0),
)  # fmt: skip
BOTH = Variant(
    "both", executables=1, launches=1, again=1, kernels=OUTER.kernels, calls=Calls(("f",), 2, 0), same_as="outer",
    compared_with="outer", edits=0, unknown=("XLA gives no estimate of flops for jit_g",),
)  # fmt: skip
BROKEN = Variant("inner", problem="m.py:3: TypeError: \x1b[31mno")


def test_the_report_in_a_terminal() -> None:
    assert variants_text([Comparison("g", "0.10.2", ("f",), (NONE, OUTER, BOTH, BROKEN))]) == (
        "g  cpu  jax 0.10.2\n"
        "  inner  not run: m.py:3: TypeError: \\x1b[31mno\n"
        "                            none    outer       both\n"
        "  executables        3 (3 eager)        1          1\n"
        "  launches per call            5        1          1\n"
        "  StableHLO ops                9        6          0\n"
        "  instructions                 9        8          0\n"
        "  fusions                      0        1          0\n"
        "  bytes accessed            64 B     16 B  not known\n"
        "  flops                       40       40  not known\n"
        "  traces                       0        1          0\n"
        "  trace time             0.00 ms  2.00 ms    0.00 ms\n"
        "  compile time           0.00 ms   100 ms    0.00 ms\n"
        "  first call             0.00 ms   150 ms    0.00 ms\n"
        "  later call             0.00 ms  0.10 ms    0.00 ms\n"
        "\n"
        "  across the border of f\n"
        "    none: nothing is fused, 5 launches: each operation runs on its own\n"
        "    outer: fused: one kernel of 2 operations holds f at m.py:6 and the rest\n"
        "    outer: not fused: 1 kernel of f at m.py:7 alone (dot)\n"
        "    both: fused: one kernel of 2 operations holds f at m.py:6 and the rest\n"
        "    both: not fused: 1 kernel of f at m.py:7 alone (dot)\n"
        "  what nested jit does here, with jax 0.10.2\n"
        "    both: 2 calls of f in StableHLO; none is left in the compiled program: XLA inlined them\n"
        "    both: the compiled program is the same as that of outer\n"
        "  look at\n"
        "    both: a second, equal call compiled 1 executable again\n"
        "    both: XLA gives no estimate of flops for jit_g\n"
    )


def test_the_time_of_a_later_call_is_shown_with_least_and_most() -> None:
    ran = Variant("outer", executables=1, launches=1, later=0.2, least=0.1, most=0.3)
    text = variants_text([Comparison("g", "0.10.2", (), (ran,))])
    assert "least to most" in text and "100 ms to 300 ms" in text and "across the border" not in text


REPEATED = """import hlodiff, jax, jax.numpy as jnp
X = hlodiff.abstract((8,), "float32")

def unrolled(x):
    for _ in range(16):
        x = x + x
    return x

@hlodiff.variants
def repeated():
    def loop(x):
        return jax.lax.fori_loop(0, 16, lambda i, x: x + x, x)

    def unknown(x):
        return jax.lax.while_loop(lambda x: x[0] < 100, lambda x: x + x, x)

    return {each.__name__: hlodiff.Case(jax.jit(each), X) for each in (loop, unrolled, unknown)}
"""


@pytest.mark.slow
def test_flops_are_counted_as_often_as_loops_run_them(tmp_path: Path) -> None:
    """XLA estimates one turn of the loop."""
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(REPEATED)
    done = run(tmp_path, "inspect", "variants", "--format", "json", "--calls", "3")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    loop, unrolled, unknown = comparison["variants"]
    assert unrolled["flops"] == 16 * 8
    assert unrolled["flops"] <= loop["flops"] <= unrolled["flops"] + 16 * 3, "the counter and its comparison"
    assert unknown["flops"] is None
    assert unknown["unknown"][-1].startswith("flops: how often the loop at programs.py:15 turns is not known")
    assert loop["least"] <= loop["later"] <= loop["most"]


def test_eager_fusions_are_not_denied() -> None:
    text = variants_text([Comparison("g", "0.10.2", (), (replace(NONE, fusions=8),))])
    assert "5 launches: each operation runs on its own, and the 8 fusions are inside single operations" in text


def test_one_executable_that_is_launched_often_is_not_one_program() -> None:
    text = variants_text([Comparison("g", "0.10.2", ("f",), (replace(OUTER, launches=3, kernels=OUTER.kernels[1:]),))])
    assert "outer: one executable, launched 3 times: what one launch hands the next goes through memory" in text
    assert "although it is one program" not in text


def test_the_other_forms() -> None:
    comparison = Comparison("g", "0.10.2", ("f",), (NONE, OUTER, BROKEN))
    text = variants_markdown([comparison])
    assert "| launches per call | 5 | 1 |" in text
    assert "- `inner` not run: m.py\\:3\\: TypeError\\: \\\\x1b\\[31mno" in text
    (value,) = json.loads(variants_json([comparison]))["comparisons"]
    assert value["variants"][1]["kernels"][1] == {"parts": ["f at m.py:7"], "opcodes": ["dot"]}


@pytest.fixture
def nothing_registered() -> Iterator[None]:
    registry.clear()
    yield
    registry.clear()


def test_variants_are_no_functions_with_snapshots(nothing_registered: None) -> None:
    @hlodiff.variants(name="g")
    def build() -> dict[str, hlodiff.Case]:
        return {"outer": hlodiff.Case(max, 1)}

    assert [each.name for each in registry.varied()] == ["g"]
    assert registry.registrations() == ()
    with pytest.raises(RegistryError, match="cannot be the name"):
        hlodiff.variants(name="a/b")(build)
    hlodiff.variants(name="G")(build)
    with pytest.raises(RegistryError, match="differ only in upper and lower case"):
        registry.varied()


PROGRAMS = Path(__file__).parent.parent.joinpath("examples/what_to_jit.py").read_text()
BROKEN_PROGRAM = """
@hlodiff.variants
def broken():
    return {"outer": hlodiff.Case(jax.jit(lambda x: x @ x), hlodiff.abstract((3, 2), "float32")),
            "donating": hlodiff.Case(jax.jit(lambda x: x + 1, donate_argnums=0), hlodiff.abstract((3, 2), "float32"))}
"""


RAN = (
    VariantRun("none", (Executable("jit_sin", True, "", "", 5, 8.0, 1.0, 0.1),)),
    VariantRun("outer"),
    VariantRun("inner"),
)


def varied(budget: Any) -> VariantsResult:
    return VariantsResult("g", RAN, (), "0.10.2", "m.py:3", budget)


def test_what_is_over_its_budget_is_told() -> None:
    budget = {
        "none": {"launches": 1, "flops": 40},
        "outer": {"bytes_accessed": "15 B", "fusions": 1},
        "inner": {"eager": 0},
    }
    limits = variant_limits(varied(budget))
    assert list(over_limits(limits, (NONE, OUTER, BROKEN), RAN)) == [
        "none: 5 launches, at most 1 allowed: jit_sin (eager)",
        "outer: 16 B bytes_accessed, at most 15 B allowed",
    ]
    unknown = replace(NONE, flops=None)
    assert list(over_limits({"none": {"flops": 1}}, (unknown,), RAN[:1])) == ["none: flops is limited and not known"]
    text = variants_text([Comparison("g", "0.10.2", ("f",), (NONE,), ("none: \x1b",))])
    assert text.endswith("  over budget\n    none: \\x1b\n")
    assert variant_limits(varied(None)) == {}


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"outter": {"launches": 1}}, "m.py:3: budget: there is no variant `outter`\nhint: did you mean `outer`?"),
        ({"outer": {"launch": 1}}, "m.py:3: budget.outer: there is no count `launch`\nhint: did you mean `launches`?"),
        ({"outer": {"launches": "many"}}, "m.py:3: budget.outer.launches"),
        ({"outer": 1}, "m.py:3: budget.outer: must be a table, not 1"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(budget: Any, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        variant_limits(varied(budget))
    assert message in error.value.render()


HELD = """import hlodiff, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x) * 2)
g = lambda x: jnp.sin(f(x))

@hlodiff.variants(budget={"chosen": {"launches": 1}})
def held():
    return {"chosen": hlodiff.Case(g, hlodiff.abstract((8,), "float32"))}
"""


@pytest.mark.slow
def test_a_budget_is_a_gate(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(HELD)
    done = run(tmp_path, "inspect", "variants", "--calls", "1")
    assert done.returncode == 1, done.stderr
    assert (
        "  over budget\n    chosen: 2 launches, at most 1 allowed: jit" in done.stdout
        and "jit_sin (eager)" in done.stdout
    )
    (tmp_path / "programs.py").write_text(HELD.replace("Case(g", "Case(jax.jit(g)"))
    done = run(tmp_path, "inspect", "variants", "--calls", "1")
    assert (done.returncode, "over budget" in done.stdout) == (0, False), done.stderr


@pytest.mark.slow
def test_nested_jit_for_real(tmp_path: Path) -> None:
    """Launches counted by hand: `f` has three operations and is called twice, `g` has three of its own."""
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(PROGRAMS + BROKEN_PROGRAM)
    done = run(tmp_path, "inspect", "variants", "g_calls*", "--format", "json", "--calls", "3")
    assert done.returncode == 0, done.stderr
    (comparison,) = json.loads(done.stdout)["comparisons"]
    found = {variant["name"]: variant for variant in comparison["variants"]}
    assert comparison["inner"] == ["f"]
    assert {name: v["launches"] for name, v in found.items()} == {"none": 9, "inner": 5, "outer": 1, "both": 1}
    assert {name: v["executables"] for name, v in found.items()} == {"none": 6, "inner": 4, "outer": 1, "both": 1}
    assert {name: v["again"] for name, v in found.items()} == dict.fromkeys(found, 0)
    # x is read and the result is written, 1 MiB each; 21 MiB where each of nine operations does so by itself.
    assert found["outer"]["bytes_accessed"] == pytest.approx(2 * 2**20, rel=0.01)
    assert found["none"]["bytes_accessed"] > 10 * found["outer"]["bytes_accessed"]
    assert found["both"]["calls"] == {"functions": ["f"], "calls": 2, "left": 0}
    assert found["both"]["same_as"] == "outer"
    (kernel,) = found["both"]["kernels"]
    assert [part for part in kernel["parts"] if part] == ["f at programs.py:27", "f at programs.py:28"]
    assert "" in kernel["parts"]
    broken = run(tmp_path, "inspect", "variants", "broken")
    assert broken.returncode == 2
    assert "outer  not run: programs.py:" in broken.stdout and "TypeError" in broken.stdout
    assert "donating" in broken.stdout, "each call gets arguments of its own"
    nothing = run(tmp_path, "inspect", "variants", "g_cals")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "nothing matches `g_cals` in variants" in nothing.stderr
