"""Which pass made two programs differ: two regressions of XLA, and small dumps whose answer is known."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from hlodiff.cli import run
from hlodiff.differ import Limits, ModuleDiff, ProgramComparison, diff
from hlodiff.differ.passes import Dump, PassBlame, dumps_of
from hlodiff.differ.passes import blame as blame_module
from hlodiff.differ.passes.blame import LabelCounter, blame, clean, label_of
from hlodiff.graph import call_graph
from hlodiff.hlo import Instruction, Module, read_hlo
from hlodiff.report import Report, edit_words, to_json
from tests.pass_dumps import compiled, dump, unpack

SCATTER = ("scatter-cuda-h100-jax-0.9.1", "scatter-cuda-h100-jax-0.9.2")
DONATED = ("donated-cpu-jax-0.7.1", "donated-cpu-jax-0.7.2")


def blamed(names: tuple[str, str]) -> PassBlame:
    return blame(dump(names[0]), dump(names[1]))


def said_of(found: PassBlame) -> list[str]:
    """What a report says of the passes, the one that parted the compiles first."""
    program = ProgramComparison("f", "cpu", "compiled", "changed", passes=found)
    (shown,) = json.loads(to_json(Report("diff", "a", "b", (program,))))["programs"]
    return list(shown["passes"]["lines"])


def test_the_pass_that_the_maintainers_of_xla_found_for_the_slower_scatter() -> None:
    """Since JAX 0.9.2 the scatter simplifier no longer sorts `scatter_dims_to_operand_dims` (jax-ml/jax#39959)."""
    found = blamed(SCATTER)
    (parting,) = found.partings
    assert said_of(found)[0] == (
        "first differs after scatter_simplifier (pass 6 of 60; old: 6 of 67); before it the programs are the same"
    )
    assert parting.diff.summary == {"added": 0, "removed": 3, "changed": 1, "moved": 0}
    (changed,) = (edit for edit in parting.diff.edits if edit.kind == "changed")
    assert changed.new is not None
    assert changed.new.opcode == "scatter"
    values = {change.field: (change.old, change.new) for change in changed.changes}
    assert values["attribute:scatter_dims_to_operand_dims"] == ("{0}", "{1}")
    assert [(stage.number, stage.follows.name) for side, stage in found.alone if side == 0][:2] == [
        (7, "algsimp"),
        (8, "cse"),
    ]


def test_the_donated_buffer_that_is_no_longer_reused() -> None:
    """openxla/xla#45912: the array has a second buffer since JAX 0.7.2, and no copy is in the program."""
    found = blamed(DONATED)
    assert said_of(found)[0].startswith("first differs after cpu-parallel-task-assigner (pass 30 of 35; old: 29 of 35)")
    edits = {(edit.kind, (edit.old or edit.new).opcode) for edit in found.partings[0].diff.edits}  # type: ignore[union-attr]
    assert edits == {("removed", "call"), ("moved", "exponential"), ("moved", "fusion")}


def test_one_full_diff_for_each_place_where_two_compiles_part(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(old: Module, new: Module, *, limits: Limits) -> ModuleDiff:
        calls.append("diff")
        return diff(old, new, limits=limits)

    monkeypatch.setattr(blame_module, "diff", counted)
    blamed(SCATTER)
    assert len(calls) == 1
    assert blame(dump(SCATTER[0]), dump(SCATTER[0])).partings == ()
    assert len(calls) == 1


BODY = """HloModule m, entry_computation_layout={{(f32[4]{{0}})->f32[4]{{0}}}}
ENTRY e {{
  p = f32[4]{{0}} parameter(0)
{}}}
"""
PLAIN = "  ROOT s = f32[4]{0} sine(p)\n"
TWICE = "  n = f32[4]{0} negate(p)\n  m = f32[4]{0} negate(n)\n  ROOT s = f32[4]{0} sine(m)\n"
COPIED = "  c = f32[4]{0} copy(p)\n  ROOT s = f32[4]{0} sine(c)\n"
OTHER = "  ROOT s = f32[4]{0} cosine(p)\n"
OTHER_COPIED = "  c = f32[4]{0} copy(p)\n  ROOT s = f32[4]{0} cosine(c)\n"


def made(*stages: tuple[str, str], pipeline: str = "main") -> Dump:
    """A dump of texts, each after a pass of this name; the first one before all passes."""
    texts = {"module_0000.jit_f.before_optimizations.txt": BODY.format(stages[0][1])}
    for number, (name, body) in enumerate(stages[1:]):
        texts[f"module_0000.jit_f.{number:04d}.{pipeline}.after_{name}.before_x.txt"] = BODY.format(body)
    (found,) = dumps_of(texts, lambda name: texts[name].encode())
    return found


def lines(old: Dump, new: Dump) -> list[str]:
    return said_of(blame(old, new))


def test_compiles_that_part_and_meet_again() -> None:
    old = made(("", PLAIN), ("a", PLAIN), ("b", PLAIN), ("c", PLAIN), ("d", PLAIN))
    new = made(("", PLAIN), ("a", TWICE), ("b", PLAIN), ("c", COPIED), ("d", COPIED))
    assert lines(old, new) == [
        "again differs after c (pass 2 of 3); before it the programs are the same",
        "differs after a (pass 0 of 3) and is the same again after b (pass 1 of 3)",
    ]
    same = made(("", PLAIN), ("a", TWICE), ("b", PLAIN))
    assert lines(made(("", PLAIN), ("a", PLAIN), ("b", PLAIN)), same) == [
        "the texts of all passes are the same on both sides",
        "differs after a (pass 0 of 1) and is the same again after b (pass 1 of 1)",
    ]


def test_a_pass_that_changes_one_side_only_is_named() -> None:
    old = made(("", PLAIN), ("a", PLAIN), ("z", PLAIN))
    new = made(("", PLAIN), ("a", PLAIN), ("inserter", COPIED), ("z", COPIED))
    assert lines(old, new) == [
        "first differs after inserter (pass 1 of 2, new only); before it the programs are the same",
        "changed the program on the new side only: inserter (pass 1)",
    ]
    assert lines(new, old)[0].startswith("first differs after inserter (pass 1 of 2, old only)")


def test_a_difference_of_stablehlo_is_carried_through_and_what_a_pass_adds_is_told_apart() -> None:
    old = made(("", PLAIN), ("a", PLAIN), ("inserter", PLAIN))
    new = made(("", OTHER), ("a", OTHER), ("inserter", OTHER_COPIED))
    found = blame(old, new)
    assert said_of(found)[0] == "differs before all passes: StableHLO difference carried through"
    modules = [compiled(one) for one in (old, new)]
    final = diff(modules[0], modules[1])
    words = {
        (edit.new.opcode if edit.new else ""): edit_words(found, edit, (final.old, final.new)) for edit in final.edits
    }
    start = "differs before all passes: StableHLO difference carried through"
    assert words.pop("cosine") == start
    assert [text for text in words.values() if text.startswith(start) and text.endswith("since inserter (pass 1 of 1)")]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["diff", *words])
    out, err = capsys.readouterr()
    return code, out, err


GATHERED = """  z = s32[1]{{0}} constant({{0}})
  ROOT g = f32[1,4]{{1,0}} gather(p, z), offset_dims={{1}}, collapsed_slice_dims={{}}, start_index_map={{0}}, \
index_vector_dim=0, slice_sizes={{4}}{}{}
"""


def test_an_attribute_of_stablehlo_is_carried_through_though_a_pass_changed_another_one() -> None:
    """The gather has its final form since a pass that changed something else in it, on both sides."""
    sorted_, late = ", indices_are_sorted=true", ", statistics={visualizing_index=0,a=1}"
    sides = [
        made(*((name, GATHERED.format(mine, late if name == "b" else "")) for name in ("", "a", "b")))
        for mine in ("", sorted_)
    ]
    found = blame(sides[0], sides[1])
    modules = [clean(compiled(one)) for one in sides]
    final = diff(modules[0], modules[1])
    (edit,) = final.edits
    assert edit.fields == ("attribute:indices_are_sorted",)
    start = "differs before all passes: StableHLO difference carried through"
    assert edit_words(found, edit, (modules[0], modules[1])) == start


REDUCED = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}, replica_count=2
add {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT x = f32[] add(l, r)
}
ENTRY e {
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} all-reduce(p), channel_id=CHANNEL, replica_groups={{0,1}}, to_apply=add
  ROOT s = f32[4]{0} cosine(a)
}
"""


def test_since_when_a_collective_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Channels are numbered by each pass, and are no part of what a collective is."""
    before = BODY.format(OTHER)
    sides = {
        "old": [BODY.format(PLAIN)] * 4,
        "new": [before, before, REDUCED.replace("CHANNEL", "1"), REDUCED.replace("CHANNEL", "2")],
    }
    for side, texts in sides.items():
        (tmp_path / side).mkdir()
        for stage, text in zip(
            ("before_optimizations", *(f"{n:04d}.main.after_{'abc'[n]}.before_x" for n in range(3))), texts, strict=True
        ):
            (tmp_path / side / f"module_0000.jit_f.{stage}.txt").write_text(text)
        (tmp_path / side / "module_0000.jit_f.after_optimizations.txt").write_text(texts[-1])
    code, out, _ = said(capsys, str(tmp_path / "old"), str(tmp_path / "new"), "--passes")
    assert code == 0
    line = " ".join(out.partition("added all-reduce ")[2].split())
    assert "the new side has it since b (pass 1 of 2)" in line


def test_the_command_on_two_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (str(unpack(name, tmp_path)) for name in SCATTER)
    code, out, _ = said(capsys, old, new, "--passes")
    assert code == 0
    assert "passes: first differs after scatter_simplifier (pass 6 of 60; old: 6 of 67)" in out
    assert out.count("first differs after scatter_simplifier") > 3  # once for the program, once for each group of edits
    code, out, _ = said(capsys, old, new, "--passes", "--format", "json")
    (program,) = json.loads(out)["programs"]
    assert program["name"] == "jit_segsum"
    (parting,) = program["passes"]["partings"]
    assert [one["pass"] for one in parting["after"]["passes"]] == ["scatter_simplifier", "scatter_simplifier"]
    assert all("scatter_simplifier" in edit["passes"] for edit in program["edits"])
    code, out, _ = said(capsys, old, new, "--passes", "--format", "markdown")
    assert (code, "scatter\\_simplifier" in out) == (0, True)
    code, out, _ = said(capsys, old, old, "--passes", "--exit-code")
    assert (code, "passes" in out) == (0, False)


@pytest.mark.parametrize("name", [*SCATTER, *DONATED, "matmul-tpu-v5e-2x2"])
def test_labels_of_lines_are_those_of_instructions_that_were_parsed(name: str) -> None:
    counter = LabelCounter()
    for stage in dump(name).stages:
        text = dump(name).read(stage.file).decode()
        parsed = Counter(
            label_of(it, with_layout)
            for it in _reached(clean(read_hlo(text)))
            for with_layout in (False, True)
            if it.opcode != "parameter"
        )
        assert counter.count(text) == parsed, stage.file


def _reached(module: Module) -> list[Instruction]:
    """What the entry reaches."""
    computations = call_graph(module)
    reached = [module.entry, *nx.descendants(computations, module.entry)]
    return [it for index in reached for it in module.computations[index].instructions]


def test_what_has_no_pass_dump_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = str(unpack("matmul-cpu", tmp_path))
    (tmp_path / "empty").mkdir()
    for other, words in (
        (str(tmp_path / "empty"), "has no text of any pass"),
        ("main", "--passes compares two folders"),
    ):
        code, _, err = said(capsys, old, other, "--passes")
        assert code == 2
        assert words in err
