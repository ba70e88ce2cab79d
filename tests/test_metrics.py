"""What is counted in a program, and where it says things live."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hlodiff.differ import (
    count,
    donations,
    format_memory_space,
    format_sharding,
    metrics_by_kind,
    metrics_of,
    op_counts,
    placements,
    platform_of,
    raw_metrics,
)
from hlodiff.hlo import Module, read, read_hlo, read_text
from hlodiff.normalizer import normalize

SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots"


def entry(body: str, before: str = "", header: str = "") -> Module:
    return read_hlo(f"HloModule m{header}\n{before}\nENTRY e {{\n{body}\n}}\n")


FUSIONS = """
%wrapped (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%a)
}

%real (b: f32[8]) -> f32[8] {
  %b = f32[8]{0} parameter(0)
  %x = f32[8]{0} exponential(%b)
  ROOT %y = f32[8]{0} multiply(%x, %b)
}
"""


def test_op_counts_see_through_fusions_of_one_op() -> None:
    module = entry(
        "  %p = f32[8]{0} parameter(0)\n"
        "  %w = f32[8]{0} fusion(%p), kind=kLoop, calls=%wrapped\n"
        "  ROOT %f = f32[8]{0} fusion(%w), kind=kInput, calls=%real",
        FUSIONS,
    )
    assert op_counts(module) == {"exponential": 1, "fusion": 1, "multiply": 1, "negate": 1}
    assert count(module).fusions == {"kInput": 1, "kLoop": 1}
    assert count(module).bookkeeping == {"parameter": 3}
    metrics = metrics_of(count(module))
    assert (metrics["ops.entry"], metrics["ops.fusion"], metrics["fusions"]) == (1, 3, 2)


def test_a_computation_counts_at_every_call_site() -> None:
    """Stored once or twice, called twice: the same program."""
    body = "  %p = f32[8]{0} parameter(0)\n  %w = f32[8]{{0}} fusion(%p), kind=kLoop, calls=%real\n"
    body = body.replace("{{", "{").replace("}}", "}")
    once = entry(body + "  ROOT %v = f32[8]{0} fusion(%w), kind=kLoop, calls=%real", FUSIONS)
    copy = FUSIONS.replace("%real", "%copy").replace("%wrapped", "%unused")
    twice = entry(body + "  ROOT %v = f32[8]{0} fusion(%w), kind=kLoop, calls=%copy", FUSIONS + copy)
    assert op_counts(once) == op_counts(twice) == {"exponential": 2, "fusion": 2, "multiply": 2}
    assert metrics_of(count(once)) == metrics_of(count(twice))


def test_computations_that_nothing_calls_do_not_count() -> None:
    assert op_counts(entry("  ROOT %p = f32[8]{0} parameter(0)", FUSIONS)) == {}


LOOP = """
%body (t: (s32[], f32[8])) -> (s32[], f32[8]) {
  %t = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %v = f32[8]{0} get-tuple-element(%t), index=1
  %c = f32[8]{0} copy(%v)
  %f = f32[8]{0} fusion(%c), kind=kLoop, calls=%real
  ROOT %r = (s32[], f32[8]{0}) tuple(%i, %f)
}

%condition (s: (s32[], f32[8])) -> pred[] {
  %s = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%s), index=0
  %l = s32[] constant(4)
  ROOT %lt = pred[] compare(%j, %l), direction=LT
}
"""


def test_what_lies_in_loops() -> None:
    module = entry(
        "  %z = s32[] constant(0)\n"
        "  %p = f32[8]{0} parameter(0)\n"
        "  %q = f32[8]{0} copy(%p)\n"
        "  %start = (s32[], f32[8]{0}) tuple(%z, %q)\n"
        "  ROOT %w = (s32[], f32[8]{0}) while(%start), condition=%condition, body=%body",
        FUSIONS + LOOP,
    )
    metrics = metrics_of(count(module))
    assert (metrics["loops"], metrics["copies"], metrics["copies_in_loops"], metrics["copy_bytes"]) == (1, 2, 1, 64)
    # copy, fusion and its two ops in the body; constant and compare in the condition
    assert metrics["ops_in_loops"] == 6
    assert (metrics["ops.entry"], metrics["ops.loop"], metrics["ops.fusion"]) == (3, 4, 2)


REDUCER = """
%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x, %y)
}
"""


def test_a_collective_is_one_record_whatever_its_spelling() -> None:
    plain = entry(
        "  %p = f32[8]{0} parameter(0)\n"
        "  ROOT %r = f32[8]{0} all-reduce(%p), channel_id=1, replica_groups={{0,1}}, to_apply=%sum",
        REDUCER,
    )
    started = entry(
        "  %p = f32[8]{0} parameter(0)\n"
        "  %s = f32[8]{0} all-reduce-start(%p), channel_id=1, replica_groups=[1,2]<=[2], to_apply=%sum\n"
        "  ROOT %r = f32[8]{0} all-reduce-done(%s)",
        REDUCER,
    )
    assert count(plain).collectives == {"all-reduce": {"count": 1, "async": 0, "bytes": 32}}
    assert count(started).collectives == {"all-reduce": {"count": 1, "async": 1, "bytes": 32}}
    assert op_counts(plain) == op_counts(started) == {"add": 1, "all-reduce": 1}
    changed = {k for k, v in metrics_of(count(plain)).items() if v != metrics_of(count(started))[k]}
    assert changed == {"instructions", "async_collectives"}
    assert metrics_of(count(plain))["ops.reduction"] == 1


def test_collectives_inside_async_wrappers_count_once() -> None:
    module = entry(
        "  %p = f32[8]{0} parameter(0)\n"
        "  %s = ((f32[8]{0}), f32[16]{0}, s32[]) async-start(%p), calls=%gather\n"
        "  ROOT %r = f32[16]{0} async-done(%s), calls=%gather",
        "%gather (a: f32[8]) -> f32[16] {\n  %a = f32[8]{0} parameter(0)\n"
        "  ROOT %g = f32[16]{0} all-gather(%a), dimensions={0}\n}\n",
    )
    assert count(module).collectives == {"all-gather": {"count": 1, "async": 1, "bytes": 64}}
    assert op_counts(module) == {"all-gather": 1}


def test_transfers_literals_and_custom_calls() -> None:
    module = entry(
        "  %p = f32[1024]{0:T(1024)} parameter(0)\n"
        "  %small = f32[8]{0} constant({0, 1, 2, 3, 4, 5, 6, 7})\n"
        "  %large = f32[1024]{0} constant({...})\n"
        "  %fast = f32[1024]{0:T(1024)S(1)} copy(%p)\n"
        "  %s = (f32[1024]{0:S(5)}, f32[1024]{0}, u32[]{:S(2)}) copy-start(%p)\n"
        "  %d = f32[1024]{0:S(5)} copy-done(%s)\n"
        '  %k = f32[8]{0} custom-call(%small), custom_call_target="xla_ffi_python_cpu_callback"\n'
        '  ROOT %m = f32[8]{0} custom-call(%k), custom_call_target="MoveToHost"',
    )
    metrics = metrics_of(count(module))
    assert count(module).custom_calls == {"MoveToHost": 1, "xla_ffi_python_cpu_callback": 1}
    assert (metrics["large_literals"], metrics["large_literal_bytes"]) == (1, 4096)
    assert (metrics["memory_moves"], metrics["memory_move_bytes"], metrics["copies"]) == (2, 8192, 2)
    assert (metrics["host_transfers"], metrics["host_callbacks"]) == (2, 1)


def test_what_only_raw_text_shows() -> None:
    module = entry(
        "  %p = f32[8]{0} parameter(0)\n"
        '  %n.remat2 = f32[8]{0} negate(%p), backend_config={"window_config":{"estimated_cycles":"120"}}\n'
        '  ROOT %m.remat.1 = f32[8]{0} negate(%n.remat2), backend_config={"window_config":{"estimated_cycles":30}}'
    )
    assert raw_metrics(module) == {"rematerialized": 2, "estimated_cycles": 150}
    assert raw_metrics(normalize(module)) == {"rematerialized": 0}


@pytest.mark.parametrize("depth", [1, 200])
def test_shared_calls_nest_without_end(depth: int) -> None:
    """2**200 call sites: counted, capped, and quickly."""
    levels = ["%c0 (a: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  ROOT %n = f32[] negate(%a)\n}\n"]
    for level in range(1, depth + 1):
        levels.append(
            f"%c{level} (a: f32[]) -> f32[] {{\n  %a = f32[] parameter(0)\n"
            f"  %x = f32[] call(%a), to_apply=%c{level - 1}\n  ROOT %y = f32[] call(%x), to_apply=%c{level - 1}\n}}\n"
        )
    module = entry(f"  %p = f32[] parameter(0)\n  ROOT %r = f32[] call(%p), to_apply=%c{depth}", "\n".join(levels))
    assert op_counts(module) == {"negate": min(2**depth, 10**15)}


# The fixtures before normalizing are whole programs; what is broken on purpose stands in the tests of the readers.
FIXTURES = sorted(Path(__file__).parent.glob("fixtures/**/before.*"))


def test_there_are_fixtures() -> None:
    assert FIXTURES


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.parent.name + "/" + path.name)
def test_normalizing_does_not_change_the_metrics(path: Path) -> None:
    module = read_text(path.read_text())
    raw, clean = metrics_of(count(module)), metrics_of(count(normalize(module)))
    assert {name: value for name, value in raw.items() if clean.get(name) != value} == {}


# --- placement -------------------------------------------------------------------------------------------------------


def test_memory_of_the_entry_and_not_of_fusion_insides() -> None:
    module = entry(
        "  %p = f32[8]{0:T(1024)S(5)} parameter(0)\n"
        "  %v = f32[8]{0:T(1024)S(1)} fusion(%p), kind=kLoop, calls=%real\n"
        "  ROOT %w = f32[8]{0:T(1024)} fusion(%v), kind=kLoop, calls=%real",
        FUSIONS,
    )
    assert placements(module)["memory"] == {
        "device": {"values": 1, "bytes": 32},
        "vmem": {"values": 1, "bytes": 32},
        "host": {"values": 1, "bytes": 32},
    }
    assert placements(module)["parameters"] == {0: {"memory": "host"}}


def test_ops_on_the_host() -> None:
    module = entry(
        "  %p = f32[8]{0} parameter(0)\n"
        '  %h = f32[8]{0} custom-call(%p), custom_call_target="HostExecute", called_computations={%there}\n'
        '  ROOT %n = f32[8]{0} negate(%h), frontend_attributes={_xla_compute_type="host"}',
        "%there (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n"
        '  ROOT %s = f32[8]{0} sine(%a)\n}, execution_thread="host"\n',
    )
    assert placements(module)["compute"] == {"device": 1, "host": 2}


def test_donation_of_both_stages() -> None:
    header = ", input_output_alias={ {1}: (0, {}, may-alias), {}: (2, {1}, must-alias) }, buffer_donor={ (3, {}) }"
    module = entry("  ROOT %p = f32[8]{0} parameter(0)", header=header)
    assert donations(module) == {0: "result 1", 2: "result (part 1)", 3: "any result"}
    stablehlo = read_text(
        "module {\n  func.func public @main(%a: tensor<f32> {tf.aliasing_output = 0 : i32}, %b: tensor<f32>, "
        "%c: tensor<f32> {jax.buffer_donor = true}) -> tensor<f32> {\n    return %a : tensor<f32>\n  }\n}\n"
    )
    assert donations(stablehlo) == {0: "result 0", 2: "any result"}


def test_shardings_of_arguments_and_results_in_words() -> None:
    stablehlo = read_text(
        'module {\n  sdy.mesh @mesh = <["data"=2, "model"=4]>\n'
        '  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> '
        "(tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {\n    return %a : tensor<8x8xf32>\n  }\n}\n"
    )
    table = placements(stablehlo)
    assert table["parameters"] == {0: {"sharding": 'dimension 0 over axis "data", dimension 1 over axis "model"'}}
    assert table["results"] == {0: {"sharding": "replicated"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{replicated}", "replicated"),
        ("{maximal device=3}", "on device 3 only"),
        ("{devices=[2,1]<=[2]}", "split over 2 devices on dimension 0"),
        ("{devices=[2,1]0,1}", "split over 2 devices on dimension 0"),
        ("{devices=[2,4]<=[8]}", "split over 2 devices on dimension 0 and 4 devices on dimension 1"),
        (
            "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
            "split over 2 devices on dimension 1, each part on 2 devices",
        ),
        ("{devices=[1,1,4]<=[4] last_tile_dim_replicate}", "replicated"),
        (
            "{devices=[2,1,2,3]<=[12] last_tile_dims={manual, replicated}}",
            "split over 2 devices on dimension 0, manual over 2 devices, each part on 3 devices",
        ),
        ("{{replicated}, {devices=[4]<=[4]}}", "replicated; split over 4 devices on dimension 0"),
        ('#sdy.sharding<@mesh, [{}, {"model"}]>', 'dimension 1 over axis "model"'),
        (
            '#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x", ?}, {"y":(1)2}], replicated={"z"}>',
            'dimension 0 over axis "x" (2 devices), dimension 1 over axis "y" (2 devices), replicated over axis "z"',
        ),
        ('#sdy.sharding_per_value<[<@m, [{"a"}]>, <@m, [{}]>]>', 'dimension 0 over axis "a"; replicated'),
        (None, "none"),
        ("something new", "something new"),
        ("{devices=[", "{devices=["),
        ("{devices=[2,,1]0,1}", "{devices=[2,,1]0,1}"),
    ],
)
def test_shardings_in_words(text: str | None, words: str) -> None:
    assert format_sharding(text) == words


def test_memory_spaces_are_named_by_platform() -> None:
    assert [format_memory_space(n, "tpu") for n in (0, 1, 5, 6, 9)] == [
        "device",
        "vmem",
        "host",
        "smem",
        "memory space 9",
    ]
    assert format_memory_space(1, "cuda") == "collective memory"
    assert format_memory_space(1) == "fast memory"
    assert platform_of(entry("  ROOT %p = f32[8]{0:T(1024)} parameter(0)")) == "tpu"
    assert platform_of(entry("  ROOT %p = f32[8]{0} parameter(0)")) == ""


# --- by kind of computation -----------------------------------------------------------------------------------------


def test_what_is_counted_apart_for_kinds_of_computations() -> None:
    module = read_hlo("""HloModule m

add (a: f32[], b: f32[]) -> f32[] {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

fused (p: f32[64]) -> bf16[64] {
  p = f32[64]{0} parameter(0)
  t = f32[64]{0} tanh(p)
  ROOT c = bf16[64]{0} convert(t)
}

body (q: (s32[], f32[64])) -> (s32[], f32[64]) {
  q = (s32[], f32[64]{0}) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  x = f32[64]{0} get-tuple-element(q), index=1
  k = f32[64]{0} copy(x)
  ROOT r = (s32[], f32[64]{0}) tuple(i, k)
}

cond (q: (s32[], f32[64])) -> pred[] {
  q = (s32[], f32[64]{0}) parameter(0)
  ROOT t = pred[] constant(true)
}

ENTRY main {
  x = f32[64]{0} parameter(0)
  z = s32[] constant(0)
  b = f32[64]{0:S(5)} copy(x)
  g = f32[64]{0} all-reduce(x), replica_groups={{0,1}}, to_apply=add
  f = bf16[64]{0} fusion(g), kind=kLoop, calls=fused
  u = (s32[], f32[64]{0}) tuple(z, g)
  w = (s32[], f32[64]{0}) while(u), condition=cond, body=body
  m = f32[64]{0} custom-call(x), custom_call_target="mine"
  ROOT o = (bf16[64]{0}, f32[64]{0}, f32[64]{0:S(5)}) tuple(f, m, b)
}
""")
    kinds = metrics_by_kind(count(module))
    told = {
        kind: {n: v for n, v in metrics.items() if not n.startswith(("op.", "ops"))} for kind, metrics in kinds.items()
    }
    assert told == {
        "entry": {
            "instructions": 9, "fusions": 1, "copies": 1, "copy_bytes": 256, "memory_moves": 1,
            "memory_move_bytes": 256, "loops": 1, "collectives": 1, "collective_bytes": 256, "custom_calls": 1,
            "host_transfers": 1, "fusions.kLoop": 1, "collectives.all-reduce": 1, "collective_bytes.all-reduce": 256,
            "custom_calls.mine": 1,
        },
        "fusion": {"instructions": 3, "converts": 1},
        "loop": {"instructions": 7, "copies": 1, "copies_in_loops": 1, "copy_bytes": 256},
        "reduction": {"instructions": 3},
    }  # fmt: skip
    assert kinds["fusion"]["op.convert"] == 1


@pytest.mark.parametrize("path", sorted(SNAPSHOTS.glob("**/compiled.hlo"))[::4], ids=lambda p: "/".join(p.parts[-3:-1]))
def test_kinds_together_are_the_whole(path: Path) -> None:
    counts = count(read(path))
    for name in ("instructions", "ops", "copies", "copies_in_loops", "ops_in_loops", "large_literal_bytes", "converts"):
        assert sum(part.plain[name] for part in counts.kinds.values()) == counts.plain[name]
    assert sum((part.ops for part in counts.kinds.values()), Counter()) == counts.ops
