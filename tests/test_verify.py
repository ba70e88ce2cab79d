"""Every diff replays: its edits, and nothing else, turn the old program into the new one."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import hlodiff
from benchmarks.edits import EDITS, kinds
from benchmarks.noise import Noise
from benchmarks.pairs import make_pair
from benchmarks.programs import Program, snapshots
from benchmarks.writer import write
from hlodiff.differ import (
    AddStep,
    ChangeStep,
    Edit,
    EditReference,
    EditScript,
    InstructionPair,
    ModuleDiff,
    OperandRewiring,
    RemoveStep,
    canonical_direction,
    diff,
    replay,
    verify,
)
from hlodiff.errors import DiffError
from hlodiff.hlo import (
    Computation,
    Instruction,
    LazyComputations,
    Module,
    Shape,
    TextFingerprinter,
    read_hlo,
    read_text,
)
from tests.scenarios import module
from tests.test_ground_truth import COMPILED, LOWERED

SMALL = [program for program in (*COMPILED, *LOWERED) if len(program.text()) < 60_000]
SETTINGS = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
DIFF = Path(hlodiff.__file__ or "").parent / "differ"
JUDGES = ("script", "verify")


def failures(old: Module, new: Module) -> tuple[str, ...]:
    return diff(old, new).replay().failures


def both_ways(old: Module, new: Module) -> list[str]:
    return [*failures(old, new), *failures(new, old)]


def test_the_judge_shares_nothing_with_the_matcher() -> None:
    """A replay knows records, errors, what a line holds and how a graph is made: nothing that pairs, hashes, labels."""
    allowed = {"hlodiff.hlo.model", "hlodiff.hlo.grammar", "hlodiff.graph", "hlodiff.errors"}
    allowed |= {f"hlodiff.differ.{name}" for name in JUDGES}
    for name in JUDGES:
        tree = ast.parse((DIFF / f"{name}.py").read_text(encoding="utf-8"))
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        modules = {node.module for node in froms if node.module != "hlodiff.hlo"}
        modules |= {f"hlodiff.hlo.{one.name}" for node in froms if node.module == "hlodiff.hlo" for one in node.names}
        assert {m for m in modules if m and m.startswith("hlodiff")} <= allowed
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not any(one.startswith("hlodiff") for one in names)


@pytest.mark.parametrize("kind", ["noise", "several", *EDITS])
def test_every_known_edit_replays(kind: str) -> None:
    count = 0
    for number, program in enumerate((*COMPILED, *LOWERED)):
        if kind in ("noise", "several") or kind in kinds(program.stage):
            noise = Noise(metadata="stripped", schedule=bool(number % 2))
            pair = make_pair(program.text(), kind, noise, Random(f"{kind} {number}"), 12)
            if pair is not None:
                count += 1
                sides = (pair.old, pair.new) if number % 3 else (pair.new, pair.old)
                assert failures(*sides) == (), (program.target, program.name)
    assert count


@SETTINGS
@given(st.integers(0, 100), st.sampled_from([*EDITS, "several"]), st.integers(0, 2**32), st.integers(2, 40))
def test_random_edits_replay_both_ways(program: int, kind: str, seed: int, at_once: int) -> None:
    made = make_pair(SMALL[program % len(SMALL)].text(), kind, Noise(), Random(seed), at_once)
    assume(made is not None)
    assert made is not None
    assert both_ways(made.old, made.new) == []


@pytest.mark.parametrize("stage", ["compiled", "stablehlo"])
def test_unrelated_programs_replay(stage: str) -> None:
    """The snapshots of the examples against each other: nothing but pairs that were never meant."""
    texts = [program.text() for program in snapshots(stage)]
    small = [read_text(text) for text in sorted(texts, key=len)[:12]]
    assert len(small) == 12
    for old, new in combinations(small, 2):
        assert both_ways(old, new) == []


def test_what_moved_from_one_of_two_partners_is_still_added_or_removed_in_the_other() -> None:
    """`fused_add.j6j9` has two partners without its tanh, and the new program has one elsewhere."""
    root = Path(__file__).parent
    old, new = (
        root.parent / "snapshots/mlp_gradient/cuda-h100-x4/compiled.hlo",
        root / "fixtures/normalize/real/mlp.cpu.hlo",
    )
    texts = [read_text(path.read_text(encoding="utf-8")) for path in (old, new)]
    assert both_ways(*texts) == []
    tanh = [edit for edit in diff(*texts).edits if edit.old and edit.old.name == "tanh.nbdx"]
    assert {edit.kind for edit in tanh} >= {"moved", "removed"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "snapshots/optax_train_step/cuda-h100-x4/compiled.hlo",
            "snapshots/mixed_precision_step/cpu/compiled.hlo",
            id="moved into a fusion that came, while another that applied it went",
        ),
        pytest.param(
            "tests/fixtures/normalize/real/colls.cuda.hlo",
            "snapshots/feed_forward_sharded/cpu-4/compiled.hlo",
            id="kept by the second of two all-reduces, while the first one applied a maximum",
        ),
    ],
)
def test_a_reducer_that_moved_along_is_one_and_the_same_for_all_that_apply_it(old: str, new: str) -> None:
    root = Path(__file__).parents[1]
    assert both_ways(*(read_text((root / name).read_text(encoding="utf-8")) for name in (old, new))) == []


def test_a_loop_keeps_its_numbers_where_one_side_takes_an_element_that_the_other_one_takes_of_another_loop() -> None:
    """Element 3 of an inner loop of `ode_solve` became element 3 of the only loop of `stack_scanned`."""
    folder = Path(__file__).parents[1] / "snapshots"
    names = ("stack_scanned", "ode_solve")
    texts = [(folder / name / "cuda-h100-x4/compiled.hlo").read_text(encoding="utf-8") for name in names]
    assert both_ways(*map(read_text, texts)) == []


def channels(found: ModuleDiff) -> dict[str, tuple[Edit, ...]]:
    return {"edits": found.edits, "schedule": found.schedule, "tuning": found.tuning}


def saying(found: ModuleDiff, channel: str, edits: Sequence[Edit]) -> ModuleDiff:
    """The same difference with other edits in one channel."""
    said = channels(found) | {channel: tuple(edits)}
    return replace(found, edits=said["edits"], schedule=said["schedule"], tuning=said["tuning"])


def without(found: ModuleDiff, channel: str, number: int) -> ModuleDiff:
    edits = channels(found)[channel]
    return saying(found, channel, (*edits[:number], *edits[number + 1 :]))


@pytest.mark.parametrize("program", COMPILED, ids=lambda p: f"{p.target}-{p.name}")
def test_without_any_one_edit_it_does_not_replay(program: Program) -> None:
    text = program.text()
    pair = make_pair(text, "several", Noise(metadata="stripped", schedule=True), Random("7"), 10)
    pair = pair or make_pair(text, "opcode", Noise(metadata="stripped", schedule=True), Random("7"))
    assert pair is not None
    found = diff(pair.old, pair.new)
    assert found.replay().complete
    for channel, edits in channels(found).items():
        for number, edit in enumerate(edits):
            assert not without(found, channel, number).replay().complete, edit
            for name in edit.fields if len(edit.fields) > 1 else ():
                less = replace(edit, fields=tuple(f for f in edit.fields if f != name))
                said = saying(found, channel, (*edits[:number], less, *edits[number + 1 :]))
                assert not said.replay().complete, (edit, name)


@pytest.mark.parametrize("kind", ["split", "merge", "layer", "into-fusion", "out-of-fusion", "tuning", "donation"])
def test_without_any_one_edit_of_its_kind_it_does_not_replay(kind: str) -> None:
    made = [make_pair(p.text(), kind, Noise(), Random(kind)) for p in COMPILED]
    pairs = [pair for pair in made if pair is not None]
    assert pairs
    for pair in pairs[:4]:
        found = diff(pair.old, pair.new)
        for channel, edits in channels(found).items():
            for number, edit in enumerate(edits):
                assert not without(found, channel, number).replay().complete, edit


def test_a_wrong_count_or_an_edit_too_many_does_not_replay() -> None:
    old = module("p = f32[2]{0} parameter(0)\ns = f32[2]{0} sine(p)\nROOT r = f32[2]{0} abs(s)")
    new = module("p = f32[2]{0} parameter(0)\ns = f32[2]{0} cosine(p)\nROOT r = f32[2]{0} abs(s)")
    found = diff(old, new)
    (edit,) = found.edits
    assert replace(found, edits=(replace(edit, count=2),)).replay().failures == (
        "edit 1 of edits (changed) counts 2 and is reached 1 times",
    )
    same = diff(old, old)
    needless = replace(edit, sites=((edit.sites[0][0], edit.sites[0][0]),))
    assert replace(same, edits=(needless,)).replay().failures == ("an edit of %s (sine) of %main changes nothing",)
    elsewhere = replace(edit, kind="removed", sites=((edit.sites[0][0], None),), fields=())
    assert replace(same, edits=(elsewhere,)).replay().failures[0].startswith("edit 1 of edits (removed): 1 of its 1")


def test_an_edit_cannot_remove_what_stays_or_add_what_the_new_program_does_not_have() -> None:
    """Each step has a reported edit with the right count; only what it does is wrong."""
    old = module("p = f32[2]{0} parameter(0)\ns = f32[2]{0} sine(p)\nROOT r = f32[2]{0} abs(s)")
    script, site = diff(old, old).script, EditReference("edits", 0, 0)
    assert replay(script).complete
    sine = old.entry_computation.instructions[1]
    for kind, step in (("removed", RemoveStep(site, 0, 1)), ("added", AddStep(site, 0, 3, sine))):
        wrong = replace(script, steps=(step,), reported=(("edits", kind, 1, 1),))
        assert not replay(wrong).complete


SITE = EditReference("edits", 0, 0)
SINE = Instruction("s", "sine", Shape("f32", (2,)), (0,))


@pytest.mark.parametrize(
    ("pair", "steps", "failure"),
    [
        pytest.param({"old": 7}, (), "the entries of the two programs do not correspond", id="entries"),
        pytest.param({}, (AddStep(SITE, 0, 1, SINE),), "an instruction is listed as added where one", id="add"),
        pytest.param({}, (ChangeStep(SITE, 0, 7, ()),), "nothing is there to be changed in %main", id="change"),
        pytest.param({"mapping": (0, -1, 2), "removed": (1,)}, (), "%s (sine) of %main went without an edit", id="go"),
        pytest.param(
            {"arguments": (OperandRewiring(2, 0, 0, None),)}, (), "an operand of %r (abs) of %main is there and reads",
            id="read",
        ),
        pytest.param(
            {"arguments": (OperandRewiring(2, None, 1, (0, 0)),)}, (),
            "%r (abs) of %main has other operands without other parameters", id="arguments",
        ),
    ],
)  # fmt: skip
def test_a_script_cannot_do_what_no_edit_does(
    pair: Mapping[str, Any], steps: Sequence[ChangeStep | AddStep], failure: str
) -> None:
    old = module("p = f32[2]{0} parameter(0)\ns = f32[2]{0} sine(p)\nROOT r = f32[2]{0} abs(s)")
    script = diff(old, old).script
    wrong = replace(script, pairs=(replace(script.pairs[0], **pair),), steps=tuple(steps))
    assert any(said.startswith(failure) for said in replay(wrong).failures), replay(wrong).failures


TWO = """HloModule m, entry_computation_layout={(f32[4,8]{1,0}, f32[4,8]{1,0})->f32[4,8]{1,0}}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

other {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b)
}

f {
  p = f32[4,8]{1,0} parameter(0)
  k = f32[4,8]{1,0} cosine(p)
  ROOT s = f32[4,8]{1,0} sine(p)
}

ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  y = f32[4,8]{1,0} parameter(1)
  c = f32[] constant(1)
  t = f32[4,8]{1,0} tanh(x)
  u = f32[4,8]{1,0} fusion(y), kind=kLoop, calls=f
  g = f32[4]{0} reduce(t, c), dimensions={1}, to_apply=add
  s = f32[4,8]{1,0} subtract(x, y)
  ROOT r = f32[4,8]{1,0} add(t, u)
}
"""
# What the field is, and how the new program differs in it; each is a difference that a replay must see by itself.
SINGLE = {
    "opcode": ("tanh(x)", "abs(x)"),
    "element type": ("c = f32[] constant(1)", "c = f16[] constant(1)"),
    "dimensions": ("t = f32[4,8]{1,0}", "t = f32[4,9]{1,0}"),
    "layout": ("t = f32[4,8]{1,0}", "t = f32[4,8]{0,1}"),
    "tiling": ("t = f32[4,8]{1,0}", "t = f32[4,8]{1,0:T(8,128)}"),
    "memory space": ("t = f32[4,8]{1,0}", "t = f32[4,8]{1,0:S(5)}"),
    "literal": ("constant(1)", "constant(2)"),
    "attribute": ("dimensions={1}", "dimensions={0}"),
    "attribute gone": ("kind=kLoop, ", ""),
    "operand": ("subtract(x, y)", "subtract(x, t)"),
    "operand order": ("subtract(x, y)", "subtract(y, x)"),
    "operands": ("add(t, u)", "add(t, u, s)"),
    "root": ("  ROOT r = f32[4,8]{1,0} add(t, u)", "  ROOT z = f32[4,8]{1,0} add(t, u)\n  r = f32[4,8]{1,0} add(t, u)"),
    "callee": ("to_apply=add", "to_apply=other"),
    "control edge": ("add(t, u)", "add(t, u), control-predecessors={s}"),
    "argument": ("x = f32[4,8]{1,0} parameter(0)\n  y = f32[4,8]{1,0} parameter(1)",
                 "x = f32[4,8]{1,0} parameter(1)\n  y = f32[4,8]{1,0} parameter(0)"),
    "reducer's arguments": ("a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add",
                            "a = f32[] parameter(1)\n  b = f32[] parameter(0)\n  ROOT s = f32[] add"),
    "thread": ("sine(p)\n}", 'sine(p)\n}, execution_thread="host"'),
    "donation": ("HloModule m,", "HloModule m, buffer_donor={ (0, {}) },"),
    "header": ("HloModule m,", "HloModule m, num_partitions=2,"),
    "argument's layout": ("{(f32[4,8]{1,0},", "{(f32[4,8]{0,1},"),
    "result's layout": ("->f32[4,8]{1,0}", "->f32[4,8]{0,1}"),
    "schedule": ("HloModule m,", "HloModule m, is_scheduled=true,"),
}  # fmt: skip


@pytest.mark.parametrize("what", SINGLE)
def test_a_replay_sees_every_field_by_itself(what: str) -> None:
    """The script of a program and itself, held against one that differs in one field at the same place."""
    old, new = read_text(TWO), read_text(TWO.replace(*SINGLE[what]))
    if what == "root":  # the same instruction is returned from another place
        entry = new.entry_computation
        new = replace(new, computations=(*new.computations[:-1], replace(entry, root=len(entry.instructions) - 1)))
        old = replace(new, computations=(*new.computations[:-1], replace(entry, root=len(entry.instructions) - 2)))
    script = diff(old, old).script
    assert replay(script).complete
    wanted = diff(new, new).script.new
    assert not replay(replace(script, new=wanted)).complete


@pytest.mark.parametrize("what", [what for what in SINGLE if what != "operands"])
def test_every_field_replays(what: str) -> None:
    assert both_ways(read_text(TWO), read_text(TWO.replace(*SINGLE[what]))) == []


@pytest.mark.parametrize(
    "what", [w for w in SINGLE if w not in ("operands", "reducer's arguments", "root", "argument")]
)
def test_every_field_is_an_edit(what: str) -> None:
    """Found by replaying: another entry layout was hidden by any other edit, a lost schedule by everything."""
    edited = TWO.replace("subtract(x, y)", "divide(x, y)") if "operand" not in what else TWO
    found = diff(read_text(TWO), read_text(edited.replace(*SINGLE[what])))
    assert sum(edit.count for edit in (*found.edits, *found.schedule)) == 1 + ("operand" not in what)


# Differences inside computations that no step touches, so that they are compared without graphs.
UNOPENED = {
    "opcode": ("k = f32[4,8]{1,0} cosine(p)", "k = f32[4,8]{1,0} tan(p)"),
    "shape": ("ROOT s = f32[4,8]{1,0} sine(p)", "ROOT s = f32[4,9]{1,0} sine(p)"),
    "operand": ("ROOT s = f32[4,8]{1,0} sine(p)", "ROOT s = f32[4,8]{1,0} sine(k)"),
    "control edge": ("ROOT s = f32[4,8]{1,0} sine(p)", "ROOT s = f32[4,8]{1,0} sine(p), control-predecessors={k}"),
    "root": ("  k = f32[4,8]{1,0} cosine(p)\n  ROOT s =", "  ROOT k = f32[4,8]{1,0} cosine(p)\n  s ="),
    "reducer's arguments": SINGLE["reducer's arguments"],
}


@pytest.mark.parametrize("what", UNOPENED)
def test_a_field_of_an_unopened_computation_is_seen(what: str) -> None:
    old, new = read_text(TWO), read_text(TWO.replace(*UNOPENED[what]))
    assert TWO.replace(*UNOPENED[what]) != TWO
    script = diff(old, old).script
    assert replay(script).complete
    assert not replay(replace(script, new=diff(new, new).script.new)).complete


WHOLE = """HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(f32[] %a, f32[] %b)
}

%inner (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} all-reduce(f32[8]{0} %p), channel_id=1, replica_groups={{0,1}}, to_apply=%add
  %k = f32[8]{0} cosine(f32[8]{0} %q)
  ROOT %n = f32[8]{0} negate(f32[8]{0} %k), control-predecessors={%q}
}

ENTRY %main (x: f32[8], y: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %c = f32[8]{0} call(f32[8]{0} %x), to_apply=%inner
  %d = f32[8]{0} all-reduce(f32[8]{0} %y), channel_id=1, replica_groups={{0,1}}, to_apply=%add
  %e = f32[8]{0} all-reduce(f32[8]{0} %c), channel_id=2, replica_groups={{0,1}}, to_apply=%add
  ROOT %t = (f32[8]{0}, f32[8]{0}) tuple(f32[8]{0} %d, f32[8]{0} %e)
}
"""
# What is not local to a computation: the two sides of each difference lie in different computations or in the header.
OVER_THE_PROGRAM = {
    "channel": ("%p), channel_id=1", "%p), channel_id=2"),
    "channels": ("%y), channel_id=1", "%y), channel_id=3"),
    "alias": ("{0}: (0, {}, may-alias)", "{0}: (1, {}, may-alias)"),
    "aliased result": ("{0}: (0, {}, may-alias)", "{1}: (0, {}, may-alias)"),
    "kind of alias": ("may-alias", "must-alias"),
    "thread": ("control-predecessors={%q}\n}", 'control-predecessors={%q}\n}, execution_thread="host"'),
    "control": ("negate(f32[8]{0} %k), control-predecessors={%q}", "negate(f32[8]{0} %k)"),
}


@pytest.mark.parametrize("what", OVER_THE_PROGRAM)
def test_what_is_not_local_to_a_computation_is_seen(what: str) -> None:
    before, after = OVER_THE_PROGRAM[what]
    assert WHOLE.count(before) == 1
    old, new = read_text(WHOLE), read_text(WHOLE.replace(before, after))
    script = diff(old, old).script
    assert replay(script).complete
    assert not replay(replace(script, new=diff(new, new).script.new)).complete
    found = diff(old, new)
    assert found.replay().complete
    assert not replace(found, edits=(), schedule=(), tuning=()).replay().complete


@pytest.mark.parametrize("what", ["opcode", "operand", "channel"])
def test_a_pruned_computation_is_compared_without_its_fingerprint(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pruner that takes different computations for equal ones hides edits; the proof sees it."""
    changes = {
        "opcode": ("cosine(f32[8]{0} %q)", "sine(f32[8]{0} %q)"),
        "operand": ("cosine(f32[8]{0} %q)", "cosine(f32[8]{0} %p)"),
        "channel": ("%p), channel_id=1", "%p), channel_id=2"),
    }
    old, new = (read_hlo(text, at_once=False) for text in (WHOLE, WHOLE.replace(*changes[what])))
    honest = TextFingerprinter.fingerprint

    def lie(self: TextFingerprinter, *arguments: Any) -> Any:
        found = honest(self, *arguments)
        return replace(found, keys={name: n for n, name in enumerate(sorted(found.keys))})

    assert not diff(old, new).identical
    monkeypatch.setattr(TextFingerprinter, "fingerprint", lie)
    hidden = diff(old, new)
    assert hidden.identical
    assert not hidden.replay().complete


@pytest.mark.parametrize("at_once", [False, True])
def test_the_proof_matches_nothing_again(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script is written from the matches that the diff kept, and from no others."""
    new = WHOLE.replace("all-reduce(f32[8]{0} %y)", "all-reduce(f32[8]{0} %x)")
    found = diff(*(read_hlo(text, at_once=at_once) for text in (WHOLE, new)))

    def refuse(*_: object) -> None:
        raise AssertionError("matched again")

    monkeypatch.setattr(canonical_direction, "match_programs", refuse)
    assert len(found.edits) == 1
    assert found.replay().complete
    with pytest.raises(DiffError, match="matches are those of other programs"):
        replace(found, new=found.old).replay()


@pytest.mark.parametrize("kind", ["opcode", "operand-order", "delete"])
def test_what_was_pruned_is_a_part_of_the_proof(kind: str) -> None:
    """Texts are pruned before they are matched; the script has all of both programs all the same."""
    count = 0
    for program in (p for p in COMPILED if len(p.text()) < 60_000):
        pair = make_pair(program.text(), kind, Noise(metadata="stripped"), Random(kind))
        if pair is not None:
            old, new = (read_hlo(write(module), at_once=False) for module in (pair.old, pair.new))
            assert both_ways(old, new) == []
            script = diff(old, new).script
            assert (len(script.old.computations), len(script.new.computations)) == (
                len(old.computations),
                len(new.computations),
            )
            count += 1
    assert count > 3


def test_only_what_has_steps_becomes_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instructions that are the same on both sides before any step are compared without one."""
    script = diff(read_text(TWO), read_text(TWO.replace("sine(p)", "tan(p)"))).script
    opened: list[str] = []
    made = verify.dataflow_graph

    def record(rows: Mapping[int, Any]) -> object:
        opened.extend(row.opcode for row in rows.values())
        return made(rows)

    monkeypatch.setattr(verify, "dataflow_graph", record)
    assert replay(script).complete
    assert opened == ["cotan", "tan", "cotan", "tan"]


@pytest.mark.parametrize("what", ["operand", "operands", "control edge"])
def test_what_no_step_made_is_seen(what: str) -> None:
    one, other = read_text(TWO), read_text(TWO.replace(*SINGLE[what]))
    script = diff(one, one).script
    assert replay(replace(script, new=read_text(TWO))).complete
    assert not replay(replace(script, new=other)).complete
    assert not replay(replace(script, old=other)).complete


@pytest.mark.parametrize("kind", ["insert-one", "delete", "several", "layer", "into-fusion"])
def test_without_any_one_step_or_wire_it_does_not_replay(kind: str) -> None:
    made = [make_pair(p.text(), kind, Noise(), Random(kind)) for p in COMPILED]
    pairs = [pair for pair in made if pair is not None]
    assert pairs
    for pair in pairs[:2]:
        script = diff(pair.old, pair.new).script
        for number, step in enumerate(script.steps):
            rest = script.steps[:number], script.steps[number + 1 :]
            assert not replay(replace(script, steps=(*rest[0], *rest[1]))).complete, step
            wired: Any = step
            for rewiring in getattr(wired, "rewirings", ()):
                less = replace(wired, rewirings=tuple(w for w in wired.rewirings if w != rewiring))
                assert not replay(replace(script, steps=(*rest[0], less, *rest[1]))).complete, rewiring


def test_a_difference_that_no_field_names_is_seen() -> None:
    """An attribute is written once in every text; in a record it may be there twice."""
    once, twice = (Instruction("a", "sine", Shape("f32"), attributes=(("x", "1"),) * n) for n in (1, 2))
    old, new = (Module("m", "compiled", (Computation("e", (it,), 0),), 0) for it in (once, twice))
    found = replay(EditScript(old, new, (InstructionPair(0, 0, (0,)),), (), ())).failures
    assert found == ("%e is another graph, and no edit says so",)


def test_sharing_is_seen() -> None:
    twice = "p = f32[2]{0} parameter(0)\ns = f32[2]{0} sine(p)\nROOT r = f32[2]{0} subtract(s, s)"
    two = "p = f32[2]{0} parameter(0)\ns = f32[2]{0} sine(p)\nt = f32[2]{0} sine(p)\nROOT r = f32[2]{0} subtract(s, t)"
    script = diff(module(twice), module(twice)).script
    assert not replay(replace(script, new=module(two))).complete
    assert both_ways(module(twice), module(two)) == []
    script = diff(module(two), module(two)).script
    joined = replace(script, new=module(twice), pairs=(replace(script.pairs[0], mapping=(0, 1, 1, 2)),))
    assert replay(joined).failures == ("two old instructions are one new one: %t (sine) of %main",)


def test_an_operand_that_nothing_reads_is_an_edit() -> None:
    """Found by replaying: a fusion got one more operand, its body one more parameter, and nothing was said."""
    new = TWO.replace("fusion(y)", "fusion(y, x)").replace("  k = ", "  q = f32[4,8]{1,0} parameter(1)\n  k = ")
    found = diff(read_text(TWO), read_text(new))
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("operands",))]
    assert both_ways(read_text(TWO), read_text(new)) == []


UNREAD = """HloModule m

f {
  a = f32[2]{0} parameter(0)
  b = f32[2]{0} parameter(1)
  ROOT s = f32[2]{0} sine(a)
}

ENTRY main {
  x = f32[2]{0} parameter(0)
  y = f32[2]{0} parameter(1)
  u = f32[2]{0} fusion(x, y), kind=kLoop, calls=f
  ROOT t = (f32[2]{0}, f32[2]{0}) tuple(u, y)
}
"""


def test_a_parameter_that_nothing_reads_does_not_come_or_go_unseen() -> None:
    fewer = UNREAD.replace("  b = f32[2]{0} parameter(1)\n", "").replace("fusion(x, y)", "fusion(x)")
    for old, new, argument, failure in (
        (fewer, UNREAD, OperandRewiring(2, None, 1, (1, 0)), "parameter %b of %f came and nothing reads it"),
        (UNREAD, fewer, OperandRewiring(2, 1, None, None), "%b (parameter) of %f, which nothing read, went"),
    ):
        script = diff(read_text(old), read_text(new)).script
        entry, body = script.pairs
        unread = read_text(UNREAD).computations[body.old].instructions[1]
        told = {"added": ((1, unread),)} if new == UNREAD else {"removed": (1,)}
        pairs = replace(entry, arguments=(argument,)), replace(body, **told)
        wrong = replace(script, pairs=pairs, steps=(), reported=())
        assert replay(wrong).failures == (f"{failure}, and no edit says so",)


def test_the_user_of_a_removed_value_takes_what_that_was_made_of() -> None:
    text = "p = f32[2]{0} parameter(0)\nz = f32[2]{0} cosine(p)\ns = f32[2]{0} sine(p)\nROOT r = f32[2]{0} add(s, z)"
    old, new = module(text), module(text.replace("s = f32[2]{0} sine(p)\n", "").replace("add(s, z)", "add(z, z)"))
    script = diff(old, new).script
    pairs = (replace(script.pairs[0], mapping=(0, 1, -1, 2)),)
    step = RemoveStep(SITE, 0, 2, (OperandRewiring(2, 0, 0, (1, 0)),))
    wrong = replace(script, pairs=pairs, steps=(step,), reported=(("edits", "removed", 1, 1),))
    assert replay(wrong).failures == (
        "%r (add) of %main reads something else, and nothing on the way to it came or went",
    )


def test_another_result_is_an_edit() -> None:
    """Found by replaying: a program that returned another of its instructions was called identical."""
    new = TWO.replace("  s = f32", "  ROOT s = f32").replace("  ROOT r", "  r")
    found = diff(read_text(TWO), read_text(new))
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("attribute:root",))]
    assert both_ways(read_text(TWO), read_text(new)) == []


def test_collectives_that_swap_partners_do_not_replay_unseen() -> None:
    body = """p = f32[2]{0} parameter(0)
      s = (f32[2]{0}, u32[], token[]) send(p, t), channel_id=1
      a = f32[2]{0} all-reduce(p), channel_id=1, to_apply=add
      b = f32[2]{0} all-reduce(a), channel_id=2, to_apply=add
      ROOT c = f32[2]{0} all-reduce(b), channel_id=2, to_apply=add"""
    text = "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    body = "\n".join(line for line in body.splitlines() if "send" not in line)
    old, new = (
        read_text(f"{text}ENTRY e {{\n{b}\n}}\n")
        for b in (body, body.replace("(b), channel_id=2", "(b), channel_id=1"))
    )
    renumbered = read_text(f"{text}ENTRY e {{\n{body.replace('channel_id=2', 'channel_id=9')}\n}}\n")
    assert both_ways(old, new) == []
    assert both_ways(old, renumbered) == []
    script = diff(old, old).script
    assert not replay(replace(script, new=diff(new, new).script.new)).complete
    assert replay(replace(script, new=diff(renumbered, renumbered).script.new)).complete


PRINTED = """HloModule m, is_scheduled=true

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%mul (d: f32[], e: f32[]) -> f32[] {
  %d = f32[] parameter(0)
  %e = f32[] parameter(1)
  ROOT %f = f32[] multiply(%d, %e)
}

%body (p: f32[8], q: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0), metadata={op_name="p"}
  %q = f32[8]{0} parameter(1)
  %k = f32[] constant(2)
  %s = f32[8]{0} subtract(%p, %q), frontend_attributes={note="a %b"}
  %r = f32[] reduce(%s, %k), dimensions={0}, to_apply=%add, metadata={op_name="sum"}
  %w = f32[8]{0} broadcast(%r), dimensions={}
  %m = f32[8]{0} all-reduce(%w), channel_id=1, replica_groups={{0,1}}, to_apply=%add
  %n = f32[8]{0} custom-call(%m), custom_call_target="f", backend_config={"x":"1","y":"2"}
  ROOT %o = f32[8]{0} add(%n, %s)
}, execution_thread="main"

ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %i = f32[8]{0} call(%x, %y), to_apply=%body
  ROOT %z = f32[8]{0} sine(%i)
}
"""


def _printed_script(new: str) -> Any:
    """The script of one edit in the entry of a program of which nothing else was read."""
    found = diff(*(read_hlo(text, at_once=False) for text in (PRINTED, new)))
    assert found.replay().complete
    assert [pair.is_printed for pair in found.script.pairs] == [False, True, True]
    return found.script


def test_what_was_not_read_for_the_diff_is_not_read_for_the_proof() -> None:
    rows = {"%p = f32[8]{0} parameter(0)": "%one = f32[8]{0} parameter(0)", "(%p, %q)": "(%one, %q)"}
    new = PRINTED.replace("sine(%i)", "cosine(%i)").replace("add(%n, %s)", "add(%s, %n)").replace("_id=1", "_id=7")
    new = new.replace('{"x":"1","y":"2"}', '{"y":"2","x":"1"}')
    for old_row, new_row in rows.items():
        new = new.replace(old_row, new_row)
    modules = [read_hlo(text, at_once=False) for text in (PRINTED, new)]
    assert diff(*modules).replay().complete
    for computations in (one.computations for one in modules):
        assert isinstance(computations, LazyComputations)
        assert computations.parsed == (3,)  # the entry


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("subtract(%p, %q)", "divide(%p, %q)"),
        ("subtract(%p, %q)", "subtract(%q, %p)"),
        ("add(%n, %s)", "add(%n, %n)"),
        ("f32[8]{0} custom-call", "f32[8]{0:S(1)} custom-call"),
        ("constant(2)", "constant(3)"),
        ("dimensions={0}, to_apply=%add", "dimensions={0}, to_apply=%mul"),
        ("dimensions={0}, to", "dimensions={1}, to"),
        ('note="a %b"', 'note="a %c"'),
        ("replica_groups={{0,1}}", "replica_groups={{1,0}}"),
        ("channel_id=1, ", ""),
        ('"y":"2"', '"y":"3"'),
        ('custom_call_target="f"', 'custom_call_target="g"'),
        ('thread="main"', 'thread="other"'),
        ('}, execution_thread="main"', '}, frontend_attributes={a="1"}'),
        ("parameter(0), meta", "parameter(1), meta"),
        (", metadata={op_name", ", control-predecessors={%k}, metadata={op_name"),
    ],
)
def test_a_difference_in_what_was_not_read_is_seen(old: str, new: str) -> None:
    """The texts of the proof are changed behind the back of the diff, in one place of what it did not read."""
    edited = PRINTED.replace("sine(%i)", "cosine(%i)")
    script = _printed_script(edited)
    head, body, tail = edited.partition("%body (")
    other = head + body + tail.replace(old, new, 1)
    if old == "parameter(0), meta":
        other = other.replace("%q = f32[8]{0} parameter(1)", "%q = f32[8]{0} parameter(0)")
    assert other != edited
    read = read_hlo(other, at_once=False)
    assert isinstance(read.computations, LazyComputations)
    assert script.printed is not None
    printed = replace(script.printed[1], text=other, spans=read.computations.spans)
    changed = replace(script, new=diff(read, read).script.new, printed=(script.printed[0], printed))
    assert not replay(changed).complete


def test_lines_that_stand_elsewhere_or_lead_to_others_are_seen() -> None:
    script = _printed_script(PRINTED.replace("sine(%i)", "cosine(%i)"))
    number, body = next((n, pair) for n, pair in enumerate(script.pairs) if len(pair.mapping) == 9)
    for mapping in ((1, 0, *range(2, 9)), (0, 0, *range(2, 9)), (*range(8), -1)):
        pairs = [replace(body, mapping=mapping) if n == number else pair for n, pair in enumerate(script.pairs)]
        assert not replay(replace(script, pairs=tuple(pairs))).complete
    for calls in (
        (),
        tuple((place, (("to_apply", (number,)),)) for place, _ in body.calls),
        (*body.calls, (3, body.calls[0][1])),
    ):
        pairs = [replace(body, calls=calls) if n == number else pair for n, pair in enumerate(script.pairs)]
        assert not replay(replace(script, pairs=tuple(pairs))).complete
