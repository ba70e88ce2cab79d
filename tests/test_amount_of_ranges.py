"""How much a number changed that is a range, because data ends a loop."""

import pytest

from hlodiff import diff
from hlodiff.differ import ProgramComparison
from hlodiff.hlo import read_hlo
from hlodiff.report import Report, to_terminal
from tests.shown import marks, ranks

LOOP = """HloModule m
body {{
  p = (s32[], f32[{size}]{{0}}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  n = s32[] add(i, one)
  x = f32[{size}]{{0}} get-tuple-element(p), index=1
  y = f32[{size}]{{0}} negate(x)
{body}
  ROOT t = (s32[], f32[{size}]{{0}}) tuple(n, y)
}}
cond {{
  p = (s32[], f32[{size}]{{0}}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  most = s32[] constant({most})
  few = pred[] compare(i, most), direction=LT
  x = f32[{size}]{{0}} get-tuple-element(p), index=1
  first = f32[1]{{0}} slice(x), slice={{[0:1]}}
  value = f32[] reshape(first)
  limit = f32[] constant(9)
  small = pred[] compare(value, limit), direction=LT
  ROOT both = pred[] and(few, small)
}}
ENTRY e {{
  x = f32[{size}]{{0}} parameter(0)
  zero = s32[] constant(0)
  i = (s32[], f32[{size}]{{0}}) tuple(zero, x)
  w = (s32[], f32[{size}]{{0}}) while(i), condition=cond, body=body
  g = f32[{size}]{{0}} get-tuple-element(w), index=1
{after}
  ROOT r = f32[{size}]{{0}} copy(g)
}}"""


def compared(old: dict[str, object], new: dict[str, object]) -> ProgramComparison:
    plain: dict[str, object] = {"size": 1024, "most": 512, "body": "", "after": ""}
    sides = [read_hlo(LOOP.format(**{**plain, **side})) for side in (old, new)]
    return ProgramComparison("f", "cpu", "compiled", "changed", diff(*sides))


def operations(name: str, size: int, count: int) -> str:
    return "\n".join(f"  {name}{n} = f32[{size}]{{0}} sine({'y' if name == 'b' else 'g'})" for n in range(count))


def test_a_higher_bound_multiplies_no_work_that_each_turn_does() -> None:
    """`max_steps` of a solver, and a buffer that follows it: each turn does a little more, and may turn more often."""
    rank = ranks(compared({}, {"most": 4096, "size": 1044}))["flops"]
    assert 0 < rank < 0.1  # 2 % more, not 700 %


def test_one_launch_of_a_solver_is_below_the_threshold() -> None:
    """A hundred operations in the loop, and one less behind it, where a run without any turn has three."""
    body = operations("b", 1024, 150)
    program = compared({"body": body, "after": "  z = f32[1024]{0} sine(g)"}, {"body": body})
    assert "= same cost" in str(Report("diff", "a", "b", (program,))).splitlines()[0]


@pytest.mark.parametrize("count", [1, 4])
def test_work_outside_of_a_loop_that_is_more_than_a_turn_counts(count: int) -> None:
    after = operations("a", 1024, count)
    assert marks(compared({}, {"after": after}))["flops"] == "worse"


def test_bounded_loops_are_named_where_they_do_more_than_a_turn_of_an_unknown_one() -> None:
    """A solver of cheaper steps: the loop that looks values up, of which nothing is known, saves a little as well."""
    unknown = """body2 {{
  p = f32[8]{{0}} parameter(0)
{lookup}
  ROOT y = f32[8]{{0}} negate({last})
}}
cond2 {{
  p = f32[8]{{0}} parameter(0)
  first = f32[1]{{0}} slice(p), slice={{[0:1]}}
  value = f32[] reshape(first)
  limit = f32[] constant(9)
  ROOT small = pred[] compare(value, limit), direction=LT
}}
ENTRY e"""
    after = "  z = f32[8]{0} slice(g), slice={[0:8]}\n  v = f32[8]{0} while(z), condition=cond2, body=body2"

    def side(steps: int, lookup: str, last: str, most: int = 512) -> str:
        body = operations("b", 1024, steps)
        text = LOOP.format(size=1024, most=most, body=body, after=after)
        return text.replace("ENTRY e", unknown.format(lookup=lookup, last=last)).replace(
            "ROOT r = f32[1024]{0} copy(g)", "ROOT r = (f32[1024]{0}, f32[8]{0}) tuple(g, v)"
        )

    def first_line(*sides: str) -> str:
        program = ProgramComparison("f", "cpu", "compiled", "changed", diff(*map(read_hlo, sides)))
        return to_terminal(Report("diff", "a", "b", (program,)), width=300).splitlines()[0]

    lookup = "  s = f32[8]{0} sine(p)"
    head = first_line(side(6, lookup, "s"), side(2, "", "p"))
    each = "with one turn of each loop of unknown length"
    assert f"at equal trip counts: fewer bytes accessed (56.3 KiB -> 24.3 KiB {each}), fewer flops (" in head
    assert head.count(each) == 1
    # Another bound says nothing about equal trip counts.
    assert "56.3" not in first_line(side(2, lookup, "s"), side(2, "", "p", 64)).partition("; ")[0]
    # One operation outside of the loops is below the threshold.
    more = side(2, "", "p").replace("  z = ", "  u = f32[1024]{0} sine(g)\n  z = ")
    assert "= same cost on cpu at equal trip counts; sine added" in first_line(side(2, "", "p"), more)
