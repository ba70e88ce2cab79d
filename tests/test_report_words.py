"""The words of a report: kinds, headlines, instructions and places, on small programs whose difference is plain."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hlodiff.differ import Edit, FieldChange, ModuleDiff, ProgramComparison, Site, diff, format_partition
from hlodiff.hlo import Frame, Module, read_hlo, read_text
from hlodiff.report import Mark, Number, Report, format_edit, format_field_change, to_json, to_markdown, to_terminal
from hlodiff.report.verdict import format_numbers
from hlodiff.snapshots import source_of
from tests.shown import PROGRAM, happened, headline, line_of, marks
from tests.shown import words as words_of
from tests.test_report_forms import executed_of

EMPTY = Module("m", "compiled", (), 0)
HEAD = "HloModule m\n\n"
ADD = HEAD + "ENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %a = f32[8]{0} add(%p, %p)\n}\n"
ON_HOST = (
    HEAD
    + """%inner (p0: f32[8]) -> f32[8] {
  %p0 = f32[8]{0} parameter(0)
  %m = f32[8]{0} multiply(%p0, %p0), frontend_attributes={_xla_compute_type="host"}
  ROOT %n = f32[8]{0} negate(%m), frontend_attributes={_xla_compute_type="host"}
}, execution_thread="host"

ENTRY %e (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %s = ((f32[8]{0}), f32[8]{0}, u32[]) custom-call-start(%p), async_execution_thread="host", \
custom_call_target="HostExecute", called_computations={%inner}
  ROOT %d = f32[8]{0} custom-call-done(%s)
}
"""
)
ON_DEVICE = (
    HEAD
    + """ENTRY %e (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %m = f32[8]{0} multiply(%p, %p)
  ROOT %n = f32[8]{0} negate(%m)
}
"""
)
GATHER = (
    HEAD.replace("\n", ", num_partitions=2\n", 1)
    + """ENTRY e {
  %p = f32[8]{0} parameter(0)
  %g = f32[16]{0} all-gather(%p), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
  ROOT %a = f32[16]{0} add(%g, %g)
}
"""
)


def line(old: str, new: str) -> str:
    return headline(ProgramComparison("f", "cpu", "compiled", "changed", diff(read_hlo(old), read_hlo(new))))


# --- headlines -------------------------------------------------------------------------------------------------------


def test_what_ran_on_the_host_is_placement() -> None:
    site = Site(0, 0, "main", "m", "multiply", "%m = f32[8]{0} multiply(%p, %p)")
    start = Site(
        0, 0, "main", "s", "custom-call-start", '%s = f32[] custom-call-start(), custom_call_target="HostExecute"'
    )
    done = Site(0, 1, "main", "d", "custom-call-done", "%d = f32[8]{0} custom-call-done(%s)")
    changes = (FieldChange("computation", "a", "b"), FieldChange("compute_type", "host", "device"))
    edits = (
        Edit("moved", ("computation", "layout", "compute_type"), 8, ((site, site),), changes),
        Edit("removed", sites=((start, None),)),
        Edit("removed", sites=((done, None),)),
    )
    said = headline(ProgramComparison("f", None, "compiled", "changed", ModuleDiff(PROGRAM, PROGRAM, edits)))
    assert said.startswith("placement: 8 operations now run on the device instead of the host; 2 removed, 8 moved of ")


def test_a_call_of_the_host_that_came_or_went() -> None:
    assert "2 operations now run on the device instead of the host; " in line(ON_HOST, ON_DEVICE)
    assert "2 operations now run on the host instead of the device; " in line(ON_DEVICE, ON_HOST)
    without = ON_DEVICE.replace("  %m = f32[8]{0} multiply(%p, %p)\n", "").replace("negate(%m)", "tanh(%p)")
    assert "1 computation moved from the host to the device; " in line(ON_HOST, without)
    assert "1 computation moved from the device to the host; " in line(without, ON_HOST)


def test_collectives_are_named_with_their_bytes() -> None:
    assert "1 all-gather added (64 B)" in line(ADD, GATHER)
    assert "1 all-gather gone (64 B)" in line(GATHER, ADD)
    assert line(ADD, GATHER).startswith("interface, placement, structure: "), "another result, on two devices"
    inside = GATHER.replace("ROOT %a = f32[16]{0} add(%g, %g)", "ROOT %a = f32[8]{0} add(%p, %p)")
    alone = ADD.replace("HloModule m", "HloModule m, num_partitions=2")
    assert line(alone, inside).startswith("structure: "), "arguments and results are those they were"


def test_a_cast_is_numerics() -> None:
    cast = ADD.replace("add(%p, %p)", "add(%c, %c)").replace(
        "  ROOT", "  %b = bf16[8]{0} convert(%p)\n  %c = f32[8]{0} convert(%b)\n  ROOT"
    )
    assert line(ADD, cast).startswith("numerics: ")
    integers = [text.replace("bf16", "u32").replace("f32", "s32") for text in (ADD, cast)]
    assert line(*integers).startswith("structure: ")


def test_a_value_of_another_type_in_the_place_of_one_that_is_gone_is_no_cast() -> None:
    """A compiler's fusion after an all-reduce that is gone: what is paired with it holds something else."""
    one, other = (Site(0, n, "main", "f", "fusion", f"%f = {t}[8] fusion(%p)") for n, t in enumerate(("f32", "bf16")))
    typed = Edit(
        "changed", ("element_type",), 2, ((one, other),), (FieldChange("element_type", "f32", "bf16"),), cause=1
    )
    gone = Edit("removed", (), 1, ((Site(0, 1, "main", "a", "all-reduce", "%a = f32[8] all-reduce(%f)"), None),))
    before, after = (read_text(ADD), read_text(ADD))
    assert not [words for words in happened(ModuleDiff(before, after, (typed, gone))) if "now bf16" in words]
    found = happened(ModuleDiff(before, after, (replace(typed, cause=None), gone)))
    assert "at least 2 values now bf16 instead of f32" in found


@pytest.mark.parametrize(
    ("old", "new", "is_said"),
    [
        ("%w = f32[8]{0} convert(%b)", "%w = bf16[8]{0} negate(%b)", False),  # it held the numbers of %b
        ("%w = f32[8]{0} negate(%p)", "%w = bf16[8]{0} negate(%b)", True),  # it is rounded now
    ],
)
def test_a_value_that_was_cast_from_the_narrower_type_held_the_same_numbers(old: str, new: str, is_said: bool) -> None:
    """A CPU casts the operands of a product up; that it takes them as they are is no loss of precision."""
    before, after = (
        read_text(
            f"{HEAD}ENTRY e {{\n  %p = f32[8]{{0}} parameter(0)\n  %b = bf16[8]{{0}} convert(%p)\n  {value}\n"
            '  ROOT %r = f32[1]{0} custom-call(%w), custom_call_target="sum"\n}\n'
        )
        for value in (old, new)
    )
    change = FieldChange("element_type", "f32", "bf16")
    sites = tuple(Site(0, 2, "e", "w", value.split()[3].partition("(")[0], value) for value in (old, new))
    edit = Edit("changed", ("element_type",), 1, ((sites[0], sites[1]),), (change,))
    assert any("now bf16" in words for words in happened(ModuleDiff(before, after, (edit,)))) == is_said


def test_of_types_that_changed_in_both_directions_the_one_that_more_values_have_is_said() -> None:
    """Gradients of two types that were paired with each other are no change of two values."""

    def typed(opcode: str, count: int, *types: str) -> Edit:
        one, other = (Site(0, n, "main", "v", opcode, f"%v = {t}[8] {opcode}(%p)") for n, t in enumerate(types))
        change = (FieldChange("element_type", *types),)
        return Edit("changed", ("element_type",), count, ((one, other),), change)

    edits = typed("fusion", 2, "f32", "bf16"), typed("copy", 4, "bf16", "f32"), typed("fusion", 8, "bf16", "f32")
    found = happened(ModuleDiff(read_text(ADD), read_text(ADD), edits))
    assert [words for words in found if "instead of" in words] == ["4 values now f32 instead of bf16"]


@pytest.mark.parametrize(
    ("taken", "is_said"), [("convolution(%t, %x), dim_labels=bf_io->bf", False), ("subtract(%t, %x)", True)]
)
def test_a_value_of_another_type_that_only_products_take_is_no_sentence(taken: str, is_said: bool) -> None:
    """A TPU rounds what it multiplies anyway: the program has no class `numerics`."""
    square, row = "f32[64,64]{1,0}", "s32[8]{0}"
    old = (
        f"{HEAD}ENTRY e {{\n  %x = {square} parameter(0)\n  %n = {row} parameter(1)\n  %t = {square} tanh(%x)\n"
        f"  %r = {square} {taken}\n  ROOT %u = ({square}, {row}) tuple(%r, %n)\n}}\n"
    )
    new = old.replace("%t = f32", "%t = bf16").replace("tuple(%r, %n)", "tuple(%r, %m)")
    new = new.replace("  ROOT", f"  %m = {row} negate(%n)\n  ROOT")
    program = ProgramComparison("f", "tpu-v5e", "compiled", "changed", diff(read_hlo(old), read_hlo(new)))
    assert ("numerics" in program.classes) is is_said
    assert ("now bf16 instead of f32" in to_terminal(Report("diff", "a", "b", (program,)))) is is_said


def test_a_table_of_which_one_side_is_stored_as_its_hash_holds_other_numbers() -> None:
    """The text of that side has a 0 in the place of the table."""
    changes = FieldChange("literal", "dense<[1, 2]>", "dense<0>"), FieldChange("literal", "", '"sha256:f9, 784 bytes"')
    edit = Edit("changed", ("shape", "literal"), changes=(FieldChange("shape", "f32[2]", "f32[196]"), *changes))
    assert format_edit(edit) == "shape: f32[2] -> f32[196]; literal: other numbers"


def test_an_argument_of_another_type_is_the_interface_and_an_inner_parameter_is_not() -> None:
    assert line(ADD, ADD.replace("f32", "bf16")).startswith("interface, numerics: 2 values now bf16 instead of f32; ")
    fused = (
        HEAD
        + """%fused {
  %q = f32[8]{0} parameter(0)
  ROOT %t = f32[8]{0} tanh(%q)
}

ENTRY e {
  %p = f32[8]{0} parameter(0)
  %x = f32[8]{0} exponential(%p)
  ROOT %f = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
}
"""
    )
    other = fused.replace("%q = f32", "%q = bf16").replace("%x = f32", "%x = bf16")
    assert line(fused, other).startswith("numerics: ")


def test_a_memory_space_is_called_by_its_name() -> None:
    spaced = ADD.replace("ROOT %a = f32[8]{0}", "ROOT %a = f32[8]{0:T(128)S(1)}")
    plain = ADD.replace("ROOT %a = f32[8]{0}", "ROOT %a = f32[8]{0:T(128)}")
    assert "1 value now in vmem instead of device memory" in line(plain, spaced)


def test_at_most_three_facts_stand_before_the_counts() -> None:
    kinds = [("sharding", "{a}", "{b}"), ("compute_type", "host", "device"), ("memory_space", "host", "device"),
             ("memory_space", "device", "vmem"), ("element_type", "f32", "bf16")]  # fmt: skip
    edits = tuple(Edit("changed", (f,), 2, changes=(FieldChange(f, a, b),)) for f, a, b in kinds)
    said = headline(ProgramComparison("f", None, "compiled", "changed", ModuleDiff(EMPTY, EMPTY, edits)))
    assert said == (
        "placement, numerics, cost: 2 operations now run on the device instead of the host; 2 values now in device "
        "memory instead of host memory; 2 values now bf16 instead of f32; 10 changed of 1 instruction"
    )


# --- instructions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opcode", "text", "words"),
    [
        ("add", "%a = f32[8]{0:T(128)} add(%x, %y)", "add %a f32[8]"),
        ("add", "%a = f32[8]{0:T(128)S(1)} add(%x, %y)", "add %a f32[8]{0:T(128)S(1)}"),
        ("parameter", "%a = f32[] parameter(3), sharding={replicated}", "parameter %a f32[] (3)"),
        ("constant", '%a = u8[3] constant("a)b")', 'constant %a u8[3] ("a)b")'),
        (
            "custom-call",
            '%a = f32[2]{0} custom-call(%x), custom_call_target="a,b", backend_config={"x":["y)"]}',
            'custom-call %a f32[2], custom_call_target="a,b"',
        ),
        (
            "sdy.sharding_constraint",
            '%a = f32[2] sdy.sharding_constraint(%x), sharding=#sdy.sharding<@mesh, [{"d"}, {}]>',
            "sdy.sharding_constraint %a f32[2], sharding=P('d', None)",
        ),
        ("rng", "%a = f32[2] rng(%x", "rng %a f32[2]"),
    ],
)
def test_instructions_in_words(opcode: str, text: str, words: str) -> None:
    assert words_of(Edit("added", sites=((None, Site(0, 0, "main", "a", opcode, text)),))) == words


@pytest.mark.parametrize(
    ("field", "old", "new", "words"),
    [
        ("attribute:dimensions", "array<i64: 0, 1>", "array<i64: 1, 2>", "dimensions: [0, 1] -> [1, 2]"),
        ("attribute:dimensions", "array<i64>", "array<i64: 1>", "dimensions: [] -> [1]"),
        (
            "replica_groups",
            "dense<[[0, 1]]> : tensor<1x2xi64>",
            "dense<0> : tensor<1x1xi64>",
            "over 1 device instead of 2",
        ),
        ("replica_groups", "{{0,1},{2,3}}", "{{0,2},{1,3}}", "groups of devices: {{0,1},{2,3}} -> {{0,2},{1,3}}"),
        ("replica_groups", "[2,2]<=[4]", "{{0,1,2,3}}", "over 4 devices instead of 2"),
        ("attribute:padding", "dense<0> : tensor<9x2xi64>", "none", "padding: dense<0> : tensor<9x2xi64> -> none"),
        ("literal", "dense<[1.000000e+00, -5.000000e-01]>", "dense<[1.0, 2.0]>", "literal: [1, -0.5] -> [1, 2]"),
        ("attribute:sizes", "dense<1> : tensor<1xi64>", "dense<[1]> : tensor<1xi32>",
         "sizes: dense<1> : tensor<1xi64> -> dense<[1]> : tensor<1xi32>"),
    ],
)  # fmt: skip
def test_lists_of_mlir_are_written_as_lists(field: str, old: str, new: str, words: str) -> None:
    assert words_of(Edit("changed", (field,), changes=(FieldChange(field, old, new),))) == words


# --- places ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "shown", "library"),
    [
        ("/srv/mine/project/pkg/model.py", "pkg/model.py", False),
        ("/srv/other/elsewhere/model.py", "model.py", False),
        ("/srv/mine/project/.venv/lib/python3.11/site-packages/diffrax/_integrate.py", "diffrax/_integrate.py", True),
        ("/usr/lib/python3/dist-packages/jax/_src/nn.py", "jax/_src/nn.py", True),
        ("C:\\Users\\you\\venv\\Lib\\site-packages\\diffrax\\_integrate.py", "diffrax/_integrate.py", True),
        ("C:\\Users\\you\\model.py", "model.py", False),
        ("/usr/lib/python3.11/functools.py", "python3.11/functools.py", True),
        ("site-packages/equinox/nn/_mlp.py", "equinox/nn/_mlp.py", True),
        ("pkg/model.py", "pkg/model.py", False),
        ("<stdin>", "<stdin>", True),
    ],
)
def test_files_name_no_machine(file: str, shown: str, library: bool) -> None:
    root = "/srv/mine/project"
    frame = Frame(file, 12, "step")
    assert line_of((frame,), root) == (shown, 12, "step", library)
    portable = source_of(replace(EMPTY, frames=(frame,)), root)["frames"][0][0]
    stored = replace(frame, file=portable)
    assert line_of((stored,)) == (shown, 12, "step", library)
    assert source_of(replace(EMPTY, frames=(stored,)), root)["frames"][0][0] == portable


def test_the_innermost_frame_of_the_user_s_own_code() -> None:
    library = Frame("/opt/lib/python3.12/site-packages/anything/deep.py", 12, "solve.<locals>.step")
    own = Frame("/srv/mine/model.py", 31, "loss")
    assert line_of((library, own, Frame("/srv/mine/train.py", 7, "main"))) == ("model.py", 31, "loss", False)
    assert line_of((library,)) == ("anything/deep.py", 12, "solve.step", True)
    assert line_of(()) == ("", 0, "", False)


def traced(file: str) -> Report:
    edit = Edit(
        "changed", ("literal",), 1, (), (FieldChange("literal", "0" * 300, "1"),), None, (Frame(file, 31, "f"),)
    )
    program = ProgramComparison("f", "cpu", "compiled", "changed", ModuleDiff(EMPTY, EMPTY, (edit,)))
    return Report("diff", "a", "b", (program,), root="/srv/mine")


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_place_in_python_is_never_cut(width: int) -> None:
    long = "/".join(["a_folder_with_a_name"] * 8) + "/model.py"
    for file in ("model.py", long):
        assert f"{file}:31 (f)\n" in to_terminal(traced(f"/srv/mine/{file}"), width=width)
        assert f"`{file}:31 (f)`" in to_markdown(traced(f"/srv/mine/{file}"))


def test_json_names_no_machine() -> None:
    value = json.loads(to_json(traced("/srv/venv/lib/python3.11/site-packages/diffrax/_integrate.py")))
    assert value["programs"][0]["edits"][0]["source"][0]["file"] == "diffrax/_integrate.py"
    assert json.loads(to_json(traced("/srv/mine/x/y.py")))["programs"][0]["edits"][0]["source"][0]["file"] == "x/y.py"


# --- numbers that a reviewer reads -----------------------------------------------------------------------------------


def test_counts_that_mean_little_are_left_out() -> None:
    metrics: dict[str, tuple[float, float]] = {
        "functions": (1, 3), "instructions": (9, 90), "copies": (3, 10), "copy_bytes": (1024, 4096),
        "collectives": (2, 3), "collectives.all-reduce": (2, 2), "collective_bytes.all-reduce": (69632, 32768),
        "collectives.all-gather": (0, 1), "collective_bytes.all-gather": (0, 512), "custom_calls.topk": (0, 2),
        "memory.output": (40962, 40960), "estimated_cycles": (100, 301),
    }  # fmt: skip
    edits = (Edit("changed", ("schedule",), 1),)
    found = ModuleDiff(EMPTY, EMPTY, edits, metrics=metrics, executed=executed_of(metrics))
    text = to_terminal(
        Report("diff", "a", "b", (ProgramComparison("f", None, "compiled", "changed", found),), all=True), width=160
    )
    assert text.split("\n")[3:9] == [
        "    collectives  all-reduce 2 (68.0 KiB -> 32.0 KiB), all-gather 0 -> 1 (512 B)",
        "    moves        copies 3 -> 10 (1.0 KiB -> 4.0 KiB)",
        "    other        topk 0 -> 2",
        "    memory       output 40,962 B -> 40,960 B (-2)",
        "    XLA's cost   estimated cycles 100 -> 301 (+201 %)",
        "    edits",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('#sdy.sharding<@mesh, [{"data"}, {"model"}]>', "P('data', 'model')"),
        ('#sdy.sharding<@mesh, [{}, {"model"}]>', "P(None, 'model')"),
        ('#sdy.sharding<@mesh, [{"a", "b"}]>', "P(('a', 'b'),)"),
        ("#sdy.sharding<@mesh, [{}, {}]>", "replicated"),
        ('#sdy.sharding<@mesh, [{"x", ?}, {}]>', 'dimension 0 over axis "x"'),
        ('#sdy.sharding<@mesh, [{"x":(1)2}]>', 'dimension 0 over axis "x" (2 devices)'),
        ('#sdy.sharding<@mesh, [{"x"}], replicated={"y"}>', 'dimension 0 over axis "x", replicated over axis "y"'),
        ("{devices=[2,1]<=[2]}", "split over 2 devices on dimension 0"),
    ],
)
def test_shardings_as_jax_writes_them(text: str, words: str) -> None:
    assert format_partition(text) == words


def test_a_result_of_another_type_is_named_unless_it_follows_from_an_argument() -> None:
    convert = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %c = TYPE[8]{0} convert(%p)\n}\n"
    said = line(convert.replace("TYPE", "f16"), convert.replace("TYPE", "bf16"))
    assert "result 0 is bf16[8] instead of f16[8]" in said
    assert "result 0" not in line(ADD, ADD.replace("f32", "bf16"))


def test_less_aliased_because_less_is_returned_is_not_worse() -> None:
    old = {"memory.alias": 64.0, "memory.output": 80.0, "memory.argument": 80.0}

    def mark(alias: float, output: float) -> str:
        program = ProgramComparison(
            "f", "cpu", "compiled", "changed", diff(read_hlo(ADD), read_hlo(ADD)), old_facts=old
        )
        program = replace(program, new_facts={**old, "memory.alias": alias, "memory.output": output})
        return marks(program).get("aliased", "")

    assert (mark(48.0, 64.0), mark(48.0, 80.0), mark(48.0, 48.0)) == ("", "worse", "")
    assert (mark(80.0, 80.0), mark(80.0, 96.0)) == ("better", "")


def test_equal_words_say_what_differs() -> None:
    """Axes of a mesh of other sizes, and a number that is the same in another type."""
    sharding = [f'#sdy.sharding<@{mesh}, [{{"data"}}, {{}}]>' for mesh in ("mesh_data2", "mesh_data4")]
    words = words_of(Edit("changed", ("sharding",), changes=(FieldChange("sharding", *sharding),)))
    assert words == "sharding: P('data', None) of mesh_data2 -> P('data', None) of mesh_data4"
    changes = (FieldChange("element_type", "f32", "bf16"), FieldChange("literal", "dense<0xFF800000>", "dense<0xFF80>"))
    edit = Edit("changed", ("element_type", "literal"), changes=changes)
    assert words_of(edit) == "element type: f32 -> bf16"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("%call.1, %a", "%call.1#1, %a", "operands: %call.1#1 instead of %call.1"),
        (
            "%call.1#1, %call.1",
            "%call.1, %call.1#1",
            "operands: %call.1 instead of %call.1#1, %call.1#1 instead of %call.1",
        ),
        ("%a, %b", "%a, %b", "operands: other values of the same names"),
        ("%a", "%a", "operands: other values of the same names (%a)"),
    ],
)
def test_another_result_of_the_same_call(old: str, new: str, words: str) -> None:
    assert words_of(Edit("changed", ("operands",), changes=(FieldChange("operands", old, new),))) == words


def test_operands_are_counted_whole_where_the_list_is_cut() -> None:
    names = [f"%a_rather_long_name_of_an_operand_{n}" for n in range(60)]
    text = "HloModule m\n\nENTRY e {{\n{given}  ROOT r = ({types}) tuple({taken})\n}}\n"
    given = "".join(f"  {name} = f32[{n + 1}] parameter({n})\n" for n, name in enumerate(names))
    sides = [names, names[1:]]
    old, new = (
        read_text(
            text.format(given=given, types=", ".join(f"f32[{n + 1 + k}]" for k in range(60 - n)), taken=", ".join(some))
        )
        for n, some in enumerate(sides)
    )
    words = [format_field_change(one, edit) for edit in diff(old, new).edits for one in edit.changes]
    assert "shape: 59 elements instead of 60, without f32[1]" in words and "operands: 60 -> 59" in words, words


def test_a_long_tuple_with_other_elements_says_which_came_and_went() -> None:
    old = f"({', '.join(['s32[]', *['f32[64]'] * 9, 'f32[2,8]'])})"
    new = f"({', '.join(['s32[]', *['f32[64]'] * 7, 'pred[8]', 'f32[2,8]'])})"
    found = FieldChange("shape", old, new)
    assert format_field_change(found) == "shape: 10 elements instead of 11, without 2 f32[64], with pred[8]"
    retyped = FieldChange("shape", old, old.replace("f32[2,8]", "bf16[2,8]"))
    assert format_field_change(retyped) == "shape: 1 of 11 elements: f32[2,8] -> bf16[2,8]"
    short = FieldChange("shape", "(f32[2], f32[3])", "(f32[2])")
    assert format_field_change(short) == "shape: (f32[2], f32[3]) -> (f32[2])"


def test_an_edit_keeps_long_values_and_reports_cut_them() -> None:
    old, new = (", ".join(f"key_{n}={n + more}" for n in range(100)) for more in (0, 1))
    edit = Edit("changed", ("backend_config",), changes=(FieldChange("backend_config", old, new),))
    (told,) = edit.to_json()["changes"]
    assert (edit.changes[0].old, edit.changes[0].new) == (old, new)
    assert told["old"] == f"{old[:500]} ... ({len(old)} characters)" and len(told["new"]) < 550
    assert len(format_field_change(edit.changes[0], edit)) < 1200


def test_arguments_that_grew_are_listed_though_the_device_needs_no_more() -> None:
    """What callers keep is no matter of temporaries: it has no mark, and is not left out."""
    saved = [Number(name, 100, 80, mark="better", rank=3 - n) for n, name in enumerate(("temp", "bytes accessed"))]
    grown = Number("arguments", 100, 110, "bytes")
    words = "▼ better: temp 100 -> 80 (-20 %), bytes accessed 100 -> 80 (-20 %); arguments 100 B -> 110 B (+10 %)"
    assert format_numbers([*saved, grown], 0) == words


def test_what_is_worse_is_not_hidden_behind_what_is_better() -> None:
    def number(name: str, mark: Mark, rank: float) -> Number:
        return Number(name, 100, 112 if mark == "worse" else 88, mark=mark, relevant=True, rank=rank)

    saved = [number(name, "better", 3 - n) for n, name in enumerate(("flops", "bytes accessed", "launches"))]
    dearer = [number("temp", "worse", 0.2), number("copies", "worse", 0.1)]
    other = Number("fusions", 4, 5, relevant=True)
    words = format_numbers([*saved, *dearer, other], 0)
    assert words == (
        "▼ better: flops 100 -> 88 (-12 %), 2 more; ▲ worse: temp 100 -> 112 (+12 %), copies 100 -> 112 (+12 %)"
    )
    worst = [number(name, "worse", 3 - n) for n, name in enumerate(("flops", "bytes accessed", "launches", "temp"))]
    assert format_numbers([*worst, number("copies", "better", 0.1)], 0).endswith(
        "bytes accessed 100 -> 112 (+12 %), 2 more; ▼ better: copies 100 -> 88 (-12 %)"
    )
