"""Collectives of real programs, counted by hand: TPU fusions that take one in steps, and channels that mean nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hlodiff.config import FAMILIES
from hlodiff.differ import (
    ProgramComparison,
    classes_of,
    count,
    diff,
    metrics_by_kind,
    metrics_of,
    op_counts,
    placements,
)
from hlodiff.differ import count as count_all
from hlodiff.hlo import read, read_hlo
from hlodiff.report import Report, to_terminal

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(__file__).parent / "fixtures" / "collectives"
MATRIX = 2048 * 2048 * 2  # bf16

# Counted by hand. `gathers` and the loop come from `jax.shard_map`, where every collective has channel 1.
REAL = [
    (FOLDER / "gathers.tpu.hlo", {"all-gather": (3, 1, 3 * 1024 * 1024 * 2)}),
    (FOLDER / "gathers-in-and-after-a-loop.tpu.hlo", {"all-gather": (6, 4, 6 * MATRIX)}),
    (FOLDER / "tensor-parallel-gradient.tpu.hlo", {"all-gather": (2, 1, 2 * 4194304), "all-reduce": (1, 0, 16777216)}),
    (FOLDER / "shard-map.tpu.hlo",
     {"reduce-scatter": (2, 0, 2 * 524288), "all-reduce": (1, 0, 2097152), "all-gather": (1, 0, 4 * 2097152)}),
    (FOLDER / "gradient-of-sharded-weights.tpu.hlo",
     {"all-gather": (2, 1, 2 * 512 * 512 * 2), "reduce-scatter": (1, 0, 2 * 128 * 512 * 4)}),
    ("feed_forward_fsdp/tpu-v5e-2x2", {"all-gather": (2, 1, 65536), "reduce-scatter": (1, 0, 32768)}),
    ("feed_forward_fsdp/cpu-4", {"all-gather": (2, 0, 131072), "all-reduce": (1, 0, 131072)}),
    ("feed_forward_fsdp/cuda-h100-x4", {"all-gather": (1, 0, 131072), "reduce-scatter": (1, 0, 32768)}),
    ("feed_forward_sharded/tpu-v5e-2x2", {"all-reduce": (2, 0, 69632)}),
    ("feed_forward_sharded/cpu-4", {"all-reduce": (2, 0, 69632)}),
    ("feed_forward_sharded/cuda-h100-x4", {"all-reduce": (2, 0, 69632)}),
]  # fmt: skip


@pytest.mark.parametrize(("place", "wanted"), REAL, ids=[str(place).rpartition("fixtures/")[2] for place, _ in REAL])
def test_collectives_of_real_programs(place: Path | str, wanted: dict[str, tuple[int, int, int]]) -> None:
    file = place if isinstance(place, Path) else ROOT / "snapshots" / place / "compiled.hlo"
    module = read(file)
    found = {name: (one["count"], one["async"], one["bytes"]) for name, one in count(module).collectives.items()}
    assert found == wanted
    ops = op_counts(module)
    # An opcode is what XLA writes: a TPU's reduce-scatter may be an all-reduce of which a slice is kept.
    assert sum(ops.get(name, 0) for name in FAMILIES) == sum(count for count, _, _ in wanted.values())
    assert sum(placements(module)["compute"].values()) == sum(ops.values())


def test_steps_in_a_loop_are_one_collective_of_the_loop() -> None:
    counts = count_all(read(FOLDER / "gathers-in-and-after-a-loop.tpu.hlo"))
    kinds = metrics_by_kind(counts)
    assert sum(metrics.get("collectives", 0) for metrics in kinds.values()) == 6
    assert kinds["loop"]["collectives"] == 1  # the other one of the loop runs in steps, so it begins in a fusion
    assert kinds["fusion"]["collectives"] == 4


STEP = (
    "%{name} (p: f32[4]) -> f32[8] {{\n  %p = f32[4]{{0}} parameter(0)\n  {root}%g = f32[8]{{0}} all-gather(%p), "
    'channel_id=1, dimensions={{0}}, replica_groups={{{{0,1}}}}, frontend_attributes={{chain_id="{chain}"}}, '
    'backend_config={{"async_collective_fusion_config":{{"flag_start":"2","flag_end":"8"}}}}\n{rest}}}\n'
)
BEGIN = '  ROOT %b = f32[8]{0} custom-call(%g), custom_call_target="AsyncCollectiveStart"\n'


def steps(*, begun: bool) -> str:
    """Two chains of three steps each, all on channel 1; without `begun` their first steps look like the others."""
    parts, calls = [], []
    for chain in "01":
        for number in range(3):
            first = begun and number == 0
            name = f"step.{chain}.{number}"
            parts.append(
                STEP.format(name=name, chain=chain, root="" if first else "ROOT ", rest=BEGIN if first else "")
            )
            calls.append(f"  %f.{chain}.{number} = f32[8]{{0}} fusion(%p), kind=kLoop, calls=%{name}\n")
    last = "  ROOT %r = f32[8]{0} add(%f.0.2, %f.1.2)\n"
    entry = "ENTRY %main (p: f32[4]) -> f32[8] {\n  %p = f32[4]{0} parameter(0)\n" + "".join(calls) + last + "}\n"
    return "HloModule m\n\n" + "\n".join(parts) + "\n" + entry


@pytest.mark.parametrize("begun", [True, False])
def test_two_chains_on_one_channel_are_two_collectives(begun: bool) -> None:
    metrics = metrics_of(count(read_hlo(steps(begun=begun))))
    assert (metrics["collectives"], metrics["async_collectives"], metrics["collective_bytes"]) == (2, 2, 64)


def test_a_list_counts_the_steps_of_a_collective_once() -> None:
    """Two collectives, each of which a TPU takes in three steps."""
    text = steps(begun=True)
    sides = read_hlo(text), read_hlo(text.replace("f32[8]", "f32[16]").replace("f32[4]", "f32[8]"))
    found = ProgramComparison("f", "tpu-v5e-2", "compiled", "changed", diff(*sides))
    words = to_terminal(Report("diff", "a", "b", (found,), all=True))
    assert re.search(r"changed +2x all-gather", words), words


def test_collectives_that_share_a_channel_are_as_many_as_there_are() -> None:
    one = "  %{0} = f32[4]{{0}} all-reduce(%{1}), channel_id=1, replica_groups={{{{0,1}}}}, to_apply=%sum\n"
    text = (
        "HloModule m\n\n%sum (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
        "  ROOT %a = f32[] add(%x, %y)\n}\n\nENTRY %main (p: f32[4]) -> f32[4] {\n  %p = f32[4]{0} parameter(0)\n"
        + one.format("a", "p")
        + one.format("b", "a")
        + "  ROOT %n = f32[4]{0} negate(%b)\n}\n"
    )
    assert count(read_hlo(text)).collectives == {"all-reduce": {"count": 2, "async": 0, "bytes": 32}}


SYNC = [
    ("all-gather", "(f32[4]{0}, f32[8]{0})", "dimensions={0}, replica_groups={{0,1}}", 32),
    ("collective-permute", "(f32[4]{0}, f32[4]{0}, u32[], u32[])", "source_target_pairs={{0,1}}", 16),
    ("all-to-all", "((f32[4]{0}), f32[4]{0})", "dimensions={0}, replica_groups={{0,1}}", 16),
]


@pytest.mark.parametrize(("name", "shape", "attributes", "size"), SYNC)
def test_a_start_with_its_done_is_one_collective(name: str, shape: str, attributes: str, size: int) -> None:
    text = (
        f"HloModule m\n\nENTRY %main (p: f32[4]) -> f32[4] {{\n  %p = f32[4]{{0}} parameter(0)\n"
        f"  %s = {shape} {name}-start(%p), channel_id=1, {attributes}\n  ROOT %d = f32[4]{{0}} {name}-done(%s)\n}}\n"
    )
    assert count(read_hlo(text)).collectives == {name: {"count": 1, "async": 1, "bytes": size}}


SLICED = """HloModule m

%sum (x: f32[], y: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %a = f32[] add(%x, %y)
}}

%all-reduce-scatter (i: f32[8]) -> f32[{size}] {{
  %i = f32[8]{{0}} parameter(0)
  %r = f32[8]{{0}} all-reduce(%i), channel_id=1, replica_groups={{{{0,1,2,3}}}}, to_apply=%sum
  %n = u32[] {number}
  %d = f32[2]{{0}} dynamic-slice(%r, %n), dynamic_slice_sizes={{2}}
  ROOT %k = f32[{size}]{{0}} {root}
}}

ENTRY %main (p: f32[8]) -> f32[{size}] {{
  %p = f32[8]{{0}} parameter(0)
  ROOT %f = f32[{size}]{{0}} fusion(%p), kind=kCustom, calls=%all-reduce-scatter
}}
"""


@pytest.mark.parametrize(
    ("size", "number", "root", "family"),
    [
        (2, "partition-id()", "copy(%d)", "reduce-scatter"),
        (8, "partition-id()", "copy(%r)", "all-reduce"),  # all of it is kept too
        (2, "constant(0)", "copy(%d)", "all-reduce"),  # every device keeps the same part
    ],
)
def test_an_all_reduce_of_which_each_device_keeps_its_slice(size: int, number: str, root: str, family: str) -> None:
    """How XLA writes a reduce-scatter for TPUs where it partitions a program."""
    found = count(read_hlo(SLICED.format(size=size, number=number, root=root))).collectives
    assert found == {family: {"count": 1, "async": 0, "bytes": 8 if family == "reduce-scatter" else 32}}


def test_the_bytes_beside_a_collective_are_its_own() -> None:
    """Not those of what came with it."""
    old = """HloModule m, num_partitions=2

ENTRY e {
  %p = f32[1024]{0} parameter(0)
  %t = f32[1024]{0} tanh(%p)
  ROOT %r = (f32[1024]{0}) tuple(%t)
}
"""
    gathered = (
        "  %g = f32[2048]{0} all-gather(%p), replica_groups={{0,1}}, dimensions={0}\n"
        "  %s = f32[2,1024]{1,0} reshape(%g)\n  ROOT %r = (f32[1024]{0}, f32[2,1024]{1,0}) tuple(%t, %s)\n"
    )
    new = old.replace("  ROOT %r = (f32[1024]{0}) tuple(%t)\n", gathered)
    found = diff(read_hlo(old), read_hlo(new))
    shown = to_terminal(Report("diff", "a", "b", (ProgramComparison("m", "cpu-2", "compiled", "changed", found),)))
    (line,) = (line for line in shown.splitlines() if "added all-gather" in line)
    assert line.endswith("(+8.0 KiB)")


GATHER = "all-gather(%{}), channel_id={}, dimensions={{{}}}, replica_groups={{{{0,1}}}}, "
# The gather of `taken`, whose parts are {small} and result {whole}, in steps.
CHAIN = """HloModule m

%begin (x: {small}) -> {whole} {{
  %x = {small} parameter(0)
  %g = {whole} {gather_x}
  ROOT %c = {whole} custom-call(%g), custom_call_target="AsyncCollectiveStart"
}}

%between (x: f32[3], s: {whole}) -> (f32[3], {whole}) {{
  %x = f32[3] parameter(0)
  %s = {whole} parameter(1)
  %t = f32[3] tanh(%x)
  %g = {whole} {gather_s}
  ROOT %r = (f32[3], {whole}) tuple(%t, %g)
}}

%end (s: {whole}) -> {whole} {{
  %s = {whole} parameter(0)
  %g = {whole} {gather_s}
  ROOT %c = {whole} custom-call(%g), custom_call_target="AsyncCollectiveDone"
}}

ENTRY %main {{
  %up = f32[4] parameter(0)
  %down = f32[2,2] parameter(1)
  %q = f32[3] parameter(2)
  %b = {whole} fusion(%{taken}), kind=kCustom, calls=%begin
  %m = (f32[3], {whole}) fusion(%q, %b), kind=kLoop, calls=%between
  %t = f32[3] get-tuple-element(%m), index=0
  %s = {whole} get-tuple-element(%m), index=1
  %{taken}.whole = {whole} fusion(%s), kind=kCustom, calls=%end
{plain}
  %n = f32[8] negate(%up.whole)
  %e = f32[4,2] exponential(%down.whole)
  ROOT %r = (f32[3], f32[8], f32[4,2]) tuple(%t, %n, %e)
}}
"""
TYPES = {"up": ("f32[4]", "f32[8]"), "down": ("f32[2,2]", "f32[4,2]")}


def plain(taken: str) -> str:
    """The gather of an array at once."""
    ending = f'metadata={{op_name="f/{taken}"}}'
    return f"  %{taken}.whole = {TYPES[taken][1]} {GATHER.format(taken, 2, 0)}{ending}"


def in_steps(taken: str) -> str:
    """A program that gathers two arrays: one in steps beside a fusion, the other at once."""
    ending = f'frontend_attributes={{chain_id="0"}}, metadata={{op_name="f/{taken}"}}'
    small, whole = TYPES[taken]
    gathers = {f"gather_{name}": GATHER.format(name, 1, 0) + ending for name in "xs"}
    other = plain("down" if taken == "up" else "up")
    return CHAIN.format(small=small, whole=whole, taken=taken, plain=other, **gathers)


AT_ONCE = f"""HloModule m

%between (x: f32[3]) -> f32[3] {{
  %x = f32[3] parameter(0)
  ROOT %t = f32[3] tanh(%x)
}}

ENTRY %main {{
  %up = f32[4] parameter(0)
  %down = f32[2,2] parameter(1)
  %q = f32[3] parameter(2)
  %t = f32[3] fusion(%q), kind=kLoop, calls=%between
{plain("up")}
{plain("down")}
  %n = f32[8] negate(%up.whole)
  %e = f32[4,2] exponential(%down.whole)
  ROOT %r = (f32[3], f32[8], f32[4,2]) tuple(%t, %n, %e)
}}
"""
STARTED, ENDED = ("attribute:asynchronous", "no", "in steps"), ("attribute:asynchronous", "in steps", "no")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (AT_ONCE, in_steps("up"), {"f/up": STARTED}),
        (in_steps("up"), AT_ONCE, {"f/up": ENDED}),
        (in_steps("up"), in_steps("down"), {"f/up": ENDED, "f/down": STARTED}),
    ],
)
def test_a_collective_that_is_taken_in_steps_now_is_one_that_changed(
    old: str, new: str, expected: dict[str, tuple[str, str, str]]
) -> None:
    """The script adds each step with its fusion; a reader sees one collective that other work can run beside."""
    found = diff(read_hlo(old), read_hlo(new))
    assert found.replay().complete
    changed = [edit for edit in found.reported if edit.cause is None]
    shown = {edit.op_name: [(one.field, one.old, one.new) for one in edit.changes] for edit in changed}
    assert shown == {name: [change] for name, change in expected.items()}
    assert len(changed) == len(expected)
    assert classes_of(found) == ("cost",)


SUMS = """HloModule m

%sum (x: f32[], y: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %a = f32[] add(%x, %y)
}}

ENTRY %main {{
  %p = f32[6] parameter(0)
  %q = f32[] parameter(1)
  %one = f32[] all-reduce(%q), channel_id=1, replica_groups={{{{0,2}},{{1,3}}}}, to_apply=%sum
  %all = f32[] all-reduce(%one), channel_id=1, replica_groups={{{{0,1,2,3}}}}, to_apply=%sum
{sums}  ROOT %r = (f32[], f32[{size}]) tuple(%all, %s)
}}
"""


@pytest.mark.parametrize(("groups", "fields"), [("{{0,2},{1,3}}", set()), ("{{0,1},{2,3}}", {"replica_groups"})])
def test_a_sum_of_other_values_over_other_devices_of_the_same_mesh_is_another_one(
    groups: str, fields: set[str]
) -> None:
    """Over devices that no sum of the old program was over, it may be the same one on a mesh of other sizes."""
    old, new = (
        read_hlo(
            SUMS.format(
                size=size,
                sums=f"  %t = f32[{size}] slice(%p), slice={{[0:{size}]}}\n  %s = f32[{size}] all-reduce(%t), "
                f"channel_id=1, replica_groups={over}, to_apply=%sum\n",
            )
        )
        for size, over in ((5, "{{0,1,2,3}}"), (2, groups))
    )
    found = diff(old, new)
    assert found.replay().complete
    assert {name for edit in found.reported for name in edit.fields if name == "replica_groups"} == fields


COMBINED = """HloModule m

%sum (x: f32[], y: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %a = f32[] add(%x, %y)
}}

%join (x: f32[2], y: f32[3], z: f32[4], w: f32[1]) -> f32[10] {{
  %x = f32[2] parameter(0)
  %y = f32[3] parameter(1)
  %z = f32[4] parameter(2)
  %w = f32[1] parameter(3)
  ROOT %c = f32[10] concatenate(%x, %y, %z, %w), dimensions={{0}}
}}

%half (x: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %h = f32[] constant(0.5)
  ROOT %m = f32[] multiply(%x, %h)
}}

ENTRY %main {{
  %p = f32[] parameter(0)
  %x = f32[2] parameter(1)
  %y = f32[3] parameter(2)
  %z = f32[4] parameter(3)
  %u = f32[] tanh(%p)
{body}  %n = f32[] fusion(%b), kind=kLoop, calls=%half
  %ex = f32[2] exponential(%{0})
  %ey = f32[3] exponential(%{1})
  %ez = f32[4] exponential(%{2})
  ROOT %r = (f32[], f32[2], f32[3], f32[4]) tuple(%n, %ex, %ey, %ez)
}}
"""
STARTED_AND_DONE = """  %s = {0} all-reduce-start(%{1}), channel_id=1, replica_groups={{{{0,1}}}}, to_apply=%sum
  %{2} = {0} all-reduce-done(%s)
"""


def test_the_end_of_a_collective_that_carries_less_now_goes_with_its_start() -> None:
    """The value that another operation took out of it is what its end gives now: that is no reason to pair the two."""
    slices = ((2, "sx", 0), (3, "sy", 2), (4, "sz", 5), (1, "sw", 9))
    joined = (
        "  %w = f32[1] bitcast(%u)\n  %c = f32[10] fusion(%x, %y, %z, %w), kind=kLoop, calls=%join\n"
        + STARTED_AND_DONE.format("f32[10]", "c", "d")
        + "".join(f"  %{name} = f32[{n}] slice(%d), slice={{[{at}:{at + n}]}}\n" for n, name, at in slices)
        + "  %b = f32[] bitcast(%sw)\n"
    )
    alone = STARTED_AND_DONE.format("f32[]", "u", "b")
    texts = [COMBINED.format("sx", "sy", "sz", body=joined), COMBINED.format("x", "y", "z", body=alone)]
    for old, new in (texts, texts[::-1]):
        found = diff(read_hlo(old), read_hlo(new))
        assert found.replay().complete
        ends = [edit for edit in found.reported if edit.old and "all-reduce" in edit.old.opcode]
        assert [(edit.kind, edit.old.opcode, edit.new and edit.new.opcode) for edit in ends if edit.old] == [
            ("changed", "all-reduce-start", "all-reduce-start"),
            ("changed", "all-reduce-done", "all-reduce-done"),
        ]
