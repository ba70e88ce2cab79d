"""Keys of custom calls: XLA's own are known, those of anybody else are kept word for word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hlodiff.differ import diff
from hlodiff.hlo import Module, read_text
from hlodiff.normalizer import normalize

ROOT = Path(__file__).parents[1]
COMPILED = """HloModule m

ENTRY %e {
  %x = f32[8]{0} parameter(0)
  ROOT %k = f32[8]{0} custom-call(%x), custom_call_target="TARGET", backend_config=CONFIG
}
"""
LOWERED = """module @m {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @TARGET(%arg0) {ENTRY} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
# What XLA writes: noise, defaults, and how a kernel is tuned.
DROPPED: dict[str, tuple[object, object]] = {
    "retry_config": ({"retry_count": "0"}, {"retry_count": "1"}),
    "outer_dimension_partitions": (["2"], ["4"]),
    "window_config": ({"estimated_cycles": "10"}, {"estimated_cycles": "20"}),
    "operation_queue_id": ("0", "1"),
    "reification_cost": ([], [{"cost": 1}]),
    "force_earliest_schedule": (False, True),
    "used_scoped_memory_configs": ([{"offset": "0"}], [{"offset": "8"}]),
    "flag_configs": ([], None),
}
TUNED: dict[str, tuple[object, object]] = {
    "sizes": (["16"], ["32"]),
    "reduction_tiling": ([1], [2]),
    "block_level_fusion_config": ({"num_warps": "2"}, {"num_warps": "4"}),
    "native_emitter_backend_config": ({"unroll": 1}, {"unroll": 2}),
    "fusion_backend_config": ({"triton_gemm_config": {"a": 1}}, {"triton_gemm_config": {"a": 2}}),
    "gemm_backend_config": ({"selected_algorithm": 1}, {"selected_algorithm": 2}),
    "aliasing_operands": ({"lists": [{"indices": ["0", "1"]}]}, {"lists": [{"indices": ["1", "2"]}]}),
}
PLAIN = {
    "a pointer": ('"140504855962192"', '"140504855962208"'),
    "a hexadecimal pointer": ('"0x7ffd1234abcd"', '"0x7ffd1234abce"'),
    "a callback's number": ('"index = 1 : ui64"', '"index = 2 : ui64"'),
    "a default": ('{"seed":0}', "{}"),
    "an empty list": ('{"retry_config":1,"a":[]}', '{"retry_config":1}'),
    "a long text": (f'"{"a" * 2000}"', f'"{"a" * 1999}b"'),
}
CASES = {key: tuple(json.dumps({key: value}) for value in pair) for key, pair in {**DROPPED, **TUNED}.items()} | PLAIN
TARGETS = ("my_op", "__my$op", "cublas", "my_callback", "my_python_callback", "tpu_custom_call_of_mine")


def compiled(target: str, config: str) -> Module:
    return read_text(COMPILED.replace("TARGET", target).replace("CONFIG", config))


@pytest.mark.parametrize("case", CASES)
def test_a_custom_call_of_the_users_keeps_its_configuration(case: str) -> None:
    before, after = CASES[case]
    for target in TARGETS:
        old, new = compiled(target, before), compiled(target, after)
        found = diff(old, new)
        assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("backend_config",))]
        assert not found.tuning
        assert found.replay().complete
        for module, text in ((old, before), (new, after)):
            kept = normalize(module).entry_computation.instructions[1].attribute("backend_config")
            assert kept is not None
            assert kept == text or json.loads(kept) == json.loads(text)
        assert diff(normalize(old), normalize(new)).summary == found.summary


@pytest.mark.parametrize("case", [case for case in (*DROPPED, *TUNED) if case != "aliasing_operands"])
def test_xlas_own_are_known(case: str) -> None:
    before, after = CASES[case]
    old, new = compiled("__cublas$gemm", before), compiled("__cublas$gemm", after)
    found = diff(old, new)
    assert found.identical
    assert bool(found.tuning) == (case in TUNED)


@pytest.mark.parametrize("target", ["my_op", "my_callback", "my_python_callback", "partitioner"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('backend_config = "140504855962192"', 'backend_config = "140504855962208"'),
        ("mhlo.backend_config = {index = 3 : ui64}", "mhlo.backend_config = {index = 4 : ui64}"),
        ("mhlo.backend_config = {retry_config = 1 : i64}", "mhlo.backend_config = {retry_config = 2 : i64}"),
        ('kernel_name = "one"', 'kernel_name = "two"'),
        ('mhlo.backend_config = {name = "one"}', 'mhlo.backend_config = {name = "two"}'),
        ('backend_config = "{\\22sizes\\22: 1}"', 'backend_config = "{\\22sizes\\22: 2}"'),
    ],
)
def test_so_it_is_in_stablehlo(target: str, before: str, after: str) -> None:
    old, new = (read_text(LOWERED.replace("TARGET", target).replace("ENTRY", entry)) for entry in (before, after))
    found = diff(old, new)
    assert sum(found.summary.values()) == 1
    assert found.replay().complete
    assert diff(normalize(old), normalize(new)).summary == found.summary
