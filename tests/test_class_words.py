"""What a report says of the classes it prints, and of a program whose StableHLO alone changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.config import Config, fail_on
from hlodiff.differ import ProgramComparison, diff, with_compiler
from hlodiff.hlo import read_hlo, read_text
from hlodiff.policy import judge
from hlodiff.report import Report, to_form, to_terminal

STRUCTURE = "structure: other operations, results may differ"
COMPILED = "HloModule m\n\nENTRY e {\n  p = f32[8]{0} parameter(0)\n  ROOT r = f32[8]{0} sine(p)\n}\n"
WRITTEN = """module @m {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<5.000000e-01> : tensor<8xf32>
    %0 = stablehlo.multiply %arg0, %c : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
DIVIDED = WRITTEN.replace("5.000000e-01", "2.000000e+00").replace("multiply", "divide")
COPIED = COMPILED.replace("  ROOT r = f32[8]{0} sine(p)", "  c = f32[8]{0} copy(p)\n  ROOT r = f32[8]{0} sine(c)")


def compiled(text: str = COMPILED, name: str = "f", target: str = "cpu") -> ProgramComparison:
    found = diff(read_hlo(COMPILED), read_hlo(text))
    return ProgramComparison(name, target, "compiled", "identical" if found.identical else "changed", found)


def written(text: str = DIVIDED, name: str = "f", target: str = "cpu") -> ProgramComparison:
    found = diff(read_text(WRITTEN), read_text(text))
    return ProgramComparison(name, target, "stablehlo", "identical" if found.identical else "changed", found)


def report(*programs: ProgramComparison) -> Report:
    return Report("diff", "a", "b", with_compiler(programs, lambda program: False))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COMPILED.replace("sine", "cosine"), STRUCTURE),
        (COPIED, "cost: fusions, copies, layouts"),
        (
            COMPILED.replace("f32", "bf16"),
            "interface: arguments or results; numerics: constants, types, precision",
        ),
        (COPIED.replace("sine", "cosine"), f"{STRUCTURE}; cost: fusions, copies, layouts"),
    ],
)
def test_every_form_explains_the_classes_that_it_prints_and_no_others(text: str, said: str) -> None:
    told = report(compiled(text))
    (line,) = [one for one in to_terminal(told, width=200).splitlines() if one.startswith(said)]
    assert line.count(": ") == said.count(": ")
    markdown, page = (to_form(told, form) for form in ("markdown", "html"))
    assert line.replace(":", "\\:").replace("(", "\\(").replace(")", "\\)") in markdown
    assert f'<p id="meanings" class="quiet">{line}</p>' in page


def test_a_report_without_changes_explains_no_class() -> None:
    told = report(compiled())
    assert "operations" not in to_terminal(told) and 'id="meanings"' not in to_form(told, "html")


def test_a_program_that_compiles_to_the_same_rounds_alike() -> None:
    """The StableHLO divides by 2 where it multiplied by 0.5, and the compiler makes the same of it."""
    alone, both = report(written(), compiled()), report(written(), compiled(COPIED))
    assert alone.programs[0].classes == ("structure",)
    assert "numerics" in report(written()).programs[0].classes, "nobody knows what it compiles to"
    assert "numerics" in both.programs[0].classes
    config = Config(root=Path(), fail_on=fail_on(["numerics"], "here"))
    assert [[one.severity for one in judge(told.programs, config)] for told in (alone, both)] == [["info"], ["error"]]


def test_the_first_line_says_that_no_compiled_program_changed() -> None:
    lines = to_terminal(report(written(), compiled())).splitlines()
    assert lines[0].startswith("f  = no compiled program changed; ")
    assert lines[1] == "  changed in StableHLO only, on cpu: structure"
    assert "structure: other operations" in lines, "results cannot differ"
    told = report(*(one for name in "fg" for one in (written(name=name), compiled(name=name))))
    assert to_terminal(told).startswith("= no compiled program changed; 2 functions changed in StableHLO only")
    assert "changed in StableHLO only, on cpu" in to_form(told, "markdown")


def test_a_target_whose_compiled_program_is_the_same_is_named_apart() -> None:
    programs = (written(), compiled(), written(target="tpu-v5e"), compiled(COPIED, target="tpu-v5e"))
    lines = to_terminal(report(*programs), width=200).splitlines()
    assert "no compiled program changed" not in lines[0]
    said = "  changed on tpu-v5e; changed in StableHLO only, on cpu: numerics (tpu-v5e), structure, cost (tpu-v5e)"
    assert lines[1] == said
    mixed = report(written(name="g"), compiled(name="g"), compiled(COPIED))
    assert to_terminal(mixed).startswith("▲ 2 functions changed: 1 worse, 1 in StableHLO only; mainly f")


def test_a_program_that_was_not_compiled_did_not_change_in_stablehlo_only() -> None:
    assert "only" not in to_terminal(report(written())).splitlines()[1]


def test_the_totals_name_what_is_unchanged_if_it_is_little() -> None:
    changed = compiled(COPIED, "step")
    for others, said in (
        ([("eval", "cpu")], "1 changed, unchanged: eval"),
        ([("a", "cpu"), ("a", "tpu-v5e"), ("b", "cpu"), ("c", "cpu")], "1 changed, unchanged: a, b, c"),
        ([(name, "cpu") for name in "abcd"], "1 changed, 4 unchanged"),
        ([("eval", "cpu"), ("step", "tpu-v5e")], "1 changed, 2 unchanged"),
    ):
        told = report(changed, *(compiled(name=name, target=target) for name, target in others))
        assert to_terminal(told).splitlines()[-1] == said
    assert to_terminal(report(compiled(name="eval"))).splitlines()[-1] == "1 unchanged"
