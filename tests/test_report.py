"""Reports: what a reviewer reads, the same numbers in every form, and nothing that others wrote breaks out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from hlodiff.differ import Edit, FieldChange, ModuleDiff, ProgramComparison, Site, Status, diff
from hlodiff.hlo import Module, read_hlo, read_text
from hlodiff.policy import Finding, exit_code, judge
from hlodiff.report import (
    Report,
    ToolchainChange,
    format_bytes,
    format_checked,
    format_count,
    printable,
    to_form,
    to_json,
    to_markdown,
    to_terminal,
    toolchain_changes,
)
from tests.page_parts import parsed
from tests.shown import in_words as by_how_much
from tests.shown import words as words_of

HEAD = """HloModule m

FileNames
1 "model.py"

FunctionNames
1 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=31 end_line=31 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=0}

"""
OLD = read_hlo(
    HEAD + "ENTRY e {\n  %p = f32[8]{0} parameter(0)\n"
    '  %t = f32[8]{0} tanh(%p), metadata={op_name="jit(f)/tanh" stack_frame_id=1}\n'
    "  ROOT %n = f32[8]{0} negate(%t)\n}\n"
)
NEW = read_hlo(
    HEAD + "ENTRY e {\n  %p = f32[8]{0} parameter(0)\n"
    '  %t = f32[8]{0:S(5)} exponential(%p), metadata={op_name="jit(f)/exp" stack_frame_id=1}\n'
    "  ROOT %n = f32[8]{0} negate(%t)\n}\n"
)


def changed(
    name: str = "f", target: str | None = "cpu", found: ModuleDiff | None = None, **facts: Any
) -> ProgramComparison:
    return ProgramComparison(name, target, "compiled", "changed", found or diff(OLD, NEW), **facts)


def report(*programs: ProgramComparison, **more: Any) -> Report:
    return Report(more.pop("command", "check"), "snapshots", "this work tree", programs, judge(programs), **more)


def with_edits(*edits: Edit) -> ModuleDiff:
    return ModuleDiff(OLD, NEW, edits, write_script=diff(OLD, NEW).write_script)


# --- what a reviewer reads -------------------------------------------------------------------------------------------


def test_the_whole_report_of_one_change() -> None:
    memory = {"memory.temp": 1024.0, "cost.flops": 100.0}
    program = changed(old_facts=memory, new_facts={"memory.temp": 3072.0, "cost.flops": 90.0})
    same = ProgramComparison("f", "cpu", "stablehlo", "identical", diff(OLD, OLD))
    other = ProgramComparison("g", "cpu", "compiled", "identical", diff(OLD, OLD))
    absent = ProgramComparison(
        "f", "tpu-v5e-2x2", "compiled", "not_checked", reason="no libtpu", advice="pip install libtpu"
    )
    text = to_terminal(report(program, same, other, absent, next="hlodiff update f"))
    assert text == (
        "f  ▲ worse on cpu: temp +200 %; 1 value now in host memory instead of device memory at model.py:31\n"
        "  changed on cpu: placement, structure\n"
        "  next: hlodiff update f\n"
        "  StableHLO is the same\n"
        "  compiled (executed numbers)\n"
        "    cpu  ▲ worse: temp 1.0 KiB -> 3.0 KiB (+200 %)\n"
        "    1 value now in host memory instead of device memory\n"
        "      changed tanh -> exponential: memory space: device -> host\n"
        "        (8 flops, 64 B, 0 B -> 32 B in host)  model.py:31 (loss)\n"
        "\n"
        "not checked: f on tpu-v5e-2x2\n"
        "  no libtpu\n"
        "  hint: pip install libtpu\n"
        "\n"
        "▲ costs more, ▼ less, per call and device; below 1 % is not listed\n"
        "placement: other memory, device or sharding; structure: other operations, results may differ\n"
        "checked 2 programs: 2 functions on cpu, StableHLO of 1 and compiled HLO of 2\n"
        "1 changed, 1 not checked, unchanged: g\n"
    )


def test_the_same_compiled_program_costs_the_same_whatever_the_stablehlo_counts() -> None:
    gather = "  %p = {0}[8]{{0}} parameter(0)\n  ROOT %g = {0}[32]{{0}} all-gather(%p), dimensions={{0}}\n"
    wide, narrow = (read_hlo("HloModule m\n\nENTRY e {\n" + gather.format(kind) + "}\n") for kind in ("f32", "bf16"))
    found = diff(wide, narrow)
    written = [ProgramComparison("f", target, "stablehlo", "changed", found) for target in ("cpu", "tpu-v5e-2x2")]
    on_cpu = ProgramComparison("f", "cpu", "compiled", "changed", found)
    on_tpu = ProgramComparison("f", "tpu-v5e-2x2", "compiled", "identical", diff(wide, wide))

    both = report(*written, on_cpu, on_tpu)
    text = to_terminal(both)
    assert text.startswith("f  ▼ better on cpu: all-gather bytes 128 B -> 64 B, bytes accessed -50 %; ")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    at = lines.index("compiled (executed numbers)")
    assert lines[at + 1].startswith("cpu ▼ better: all-gather 1 (128 B -> 64 B)")
    assert lines[at + 2] == "tpu-v5e-2x2 the same program"
    assert "`tpu-v5e-2x2` | all-gather" not in to_markdown(both)
    rows = {row["data-target"]: row for row in parsed(to_form(both, "html")).rows()}
    assert (rows["cpu"]["data-verdict"], rows["tpu-v5e-2x2"]["data-verdict"]) == ("better", "same cost")
    shown = to_form(both, "html").partition('<tbody id="programs">')[2].split("<tr data-text")
    texts = {target: next(row for row in shown if f'data-target="{target}"' in row) for target in rows}
    assert 'class="quiet">all-gather</span>' in texts["cpu"]
    assert 'class="quiet">all-gather<' not in texts["tpu-v5e-2x2"]

    # Where nothing was compiled, what is written is all that is known.
    assert to_terminal(report(written[1])).startswith("f  ▼ better on tpu-v5e-2x2: all-gather bytes 128 B -> 64 B")
    alone = to_terminal(report(written[1], on_tpu))
    assert alone.startswith("f  = no compiled program changed; "), "and the same results"
    assert "  compiled on tpu-v5e-2x2: the same program\n" in alone


def test_new_and_orphaned_programs_and_the_toolchain_first() -> None:
    programs = [
        ProgramComparison("f", "cpu", "compiled", "added"),
        ProgramComparison("g", "cpu", "compiled", "removed"),
    ]
    text = to_terminal(report(*programs, toolchain=(ToolchainChange("jax", "0.9.2", "0.10.2", ("cpu", "tpu")),)))
    assert text.split("\n")[0] == "toolchain differs: jax 0.9.2 -> 0.10.2 (cpu, tpu)"
    assert "f  new: no snapshot on cpu" in text
    assert "g  orphaned: no longer registered on cpu" in text
    assert text.endswith("1 new, 1 orphaned\n")


def test_a_story_that_holds_for_several_targets_is_told_once() -> None:
    text = to_terminal(report(changed(target="cpu"), changed(target="tpu-v5e-2x2"), changed(target="cuda-h100")))
    assert "f  = same cost on 3 targets; 1 value now in host memory instead of device memory at model.py:31\n" in text
    assert "  changed on cpu, tpu-v5e-2x2, cuda-h100: placement, structure\n" in text
    assert text.count("tanh -> exponential") == 1
    assert text.endswith("3 changed\n")


def test_the_first_line_of_several_functions_says_what_speaks_against_the_verdict() -> None:
    def gathered(count: int) -> Module:
        told = "all-gather(%p), replica_groups={{0,1}}, dimensions={0}"
        gathers = "".join(f"  %g{n} = f32[16]{{0}} {told}, channel_id={n + 1}\n" for n in range(count))
        return read_hlo(
            f"{HEAD}ENTRY e {{\n  %p = f32[8]{{0}} parameter(0)\n{gathers}  ROOT %n = f32[8]{{0}} negate(%p)\n}}\n"
        )

    old, new = ({"memory.argument": size} for size in (1e6, 0.81e6))
    programs = [changed(name, found=diff(gathered(0), gathered(3)), old_facts=old, new_facts=new) for name in "fg"]
    first = to_terminal(report(*programs, command="diff"), width=200).splitlines()[0]
    assert ": 2 worse; mainly f, +3 all-gathers (192 B), but arguments -19 %;" in first


def test_the_main_function_is_the_one_that_is_hit_on_most_targets() -> None:
    """A small one has the larger share on its only target."""

    def grown(name: str, target: str, size: float) -> ProgramComparison:
        return changed(name, target, old_facts={"memory.temp": 1e6}, new_facts={"memory.temp": size})

    small = [grown("small", "cpu", 4e6), changed("small", "tpu-v5e")]
    large = [grown("large", target, 1.2e6) for target in ("cpu", "tpu-v5e")]
    for programs in ([*small, *large], [*large, *small]):
        first = to_terminal(report(*programs, command="diff"), width=200).splitlines()[0]
        assert first.startswith("▲ 2 functions changed: 2 worse; mainly large, temp +20 %"), first


def test_results_of_another_type_are_in_the_first_line_of_several_functions() -> None:
    def module(*results: str) -> Module:
        types = ", ".join(f"tensor<8x{one}>" for one in results)
        given = ", ".join("%a" if one == "f32" else "%b" for one in results)
        return read_text(
            "module @m {\n  func.func public @main(%a: tensor<8xf32>) -> "
            f"({types}) {{\n    %b = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xbf16>\n"
            f"    return {given} : {types}\n  }}\n}}\n"
        )

    def first(old: Module, *new: Module) -> str:
        programs = [
            ProgramComparison(f"f{n}", "cpu", "stablehlo", "changed", diff(old, one)) for n, one in enumerate(new)
        ]
        return to_terminal(report(*programs, command="diff"), width=200).splitlines()[0]

    plain, one, both = module("f32", "f32"), module("bf16", "f32"), module("bf16", "bf16")
    assert ", results of another type" in first(plain, one, both)
    assert "of another type" not in first(plain, one, module("f32", "f32", "f32")), (
        "it is not said of one function alone"
    )


def test_one_line_for_each_reason_of_what_is_not_checked() -> None:
    programs = [
        ProgramComparison(f"f{n}", "tpu-v4-2x2x1", "compiled", "not_checked", reason="no libtpu", advice="")
        for n in range(9)
    ]
    text = to_terminal(report(*programs))
    assert text.count("no libtpu") == 1
    assert "f0 on tpu-v4-2x2x1, f1 on tpu-v4-2x2x1, f2 on tpu-v4-2x2x1 and 6 more" in text
    assert text.endswith("9 not checked\n")


def test_long_lists_are_cut_and_say_so() -> None:
    edits = tuple(Edit("changed", ("literal",), changes=(FieldChange("literal", str(n), "x"),)) for n in range(500))
    programs = [changed(f"f{n}", found=with_edits(*edits)) for n in range(15)]
    for text in (to_terminal(report(*programs)), to_markdown(report(*programs))):
        assert text.count("\n") < 500
        assert "and 490 more" in text or "--all lists everything" in text
    assert to_terminal(report(*programs[:1], all=True)).count("literal: ") == 500
    assert len(json.loads(to_json(report(*programs[:2])))["programs"][0]["edits"]) == 500


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_narrow_window(width: int) -> None:
    text = to_terminal(report(changed(), next="hlodiff update f"), width=width)
    assert max(map(len, text.split("\n"))) <= width
    assert "model.py:31" in text
    assert len(re.findall(r"next: hlodiff\s+update\s+f\n", text)) == 1


def test_colour_changes_nothing_but_colour() -> None:
    plain, colored = (to_terminal(report(changed()), color=color) for color in (False, True))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (FieldChange("memory_space", "device", "host"), "memory space: device -> host"),
        (
            FieldChange("sharding", "{replicated}", "{devices=[2,1]<=[2]}"),
            "sharding: replicated -> split over 2 devices on dimension 0",
        ),
        (FieldChange("compute_type", "host", "device"), "runs on: host -> device"),
        (FieldChange("attribute:dimensions", "{0}", "{1}"), "dimensions: {0} -> {1}"),
        (FieldChange("precision", "", "{highest}"), "precision: default -> highest"),
        (
            FieldChange("precision", "[#stablehlo<precision DEFAULT>]", ""),
            "precision: [DEFAULT] -> none",
        ),
        (FieldChange("operands", "%a, %b", "%b, %a"), "operands: %a, %b -> %b, %a"),
        (FieldChange("operands", ", ".join("a" * 33), ", ".join("b" * 33)), "operands: other values among 33"),
        (FieldChange("operands", ", ".join("a" * 33), "%a"), "operands: 33 -> 1"),
    ],
)
def test_fields_in_words(change: FieldChange, words: str) -> None:
    assert words_of(Edit("changed", (change.field,), changes=(change,))) == words


def test_files_of_any_folder_are_no_functions() -> None:
    files = [ProgramComparison(f"cpu/{name}", None, "compiled", "identical") for name in "abc"]
    assert format_checked(Report("diff", "a", "b", tuple(files))) == "3 programs, compiled HLO of each"
    both = [replace(one, stage=stage) for one in files for stage in ("stablehlo", "compiled")]
    assert format_checked(Report("diff", "a", "b", tuple(both))) == "3 programs, StableHLO and compiled HLO of each"
    recorded = ProgramComparison("f", "cpu", "compiled", "identical")
    assert format_checked(Report("check", "a", "b", (recorded,))).startswith("1 program: 1 function on cpu")


def test_a_long_tuple_is_not_spelled_out() -> None:
    elements = ["f32[]", "(s32[], pred[2]{0})", "f32[8]{0:S(5)}", *["f32[256,64]{1,0}"] * 190]
    site = Site(0, 0, "main", "t", "tuple", f"%t = ({', '.join(elements)}) tuple(%p)")
    assert (
        words_of(Edit("added", sites=((None, site),)))
        == "tuple %t (f32[], (s32[], pred[2]), f32[8]{0:S(5)}, f32[256,64] and 189 more)"
    )
    few = Site(0, 0, "main", "t", "tuple", f"%t = ({', '.join(elements[:8])}) tuple(%p)")
    assert "more" not in words_of(Edit("added", sites=((None, few),)))


def test_another_opcode_says_what_goes_with_it() -> None:
    """What only one of two opcodes has is no change of its own; what both have is."""
    changes = (
        FieldChange("opcode", "dot_general", "reshape"),
        FieldChange("element_type", "f32", "bf16"),
        FieldChange("precision", "[#stablehlo<precision DEFAULT>]", "none"),
        FieldChange("attribute:dot_dimension_numbers", "#stablehlo.dot<lhs_contracting_dimensions = [1]>", "none"),
        FieldChange("attribute:note", "a", "b"),
        FieldChange("sharding", "none", "{replicated}"),
    )
    edit = Edit("changed", tuple(change.field for change in changes), changes=changes)
    assert words_of(edit) == (
        "dot_general -> reshape: sharding: none -> replicated; element type: f32 -> bf16; note: a -> b"
    )
    bare = Edit("changed", ("opcode", "literal"), changes=(changes[0], FieldChange("literal", "2", "none")))
    assert words_of(bare) == "dot_general -> reshape"


def test_a_lost_donation_in_words() -> None:
    header = ", input_output_alias={ {}: (0, {}, may-alias) }"
    text = "HloModule m%s\nENTRY e {\n  %%p = f32[8]{0} parameter(0)\n  ROOT %%n = f32[8]{0} negate(%%p)\n}\n"
    found = diff(read_hlo(text % header), read_hlo(text % ""))
    for form in (
        to_terminal(report(changed(found=found), all=True)),
        to_markdown(report(changed(found=found), all=True)),
    ):
        assert "interface" in form
        assert form.count("argument 0 is no longer donated") == 2, "placement and edits"
    assert to_terminal(report(changed(found=found))).count("argument is no longer donated") == 2, "the verdict too"
    back = diff(read_hlo(text % ""), read_hlo(text % header))
    assert "1 argument is donated now" in to_terminal(report(changed(found=back)))


def test_numbers_in_words() -> None:
    assert [format_bytes(n) for n in (0, 1023, 1024, 5 * 1024**4)] == ["0 B", "1023 B", "1.0 KiB", "5.0 TiB"]
    assert [format_count(n) for n in (999_999, 1_000_000, 3e12, 7e15)] == ["999,999", "1.00 M", "3.00 T", "7e+03 T"]
    assert [by_how_much(*pair) for pair in ((0, 5), (5, 0), (100, 105), (100, 250), (-10, -5))] == [
        "was 0",
        "now 0",
        "+5.0 %",
        "+150 %",
        "+50 %",
    ]


def test_a_name_of_a_toolchain_that_yaml_reads_as_a_number_is_text() -> None:
    changes = toolchain_changes([("cpu", {1: "a"}, {1: "b"})])  # type: ignore[dict-item]
    assert [(change.what, change.old, change.new) for change in changes] == [("1", "a", "b")]


def test_toolchains_are_compared_key_by_key() -> None:
    old = {"jax": "0.9.2", "xla_flags": [], "x64": False}
    new = {"jax": "0.10.2", "xla_flags": ["--a", "--b"], "x64": False}
    changes = toolchain_changes([("cpu", old, new), ("tpu", old, new), ("cuda", new, new)])
    assert changes == (
        ToolchainChange("jax", "0.9.2", "0.10.2", ("cpu", "tpu")),
        ToolchainChange("xla_flags", "none", "--a --b", ("cpu", "tpu")),
    )


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_is_what_the_design_says() -> None:
    value = json.loads(to_json(report(changed(), command="diff")))
    assert value["format_version"] == "1.2"
    program = value["programs"][0]
    assert {k: program[k] for k in ("name", "target", "stage", "status", "summary", "limits")} == {
        "name": "f",
        "target": "cpu",
        "stage": "compiled",
        "status": "changed",
        "summary": {"added": 0, "removed": 0, "changed": 1, "moved": 0},
        "limits": [],
    }
    assert program["op_counts"]["tanh"] == [1, 0]
    assert program["metrics"]["ops"] == [2, 2]
    edit = program["edits"][0]
    assert (edit["kind"], edit["fields"], edit["count"]) == ("changed", ["opcode", "memory_space"], 1)
    assert edit["old"] == {
        "computation": edit["old"]["computation"],
        "name": edit["old"]["name"],
        "opcode": "tanh",
        "text": edit["old"]["text"],
    }
    assert edit["source"] == [{"file": "model.py", "line": 31, "function": "loss"}]
    assert set(program["channels"]) == {"schedule", "tuning"}
    assert value["totals"] == {
        "programs": 1,
        "identical": 0,
        "changed": 1,
        "added": 0,
        "removed": 0,
        "not_checked": 0,
        "over_budget": 0,
        "passing": 0,
        "broken": 0,
    }


@pytest.mark.parametrize("status", ["added", "removed", "not_checked", "identical"])
def test_json_of_programs_without_a_diff_has_the_same_members(status: Status) -> None:
    one = ProgramComparison(
        "f", None, "compiled", status, op_counts={"add": 2}, reason="why" if status == "not_checked" else ""
    )
    value = json.loads(to_json(report(one)))["programs"][0]
    whole = json.loads(to_json(report(changed())))["programs"][0]
    assert set(whole) <= set(value)
    counts = {"added": [0, 2], "removed": [2, 0], "not_checked": [2, 2], "identical": [2, 2]}
    assert value["op_counts"] == {"add": counts[status]}
    assert value["summary"] == {"added": 0, "removed": 0, "changed": 0, "moved": 0}


def test_all_forms_have_the_same_totals() -> None:
    statuses: list[Status] = ["changed", "added", "removed", "not_checked", "identical", "identical"]
    programs = [
        changed(f"p{n}") if status == "changed" else ProgramComparison(f"p{n}", "cpu", "compiled", status, reason="r")
        for n, status in enumerate(statuses)
    ]
    totals = json.loads(to_json(report(*programs)))["totals"]
    assert (totals["programs"], totals["identical"]) == (6, 2)
    last = "1 changed, 1 new, 1 orphaned, 1 not checked, unchanged: p4, p5"
    assert to_terminal(report(*programs)).split("\n")[-2] == last
    assert to_markdown(report(*programs)).split("\n")[-2].replace("\\", "") == last


# --- what others wrote -----------------------------------------------------------------------------------------------

HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "[bold red]x[/] [link=http://evil]y[/link]",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "a|b\n\n# heading\n| c | d |",
    "`code` ``` ${{ secrets.X }}",
    "\u202eright to left",
    "@everyone ![x](http://evil)",
    "</details></summary>",
]


def hostile_report(text: str) -> Report:
    program = changed(
        name=text, found=with_edits(Edit("changed", ("x",), 2, (), (FieldChange(text, text, text),), text))
    )
    absent = ProgramComparison(text, text, "compiled", "not_checked", reason=text, advice=text, log=text, broken=True)
    return report(program, absent, notes=(text,), toolchain=(ToolchainChange(text, text, text, (text,)),), next=text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("color", [False, True])
def test_nothing_breaks_out_of_the_terminal(text: str, color: bool) -> None:
    out = to_terminal(hostile_report(text), color=color)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out) if color else out
    assert all(c.isprintable() or c == "\n" for c in plain)
    if "[bold" in text:
        assert "[bold red]x[/]" in plain, "rich markup is shown, not obeyed"


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_breaks_out_of_markdown(text: str) -> None:
    out = to_markdown(hostile_report(text))
    assert all(c.isprintable() or c in "\n\u200b" for c in out)
    outside = re.sub(r"`[^`\n]*`", "", out)  # in code spans nothing is obeyed
    assert set(re.findall(r"<[a-z/!][^>]*>", outside)) <= {"<details>", "</details>", "<summary>", "</summary>"}
    assert outside.count("<details>") == outside.count("</details>") == 1
    assert "](http" not in outside
    assert "@everyone" not in outside
    tables = re.findall(r"(?:^\|.*\n)+", out + to_markdown(replace(hostile_report(text), all=True)), re.MULTILINE)
    assert len(tables) == 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().split("\n")}) == 1, table


def test_json_holds_hostile_text_as_text() -> None:
    for text in HOSTILE:
        assert json.loads(to_json(hostile_report(text)))["programs"][0]["name"] == text


def test_escapes() -> None:
    assert printable("plain") == "plain"
    assert printable("a\x00\tb\u2028") == "a\\x00\\tb\\u2028"
    assert printable("a\nb", lines=True) == "a\nb"


# --- policy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "broken", "code"),
    [
        ("identical", False, 0),
        ("not_checked", False, 0),
        ("changed", False, 1),
        ("added", False, 1),
        ("removed", False, 1),
        ("not_checked", True, 2),
    ],
)
def test_what_fails(status: Status, broken: bool, code: int) -> None:
    assert exit_code(judge([ProgramComparison("f", "cpu", "compiled", status, broken=broken, reason="r")])) == code


def test_findings_are_one_for_each_program_and_the_worst_decides() -> None:
    programs = [ProgramComparison("f", "cpu", stage, "added") for stage in ("stablehlo", "compiled")]
    programs.append(ProgramComparison("g", "cpu", "compiled", "not_checked", reason="broken file", broken=True))
    findings = judge(programs)
    assert findings == (
        Finding("error", "new", "f", "cpu", "has no snapshot", "hlodiff update f"),
        Finding("broken", "broken", "g", "cpu", "broken file"),
    )
    assert exit_code(findings) == 2


def test_a_module_is_enough_for_a_diff_without_entry_instructions() -> None:
    empty = Module("m", "compiled", OLD.computations, OLD.entry)
    assert diff(empty, OLD).identical
