"""Each call of a fusion decides for itself in which order it passes twins, so that normal text is normal at once."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hlodiff
from hlodiff.hlo import Module, read_hlo
from hlodiff.normalizer import normalize, to_text
from tests import noise

ROOT = Path(__file__).parent.parent
COMMITTED = sorted((ROOT / "snapshots").rglob("compiled.hlo"))
STABLEHLO = sorted((ROOT / "snapshots").rglob("stablehlo.mlir"))
# Their fusions have parameters that nothing but callers tells apart.
WITH_TWINS = [
    path
    for path in COMMITTED
    if path.parts[-3] in ("lstm_gradient", "ode_solve", "recurrence", "stack_scanned", "mlp_gradient")
]

TWICE = """HloModule twice

%sum (a: f32[4], b: f32[4]) -> f32[4] {{
  %a = f32[4]{{0}} parameter(0)
  %b = f32[4]{{0}} parameter(1)
  ROOT %c = f32[4]{{0}} {inside}
}}
{copy}
ENTRY %main (x: f32[4], y: f32[4]) -> (f32[4], f32[4]) {{
  %x = f32[4]{{0}} parameter(0)
  %y = f32[4]{{0}} parameter(1)
  %one = f32[4]{{0}} fusion(%x, %y), kind=kLoop, calls=%sum
  %two = f32[4]{{0}} fusion({second}), kind=kLoop, calls=%{called}
  ROOT %both = (f32[4]{{0}}, f32[4]{{0}}) tuple(%one, %two)
}}
"""
COPY = """
%sum.clone (d: f32[4], e: f32[4]) -> f32[4] {{
  %d = f32[4]{{0}} parameter(0)
  %e = f32[4]{{0}} parameter(1)
  ROOT %f = f32[4]{{0}} {inside}
}}
"""

# A gradient arrives along two ways that differ in a weight alone; a constant stands far above both.
FAR = """HloModule far, entry_computation_layout={{({layout})->f32[4,4]{{1,0}}}}

%sum (a: f32[4,4], b: f32[4,4]) -> f32[4,4] {{
  %a = f32[4,4]{{1,0}} parameter(0)
  %b = f32[4,4]{{1,0}} parameter(1)
  ROOT %c = f32[4,4]{{1,0}} add(%a, %b)
}}

ENTRY %main ({arguments}) -> f32[4,4] {{
  {parameters}
  %epsilon = f32[] constant({epsilon})
  %wide = f32[4,4]{{1,0}} broadcast(%epsilon), dimensions={{}}
  %norm = f32[4,4]{{1,0}} divide(%x, %wide)
  %left = f32[4,4]{{1,0}} dot(%norm, %v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  %right = f32[4,4]{{1,0}} dot(%norm, %w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  ROOT %both = f32[4,4]{{1,0}} fusion(%right, %left), kind=kLoop, calls=%sum
}}
"""


def normal(inside: str, second: str, copy: str = "") -> str:
    other = COPY.format(inside=copy) if copy else ""
    called = "sum.clone" if copy else "sum"
    return to_text(normalize(read_hlo(TWICE.format(inside=inside, second=second, copy=other, called=called))))


@cache
def committed(path: Path) -> Module:
    return read_hlo(path.read_text())


def test_calls_of_twins_in_either_order_are_the_same_program() -> None:
    plain = normal("add(%a, %b)", "%x, %y")
    assert normal("add(%a, %b)", "%y, %x") == plain
    assert normal("add(%a, %b)", "%y, %x", copy="add(%e, %d)") == plain
    assert "fusion(%p0, %p1), calls=%fused_add" in plain


def test_the_order_counts_where_it_is_told_apart() -> None:
    assert normal("subtract(%a, %b)", "%x, %y") != normal("subtract(%a, %b)", "%y, %x")
    assert normal("subtract(%a, %b)", "%x, %y") == normal("subtract(%a, %b)", "%y, %x", copy="subtract(%e, %d)")


def order_of_twins(epsilon: str, arguments: str) -> str:
    """Which of the two weights comes first where both ways are added."""
    names = arguments.split()
    parameters = [f"%{name} = f32[4,4]{{1,0}} parameter({n})" for n, name in enumerate(names)]
    text = FAR.format(
        layout=", ".join(["f32[4,4]{1,0}"] * len(names)),
        arguments=", ".join(f"{name}: f32[4,4]" for name in names),
        parameters="\n  ".join(parameters),
        epsilon=epsilon,
    )
    main = normalize(read_hlo(text)).computations[-1].instructions
    dots = [main[operand] for operand in main[-1].operands]
    assert [dot.opcode for dot in dots] == ["dot", "dot"]
    return " ".join(names[int(main[dot.operands[1]].literal or "")] for dot in dots)


def test_an_edit_far_from_twins_does_not_exchange_them() -> None:
    assert {order_of_twins(str(number), "x v w") for number in range(1, 17)} == {"v w"}
    assert {order_of_twins("1", f"{first} x v w") for first in ("a", "a b", "a b c")} == {"v w"}


@pytest.mark.parametrize("path", [*COMMITTED, *STABLEHLO], ids=lambda path: "-".join(path.parts[-3:]))
def test_what_is_committed_normalizes_to_itself(path: Path) -> None:
    assert to_text(normalize(hlodiff.read(path))) == path.read_text()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(WITH_TWINS), st.lists(st.sampled_from(noise.ALL), max_size=3), st.integers(0, 2**32))
def test_copies_and_noise_come_back_to_what_is_committed(path: Path, makers: list[noise.Noise], seed: int) -> None:
    module, chance = committed(path), random.Random(seed)
    for make in [*[noise.copy_computations] * 4, noise.permute_fusion_parameters, *makers]:
        module = make(module, chance)
    assert to_text(normalize(module)) == path.read_text()
