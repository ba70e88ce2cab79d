"""Donated bytes: fewer cost more only where an argument is donated that is not donated any longer."""

from dataclasses import replace

import hlodiff
from hlodiff.differ import ProgramComparison
from hlodiff.report import Report, to_terminal
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

    def temp_and_aliased(
        old: tuple[int, ...], new: tuple[int, ...], asked: tuple[str, ...] = ("temp", "aliased")
    ) -> list[str]:
        facts = [{f"memory.{name}": float(n) for name, n in zip(names, side, strict=False)} for side in (old, new)]
        facts = [
            side | ({"memory.peak": float(values[4])} if values[4:] else {})
            for side, values in zip(facts, (old, new), strict=True)
        ]
        program = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(module, module), facts[0], facts[1])
        found = marks(program)
        return [found.get(name, "") for name in asked]

    assert temp_and_aliased((100, 100, 50, 40), (100, 100, 30, 10)) == ["", "worse"]
    assert temp_and_aliased((100, 100, 50, 40), (100, 100, 30, 20)) == ["", ""]
    assert temp_and_aliased((100, 100, 50, 40), (100, 100, 10, 20)) == ["better", ""]
    assert temp_and_aliased((1000, 1000, 500, 400), (1000, 1000, 300, 210)) == ["", ""], "10 of 200 are left over"
    assert temp_and_aliased((9000, 9300, 900, 9000), (9000, 5330, 900, 5000)) == ["", ""], (
        "a longer table of the results"
    )
    assert temp_and_aliased((9000, 9300, 900, 9000), (9000, 5350, 900, 5000)) == ["", "worse"]
    assert temp_and_aliased((1000, 1000, 60, 0), (1000, 1000, 50, 0)) == ["better", ""], "0.5 % of all, real"
    assert temp_and_aliased((100, 100, 50, 40, 150), (100, 100, 10, 20, 160)) == ["", "worse"]
    kept = temp_and_aliased((1000, 1000, 50, 1000), (800, 800, 240, 800), ("arguments", "results"))
    assert kept == ["better", "better"], "they stay in memory between calls, whatever a call needs"


def of_donations(names: str, peaks: tuple[int, int] | None, target: str = "cpu") -> list[ProgramComparison]:
    """Both stages of a step that donates two arguments, and then none; the second half of temp was theirs."""
    mark = "{tf.aliasing_output = RESULT : i32}"
    text = 'module @m {\n  func.func public @main(%arg0: tensor<64xf32> MARK0 loc("A"), %arg1: tensor<64xf32> MARK1 '
    text += (
        'loc("B")) -> (tensor<64xf32>, tensor<64xf32>) {\n    return %arg0, %arg1 : tensor<64xf32>, tensor<64xf32>\n'
    )
    text += "  }\n}\n"
    for letter in "AB":
        text = text.replace(f'"{letter}"', f"\"{names}['{letter.lower()}']\"")
    marked = text
    for n in range(2):
        marked, text = marked.replace(f"MARK{n}", mark.replace("RESULT", str(n))), text.replace(f"MARK{n}", "")
    written = hlodiff.diff(*map(hlodiff.read_text, (marked, text)))
    compiled = hlodiff.diff(*(hlodiff.read_text(ONE.format(alias, *(64,) * 6)) for alias in (BOTH, "")))
    facts = [
        {"memory.argument": 512.0, "memory.output": 512.0, "memory.temp": temp, "memory.alias": aliased}
        for temp, aliased in ((1024.0, 512.0), (512.0, 0.0))
    ]
    for side, peak in zip(facts, peaks or (), strict=False):
        side["memory.peak"] = float(peak)
    return [
        ProgramComparison("f", target, "stablehlo", "changed", written),
        ProgramComparison("f", target, "compiled", "changed", compiled, facts[0], facts[1]),
    ]


def test_arguments_that_are_no_longer_donated_cost_memory_though_temp_falls_by_as_much() -> None:
    """They stay in memory after the call. The compiler had their buffers as temporary memory of the call."""
    found = marks(of_donations("state", None)[1])
    assert (found["aliased"], found["temp"]) == ("worse", "")
    assert marks(of_donations("state", (10000, 10150), "cuda-h100")[1])["peak"] == "worse", "1.5 %"
    lines = to_terminal(Report("diff", "a", "b", tuple(of_donations("state", (1536, 2048)))), width=200).splitlines()
    assert lines[0].startswith("f  ▲ worse on cpu: aliased 512 B -> 0 B, peak +33 %; 2 arguments are no longer donated")
    row = next(line for line in lines if line.startswith("    cpu  "))
    assert "aliased 512 B -> 0 B" in row and "peak 1.5 KiB -> 2.0 KiB (+33 %)" in row and "temp" not in row


def test_the_first_line_names_what_is_no_longer_donated_and_its_bytes() -> None:
    """Once: the number itself has them where it fell to 0."""
    for name, said in (("state", "state['a'], state['b']"), ("s" * 30, f"{'s' * 30} (2)")):
        text = to_terminal(Report("diff", "a", "b", tuple(of_donations(name, None))), width=250)
        first = text.splitlines()[0]
        assert first.endswith(f"aliased 512 B -> 0 B; 2 arguments are no longer donated: {said}")


def test_the_first_line_says_by_how_much_less_is_aliased_and_not_how_large_the_arguments_are() -> None:
    """Another argument is still aliased; one that fitted no result was donated, and aliased nothing."""
    written, compiled = of_donations("state", None)
    facts = [
        {**(side or {}), "memory.alias": size}
        for side, size in ((compiled.old_facts, 768.0), (compiled.new_facts, 384.0))
    ]
    compiled = replace(compiled, old_facts=facts[0], new_facts=facts[1])
    first = to_terminal(Report("diff", "a", "b", (written, compiled)), width=250).splitlines()[0]
    assert first.endswith("2 arguments are no longer donated: state['a'], state['b'], aliased -384 B"), first


def test_temp_that_results_took_over_is_no_gain_if_hardly_less_is_needed_in_all() -> None:
    """Of 26 % less temp, as of no donation, 2 % less of all memory are left: below what temp must change by."""
    sizes = {"argument": 2193672.0, "output": 2192928.0}
    facts = [
        {f"memory.{name}": size for name, size in {**sizes, "temp": temp, "alias": aliased}.items()}
        for temp, aliased in ((3165632.0, 2192648.0), (2329920.0, 1461768.0))
    ]
    found = marks(replace(of_donations("state", None)[1], old_facts=facts[0], new_facts=facts[1]))
    assert (found["aliased"], found["temp"]) == ("worse", "")
