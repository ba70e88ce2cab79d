"""Donated bytes: fewer cost more only where an argument is donated that is not donated any longer."""

import hlodiff
from hlodiff.differ import ProgramComparison
from tests.shown import marks

ONE = """HloModule m{}

ENTRY %e {{
  %x = f32[{}]{{0}} parameter(0)
  %y = f32[{}]{{0}} parameter(1)
  %a = f32[{}]{{0}} tanh(%x)
  %b = f32[{}]{{0}} tanh(%y)
  ROOT %r = (f32[{}]{{0}}, f32[{}]{{0}}) tuple(%a, %b)
}}
"""
BOTH = ", input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }"
ONLY = ", input_output_alias={ {0}: (0, {}, may-alias) }"


def mark(old: tuple[str, int], new: tuple[str, int]) -> str:
    """The mark of the aliased bytes; the second argument has a size of its own on each side."""
    modules = [hlodiff.read_text(ONE.format(alias, *(8, size) * 3)) for alias, size in (old, new)]
    facts = []
    for alias, size in (old, new):
        argument, aliased = 4 * (8 + size), 4 * (8 + (size if alias == BOTH else 0)) if alias else 0
        facts.append(
            {"memory.argument": float(argument), "memory.output": float(argument), "memory.alias": float(aliased)}
        )
    program = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(*modules), facts[0], facts[1])
    return marks(program).get("aliased", "")


def test_a_donation_that_is_gone_costs_memory() -> None:
    assert mark((BOTH, 8), (ONLY, 8)) == "worse"
    assert mark((ONLY, 8), (BOTH, 8)) == "better"


def test_a_donated_argument_of_another_size_costs_nothing_by_that() -> None:
    assert mark((BOTH, 8), (BOTH, 4)) == ""
    assert mark((BOTH, 8), (BOTH, 16)) == ""


def test_memory_that_only_became_another_part_of_it_has_no_mark() -> None:
    """A buffer that was donated and temporary, and is a result of its own now: temp shrank, and nothing is better."""
    names = "argument", "output", "temp", "alias"
    module = hlodiff.read_text(ONE.format(ONLY, *(8, 8) * 3))

    def temp_and_aliased(old: tuple[int, ...], new: tuple[int, ...]) -> list[str]:
        facts = [{f"memory.{name}": float(n) for name, n in zip(names, side, strict=False)} for side in (old, new)]
        facts = [
            side | ({"memory.peak": float(values[4])} if values[4:] else {})
            for side, values in zip(facts, (old, new), strict=True)
        ]
        program = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(module, module), facts[0], facts[1])
        found = marks(program)
        return [found.get(name, "") for name in ("temp", "aliased")]

    assert temp_and_aliased((100, 100, 50, 40), (100, 100, 30, 10)) == ["", "worse"]
    assert temp_and_aliased((100, 100, 50, 40), (100, 100, 30, 20)) == ["", ""]
    assert temp_and_aliased((100, 100, 50, 40), (100, 100, 10, 20)) == ["better", ""]
    assert temp_and_aliased((100, 100, 50, 40, 150), (100, 100, 10, 20, 160)) == ["", "worse"]
