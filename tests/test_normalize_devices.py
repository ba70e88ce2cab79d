"""Replica groups, shardings and collectives in every spelling."""

from __future__ import annotations

import pytest

import hlodiff
from hlodiff.differ import count, metrics_of
from hlodiff.hlo import read_hlo, read_stablehlo
from hlodiff.normalizer import normalize

GROUPS = [
    ("{{0,1},{2,3}}", "{{0,1},{2,3}}"),
    ("{{2,3},{0,1}}", "{{0,1},{2,3}}"),
    ("{{1,0},{3,2}}", "{{1,0},{3,2}}"),
    ("{}", "{}"),
    ("[2,2]<=[4]", "{{0,1},{2,3}}"),
    ("[2,2]<=[2,2]T(1,0)", "{{0,2},{1,3}}"),
    ("[4,2]<=[2,4]T(1,0)", "{{0,4},{1,5},{2,6},{3,7}}"),
    ("[2,4]<=[2,2,2]T(1,0,2)", "{{0,1,4,5},{2,3,6,7}}"),
    ("mesh['a'=2,'b'=4] {'b'}", "{{0,1,2,3},{4,5,6,7}}"),
    ("mesh['a'=2,'b'=4] {'a'}", "{{0,4},{1,5},{2,6},{3,7}}"),
    ("mesh['a'=2,'b'=2] {'a','b'}", "{{0,1,2,3}}"),
    ("mesh['a'=2,'b'=2] {'b','a'}", "{{0,2,1,3}}"),
    ("mesh['axis_0'=2,'axis_1'=1,'axis_2'=2] {'axis_0'}", "{{0,2},{1,3}}"),
    ("mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'b'}", "{{0,2},{1,3}}"),
    ("mesh['a'=2,'b'=2], device_ids=(0,3,1,2) {'b'}", "{{0,3},{1,2}}"),
    ("mesh['a'=8] {'a':(1)2}", "{{0,4},{1,5},{2,6},{3,7}}"),
    ("mesh['a'=8] {'a':(4)2}", "{{0,1},{2,3},{4,5},{6,7}}"),
    ("mesh['a'=8] {'a':(2)2}", "{{0,2},{1,3},{4,6},{5,7}}"),
]


SUM = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"


def normalized(name: str, value: str) -> str | None:
    """An attribute of an all-reduce as the normalizer writes it."""
    body = f"  x = f32[8]{{0}} parameter(0)\n  ROOT r = f32[8]{{0}} all-reduce(x), to_apply=add, {name}={value}\n"
    entry = normalize(read_hlo(f"HloModule m\n\n{SUM}ENTRY main {{\n{body}}}\n")).entry_computation
    return entry.instructions[entry.root].attribute(name)


@pytest.mark.parametrize(("spelling", "groups"), GROUPS)
def test_groups_in_every_spelling(spelling: str, groups: str) -> None:
    assert normalized("replica_groups", spelling) == groups
    assert normalized("replica_groups", groups) == groups


@pytest.mark.parametrize(
    "text", ["mesh['a'=2] {'b'}", "[3,2]<=[4]", "[2,2]<=[2,2]T(0,0)", "who knows", "mesh['a'=3] {'a':(2)2}", "{0,1}"]
)
def test_a_spelling_that_makes_no_sense_stays(text: str) -> None:
    assert normalized("replica_groups", text) == text


def test_a_hostile_number_of_devices_is_not_expanded() -> None:
    assert normalized("replica_groups", "[1,99999999999]<=[99999999999]") == "[1,99999999999]<=[99999999999]"


SHARDINGS = [
    ("{devices=[2,2]0,1,2,3}", "{devices=[2,2]<=[4]}"),
    ("{devices=[2,2]<=[4]}", "{devices=[2,2]<=[4]}"),
    ("{devices=[2,2]<=[2,2]T(1,0)}", "{devices=[2,2]0,2,1,3}"),
    ("{devices=[2,2]0,2,1,3}", "{devices=[2,2]0,2,1,3}"),
    ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
    ("{devices=[2,1,2]1,0,3,2 last_tile_dim_replicate}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
    ("{devices=[2,1,2]2,3,0,1 last_tile_dim_replicate}", "{devices=[2,1,2]2,3,0,1 last_tile_dim_replicate}"),
    ("{devices=[2,1,2]<=[4] last_tile_dims={replicated}}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
    ("{devices=[2,1,2]1,0,3,2 last_tile_dims={manual}}", "{devices=[2,1,2]1,0,3,2 last_tile_dims={manual}}"),
    ("{devices=[1,1,4]<=[4] last_tile_dim_replicate}", "{replicated}"),
    ("{replicated}", "{replicated}"),
    ("{maximal device=3}", "{maximal device=3}"),
    ("{manual}", "{manual}"),
    ("{{replicated}, {devices=[4]0,1,2,3}}", "{{replicated}, {devices=[4]<=[4]}}"),
    ("{devices=[2,3]<=[4]}", "{devices=[2,3]<=[4]}"),
    ("{something=[new] of XLA}", "{something=[new] of XLA}"),
]


@pytest.mark.parametrize(("spelling", "canonical"), SHARDINGS)
def test_shardings_in_every_spelling(spelling: str, canonical: str) -> None:
    assert normalized("sharding", spelling) == canonical
    assert normalized("sharding", canonical) == canonical


# The devices 0 and 1 differ in `b` alone, 0 and 2 in `a`.
MESH = """module @m {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}
"""
HEAD = "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"
WRAPPED = "inner {\n  q = f32[8]{0} parameter(0)\n  ROOT r = f32[8]{0} all-reduce(q), %s, to_apply=add\n}\n\n"
GROUP = "channel_id=1, replica_groups=[2,2]<=[4]"
SPELLINGS = {
    "plain": ("", "ROOT r = f32[8]{0} all-reduce(x), %s, to_apply=add", False),
    "start and done": (
        "",
        "s = f32[8]{0} all-reduce-start(x), %s, to_apply=add\nROOT d = f32[8]{0} all-reduce-done(s)",
        True,
    ),
    "start that is synchronous": (
        "",
        's = f32[8]{0} all-reduce-start(x), %s, to_apply=add, backend_config={"c":{"is_sync": true}}\n'
        "ROOT d = f32[8]{0} all-reduce-done(s)",
        False,
    ),
    "async wrapper": (
        WRAPPED % GROUP,
        "s = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(x), calls=inner\nROOT d = f32[8]{0} async-done(s)",
        True,
    ),
    "fusion-start": (
        WRAPPED % GROUP,
        "s = ((f32[8]{0}), f32[8]{0}, u32[]) fusion-start(x), kind=kCustom, calls=inner\n"
        "ROOT d = f32[8]{0} fusion-done(s)",
        True,
    ),
    "inside a fusion": (WRAPPED % GROUP, "ROOT f = f32[8]{0} fusion(x), kind=kCustom, calls=inner", False),
}


@pytest.mark.parametrize(("before", "lines", "asynchronous"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_one_all_reduce_in_every_spelling(before: str, lines: str, asynchronous: bool) -> None:
    lines = lines % GROUP if "%s" in lines else lines
    body = "\n".join("  " + line for line in ("x = f32[8]{0} parameter(0)\n" + lines).splitlines())
    module = read_hlo(f"{HEAD}{before}ENTRY main {{\n{body}\n}}\n")
    for one in (module, normalize(module)):
        found = metrics_of(count(one))
        assert (found["collectives"], found["collectives.all-reduce"]) == (1, 1)
        assert (found["collective_bytes.all-reduce"], found["async_collectives"]) == (32, asynchronous)
        program = hlodiff.Program("f", "cpu-4", read_stablehlo(MESH), one)
        program.assert_no_collective(axis="a")
        with pytest.raises(AssertionError, match="is of the kind all-reduce"):
            program.assert_no_collective(axis="b")


OTHERS = [
    ("ROOT g = f32[8,16]{1,0} all-gather(x), replica_groups={{0,1}}, dimensions={1}", "all-gather", 512, 1),
    (
        "s = (f32[8,8]{1,0}, f32[16,8]{1,0}) all-gather-start(x), replica_groups={{0,1}}, dimensions={0}\n"
        "ROOT d = f32[16,8]{1,0} all-gather-done(s)",
        "all-gather",
        512,
        0,
    ),
    ("ROOT t = (f32[8,8]{1,0}, f32[8,8]{1,0}) all-to-all(x, x), replica_groups={{0,1}}", "all-to-all", 512, None),
    ("ROOT b = f32[8,8]{1,0} collective-broadcast(x), replica_groups={{0,1}}", "collective-broadcast", 256, None),
    (
        "s = (f32[8,8]{1,0}, f32[8,8]{1,0}, u32[], u32[]) collective-permute-start(x), source_target_pairs={{0,1}}\n"
        "ROOT d = f32[8,8]{1,0} collective-permute-done(s)",
        "collective-permute",
        256,
        None,
    ),
]


@pytest.mark.parametrize(("lines", "family", "size", "dimension"), OTHERS)
def test_other_families(lines: str, family: str, size: int, dimension: int | None) -> None:
    body = "\n".join("  " + line for line in ("x = f32[8,8]{1,0} parameter(0)\n" + lines).splitlines())
    module = read_hlo(f"HloModule m\n\nENTRY main {{\n{body}\n}}\n")
    found = metrics_of(count(module))
    assert (found["collectives"], found[f"collectives.{family}"], found[f"collective_bytes.{family}"]) == (1, 1, size)
    over = "" if dimension is None else f" over dimension {dimension} of 16"
    with pytest.raises(AssertionError, match=rf" is of the kind {family}{over}$"):
        hlodiff.Program("f", "cpu", module, module).assert_no_collective()


def told_apart(config: str) -> tuple[str, str]:
    """What of a configuration is a change of the program where it was added, and what of its tuning."""
    text = "HloModule m\n\nENTRY main {\n  p = f32[8]{0} parameter(0)\n  ROOT r = f32[8]{0} sine(p)CONFIG\n}\n"
    old, new = (read_hlo(text.replace("CONFIG", words)) for words in ("", f", backend_config={config}"))
    found = hlodiff.diff(old, new)
    program, tuning = (
        [change.new for edit in edits for change in edit.changes] for edits in (found.edits, found.tuning)
    )
    return ", ".join(program), ", ".join(tuning)


def test_tuning_is_split_from_the_program() -> None:
    config = (
        '{"fusion_backend_config":{"kind":"__triton","block_level_fusion_config":{"num_warps":"2"}},'
        '"collective_backend_config":{"is_sync":true,"kernel_strategy":"X"},"sizes":["16"]}'
    )
    assert told_apart(config) == (
        'collective_backend_config.is_sync=true, fusion_backend_config.kind="__triton"',
        '{"collective_backend_config":{"kernel_strategy":"X"},'
        '"fusion_backend_config":{"block_level_fusion_config":{"num_warps":"2"}},"sizes":["16"]}',
    )
    assert told_apart('"1,0,100,1e-6"') == ('"1,0,100,1e-6"', "")
    assert told_apart('{"sizes":["16"]}') == ("", '{"sizes":["16"]}')
