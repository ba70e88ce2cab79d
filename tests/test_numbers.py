"""Every number of docs/numbers.md against a second way to get it, on all example programs.

`hlo_count` and `stablehlo_count` read the programs with XLA's and MLIR's parsers, run their control flow and count
again, without hlodiff. Where data decides how often a loop turns, they turn it a few times, and what hlodiff says of
one turn has to add up to what they saw. XLA's own analysis has the last word where it counts the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import yaml

from hlodiff.differ import (
    ExecutedCount,
    count,
    executed,
    executed_table,
    flat_facts,
    metrics_of,
    raw_metrics,
    static_costs,
)
from hlodiff.hlo import Module, read_text
from tests import hlo_count, stablehlo_count
from tests.hlo_count import Body, Op, Program
from tests.xla_costs import single_costs

ROOT = Path(__file__).resolve().parent.parent
COMPILED = sorted([*ROOT.glob("snapshots/*/*/compiled.hlo"), *ROOT.glob("tests/fixtures/collectives/*.hlo")])
STABLEHLO = sorted(ROOT.glob("snapshots/*/*/stablehlo.mlir"))
# Kinds and loops are of how hlodiff looks at the call graph; `async` is a spelling. Each has a test of its own.
_NOT_HERE = re.compile(r"ops\..*|.*_in_loops|async_collectives")
_TURNS = ((0, 0), (3, 0), (5, 1))  # of loops that only data can end, and which branch data chooses


def name(path: Path) -> str:
    return "-".join(path.relative_to(ROOT).parts[1:-1]) if "snapshots" in path.parts else path.stem


def static_numbers(module: Module) -> dict[str, float]:
    counted = count(module)
    return {
        **metrics_of(counted),
        **static_costs(module),
        **{f"op.{opcode}": number for opcode, number in counted.ops.items()},
    }


def differences(ours: Mapping[str, float], theirs: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    names = [one for one in sorted({*ours, *theirs}) if not _NOT_HERE.fullmatch(one)]
    return {one: (ours.get(one, 0), theirs.get(one, 0)) for one in names if ours.get(one, 0) != theirs.get(one, 0)}


def assert_run(
    ours: Mapping[str, ExecutedCount], theirs: Mapping[str, float], ran: hlo_count.Run | stablehlo_count.Run
) -> None:
    """Whether the numbers of a run are within what we say of every run, and equal where we say it exactly."""
    for metric, number in ours.items():
        if _NOT_HERE.fullmatch(metric):
            continue
        least, most = number.least, number.most
        assert most is not None
        for loop, low, high in number.per_turn:
            assert high is not None
            least, most = least + low * ran.forced[loop.name], most + high * ran.forced[loop.name]
        assert least <= theirs[metric] <= most, metric
        assert ran.guessed or number.exact == theirs[metric], metric


@pytest.mark.parametrize("path", COMPILED, ids=name)
def test_static_numbers_of_compiled_programs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    program = hlo_count.parse(text)
    counted = hlo_count.in_text(program)
    assert not differences(static_numbers(read_text(text)), hlo_count.numbers(program, counted))


@pytest.mark.parametrize("path", COMPILED, ids=name)
def test_executed_numbers_of_compiled_programs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    program, ours = hlo_count.parse(text), executed(read_text(text))
    for turns, branch in _TURNS:
        ran = hlo_count.run(program, turns, branch)
        theirs = hlo_count.numbers(program, ran)
        assert_run(ours, theirs, ran)
        assert {metric for metric in theirs if theirs[metric] and metric.startswith(("coll", "cust"))} <= set(ours)


@pytest.mark.parametrize("path", COMPILED, ids=name)
def test_trip_counts_that_xla_states_are_those_of_a_run(path: Path) -> None:
    program = hlo_count.parse(path.read_text(encoding="utf-8"))
    ran = hlo_count.run(program)
    for body in program.bodies.values():
        for op in body.ops:
            stated = re.search(r'"known_trip_count":\{"n":"(\d+)"', op.config)
            if stated and not ran.guessed:
                assert ran.bodies[op.called[0]] % int(stated[1]) == 0, op.name


@pytest.mark.parametrize("path", STABLEHLO, ids=name)
def test_numbers_of_stablehlo(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    program, module = stablehlo_count.parse(text), read_text(text)
    ours = {one: number for one, number in static_numbers(module).items() if one != "instructions"}
    assert not differences(ours, stablehlo_count.numbers(stablehlo_count.in_text(program)))
    assert raw_metrics(module) == {"functions": len(program)}
    for turns, branch in _TURNS:
        ran = stablehlo_count.run(program, turns, branch)
        theirs = stablehlo_count.numbers(ran)
        assert_run(executed(module), theirs, ran)


# What StableHLO's reference interpreter computes within a second; the others take up to 5 s, attention 13.
_QUICK = ("called_on_host", "equinox_train_step", "ode_solve", "recurrence", "stack_scanned")
_COMPUTED = [path for path in STABLEHLO if stablehlo_count.has_reference_run(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.parts[-3] in _QUICK else pytest.mark.slow)
        for path in _COMPUTED
        if path.parts[-2] == "cpu"
    ],
    ids=name,
)
def test_executed_numbers_of_stablehlo_where_everything_is_computed(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    theirs = stablehlo_count.numbers(stablehlo_count.reference_run(text, tmp_path))
    assert theirs["ops"]
    for metric, number in executed(read_text(text)).items():
        least, most = number.bounds
        assert least <= theirs[metric] and (most is None or theirs[metric] <= most), metric
        assert number.exact in (theirs[metric], None), metric


def test_the_reference_interpreter_computes_most_examples() -> None:
    assert len({path.parts[-3] for path in _COMPUTED}) >= 10


def _has_figures(program: Program, body: Body, op: Op) -> bool:
    """What XLA and hlodiff count alike: no asynchronous pairs, which XLA counts twice, and no custom calls."""
    in_memory = body.name not in program.not_stored and hlo_count.is_launched(op)
    return _is_arithmetic(op) or (in_memory and not op.opcode.endswith("-start") and op.opcode != "custom-call")


def _is_arithmetic(op: Op) -> bool:
    is_elementwise = op.opcode in hlo_count.ELEMENTWISE and op.type.kind != "pred"  # XLA counts logic too
    return is_elementwise or op.opcode in ("dot", "convolution")


@pytest.mark.parametrize("path", COMPILED, ids=name)
def test_flops_and_bytes_of_single_instructions_are_those_of_xla(path: Path) -> None:
    checked = 0
    for program, body, op, xla in single_costs(path.read_text(encoding="utf-8"), _has_figures):
        if _is_arithmetic(op):
            checked += 1
            assert hlo_count.flops(body, op) == xla.get("flops", 0) + xla.get("transcendentals", 0), op.name
        if body.name in program.not_stored or not hlo_count.is_launched(op):
            continue
        ours, theirs = sum(hlo_count.traffic(program, body, op)), xla["bytes accessed"]
        inside = {one.opcode for one in hlo_count.everything_in(program, op)}
        checked += 1
        # A TPU casts the float32 that it slices; XLA counts it as bfloat16.
        theirs *= 2 if hlo_count.casts_a_slice(program, op) else 1
        if op.opcode == "dynamic-update-slice":
            assert 0 <= ours - theirs <= 16, f"{op.name}: XLA reads one index of several"
        elif list(hlo_count.keeps(op)):
            assert ours < theirs, f"{op.name}: XLA counts what a step of a collective hands through"
        elif inside & {"slice", "gather", "fusion"} or (op.plain == "fusion" and "dynamic-slice" in inside):
            # XLA reads all of what a fusion gathers or slices at a constant place, or slices after a transposition or
            # cast, and twice what two in it read.
            assert ours <= theirs + 16, f"{op.name}: nor does it read indices of a fusion in a fusion"
        else:
            assert ours == theirs, op.name
    assert checked or "pallas" in str(path)


_OF_BITS = {"and", "count-leading-zeros", "not", "or", "popcnt", "shift-left", "shift-right-arithmetic",
            "shift-right-logical", "xor"}  # fmt: skip
_OF_TWO = {"add", "and", "atan2", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder", "shift-left",
           "shift-right-arithmetic", "shift-right-logical", "subtract", "xor"}  # fmt: skip


def test_every_elementwise_operation_counts_as_for_xla() -> None:
    lines = []
    for number, opcode in enumerate(sorted(hlo_count.ELEMENTWISE)):
        kind, x = ("s32", "%n") if opcode in _OF_BITS else ("f32", "%x")
        operands = "%s, %x, %s" if opcode == "clamp" else f"{x}, {x}" if opcode in _OF_TWO else x
        lines.append(f"  %r{number} = {kind}[7]{{0}} {opcode}({operands})\n")
    given = "  %x = f32[7]{0} parameter(0)\n  %n = s32[7]{0} parameter(1)\n  %s = f32[] parameter(2)\n"
    text = f"HloModule m\n\nENTRY %e {{\n{given}{''.join(lines)}  ROOT %r = f32[7]{{0}} negate(%x)\n}}\n"
    found = {op.opcode: xla for _, _, op, xla in single_costs(text, lambda _, __, op: _is_arithmetic(op))}
    assert found.keys() == hlo_count.ELEMENTWISE
    assert {xla.get("flops", 0) + xla.get("transcendentals", 0) for xla in found.values()} == {7}
    assert static_costs(read_text(text))["flops"] == 7 * (len(lines) + 1)


@pytest.mark.parametrize("path", [path for path in COMPILED if "snapshots" in path.parts], ids=name)
def test_memory_is_that_of_arguments_and_results(path: Path) -> None:
    """Arguments are what XLA says they are, on TPUs padded to tiles; results too, and a tuple of them has pointers."""
    program = hlo_count.parse(path.read_text(encoding="utf-8"))
    entry = program.bodies[program.entry]
    root = entry.ops[entry.root].type
    summary = yaml.safe_load((path.parent / "summary.yaml").read_text(encoding="utf-8"))
    memory = summary["memory"]
    on_tpu = path.parts[-2].startswith("tpu")

    def size(one: hlo_count.Type) -> int:
        return -(-one.padded_bytes // 512) * 512 if on_tpu else one.bytes

    given = sum(size(entry.ops[place].type) for place in entry.parameters().values())
    assert memory["argument"] + memory["host_argument"] == given
    pointers = 0 if not root.parts else 512 if on_tpu else 8 * len(root.parts)
    results = memory["output"] + memory["host_output"]
    assert results - sum(size(leaf) for leaf in root.leaves) in (0, pointers)
    assert memory["alias"] <= memory["output"]
    assert memory.get("peak", memory["temp"]) >= memory["temp"]


def test_a_peak_without_temporary_memory_is_not_shown() -> None:
    """XLA's peak for CPUs is what arguments and results take: it says nothing where there is temporary memory."""
    shown = {}
    for path in (ROOT / "snapshots").rglob("summary.yaml"):
        summary = yaml.safe_load(path.read_text(encoding="utf-8"))
        memory = summary["memory"]
        if "peak" in memory and memory["temp"] > 64:
            shown[path.parent.name.partition("-")[0], "memory.peak" in flat_facts(summary)] = memory
    assert set(shown) == {("cpu", False), ("cuda", True), ("tpu", True)}


def test_summaries_have_the_numbers_of_their_programs() -> None:
    """What is written is what the stored programs say; `tests/test_store.py` has what only the raw program says."""
    for path in [path for path in (*COMPILED, *STABLEHLO) if "snapshots" in path.parts]:
        summary = yaml.safe_load((path.parent / "summary.yaml").read_text(encoding="utf-8"))
        module = read_text(path.read_text(encoding="utf-8"))
        stage = module.stage
        assert summary.get("executed", {}).get(stage, {}) == executed_table(module), path
        ours = metrics_of(count(module))
        written = {one: n for one, n in summary["metrics"][stage].items() if one in ours}
        assert written == {one: ours[one] for one in written}, path


_OF_ELEMENTS = """HloModule m

plus {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

most {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}

puts {
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}

ENTRY e {
  x = f32[3,12]{1,0} parameter(0)
  c = c64[3,12]{1,0} parameter(1)
  t = f32[3,8,12]{2,1,0} parameter(2)
  a = f32[3,7,7]{2,1,0} parameter(3)
  b = f32[3,7,2]{2,1,0} parameter(4)
  i = s32[4,1]{1,0} parameter(5)
  u = f32[4,12]{1,0} parameter(6)
  v = f32[3,4]{1,0} parameter(7)
  z = f32[] parameter(8)
  scatter.1 = f32[3,12]{1,0} scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=plus
  scatter.2 = f32[3,12]{1,0} scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=puts
  sort.1 = f32[3,12]{1,0} sort(x), dimensions={1}, to_apply=most
  fft.1 = c64[3,12]{1,0} fft(c), fft_type=FFT, fft_length={12}
  fft.2 = c64[3,8,7]{2,1,0} fft(t), fft_type=RFFT, fft_length={8,12}
  cholesky.1 = f32[3,7,7]{2,1,0} cholesky(a), lower=true
  solve.1 = f32[3,7,2]{2,1,0} triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
  map.1 = f32[3,12]{1,0} map(x, x), dimensions={0,1}, to_apply=plus
  window.1 = f32[2,6]{1,0} reduce-window(x, z), window={size=2x3 stride=1x2 pad=0_0x1_0}, to_apply=plus
  window.2 = f32[3,12]{1,0} reduce-window(x, z), window={size=1x12 pad=0_0x11_0}, to_apply=plus
  selected.1 = f32[3,12]{1,0} select-and-scatter(x, v, z), window={size=1x3 stride=1x3}, select=most, scatter=plus
  ROOT r = (f32[3,12]{1,0}) tuple(x)
}
"""  # noqa: E501


def test_what_is_applied_to_elements_counts_as_for_xla() -> None:
    checked = {}
    for _, _, op, xla in single_costs(_OF_ELEMENTS, lambda _, body, op: body.name == "e" and bool(op.operands)):
        if op.name != "r":
            lines = [line for line in _OF_ELEMENTS.splitlines(keepends=True) if line.startswith(f"  {op.name} ")]
            body, _, entry = _OF_ELEMENTS.partition("ENTRY e {\n")
            parameters = [line for line in entry.splitlines(keepends=True) if "parameter(" in line]
            ours = static_costs(read_text("".join([body, "ENTRY e {\n", *parameters, "  ROOT", *lines, "}\n"])))
            checked[op.name] = ours.get("flops", 0)
            assert ours.get("flops", 0) == xla.get("flops", 0), op.name
            assert ours["bytes_accessed"] == xla["bytes accessed"], op.name
    assert len(checked) == 11
    assert {name for name, flops in checked.items() if not flops} == {"scatter.2"}  # it stores and adds nothing


_OF_STABLEHLO = [
    (lambda x: x.at[jnp.arange(2)].add(jnp.ones((2, 12))), 24 + 2),  # indices from the end
    (lambda x: jnp.sort(x), 36 * 6),
    (lambda x: jnp.fft.fft(x.astype(jnp.complex64)), 8 * 3 * 36),
    (lambda x: jax.lax.linalg.cholesky(x[:, :3], symmetrize_input=False), 9 + 9),  # and the upper triangle is masked
    (lambda x: jax.lax.linalg.triangular_solve(x[:, :3], x, left_side=True), 2 * 3 * 36),
    (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 3), (1, 2), ((0, 0), (1, 0))), 5 * 12),
    (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 23), (1, 1), ((0, 0), (11, 11))), 3 * 11),
    (jax.grad(lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3), (1, 3), "VALID").sum()), 36),
]


@pytest.mark.parametrize(("function", "flops"), _OF_STABLEHLO)
def test_what_stablehlo_applies_to_elements_counts_too(function: Callable[[jax.Array], jax.Array], flops: int) -> None:
    text = jax.jit(function).trace(jnp.ones((3, 12))).lower(lowering_platforms=("tpu",)).as_text()
    assert static_costs(read_text(text))["flops"] == flops
