"""A fixed slice of the ground truth of `benchmarks/`: real programs of three targets, known edits, all legal noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import jax
import pytest

from benchmarks.edits import EDITS, STABLEHLO, kinds
from benchmarks.functions import JOBS as FUNCTIONS
from benchmarks.noise import QUIET, Noise, random_noise
from benchmarks.pairs import Pair, make_pair, plain_copy
from benchmarks.programs import Program, _abstract
from benchmarks.scorer import is_no_edit, run, write_failure
from benchmarks.speed import parse_with_xla, repeated
from benchmarks.verdict import judge
from benchmarks.writer import write
from hlodiff.differ import diff
from hlodiff.hlo import contents, read_text
from hlodiff.normalizer import normalize

FOLDER = Path(__file__).parent / "ground_truth"
COMPILED = [Program(p.stem, p.parent.name, "compiled", p) for p in sorted(FOLDER.glob("*/*.hlo"))]
LOWERED = [Program(p.stem, "any", "stablehlo", p) for p in sorted(FOLDER.glob("stablehlo/*.mlir"))]
# Measured with seed 1: none of 230; seeds 3 and 4 have one or two, all of them merged fusions. Only ever lower this.
MOST_WRONG = 0.0
# Whole stretches of instructions at once: `python -m benchmarks.scorer` has the rate, which is not all of them yet.
WHOLE = ("split", "merge", "layer")


def pair_of(program: Program, kind: str, noise: Noise, seed: str = "0", at_once: int = 1) -> Pair | None:
    return make_pair(program.text(), kind, noise, Random(f"{seed} {program.target} {program.name} {kind}"), at_once)


def pairs_of(kind: str, noise: Noise = QUIET, programs: list[Program] = COMPILED) -> list[Pair]:
    return [pair for program in programs if (pair := pair_of(program, kind, noise)) is not None]


def of_name(name: str) -> Program:
    return next(program for program in COMPILED if program.name == name)


@pytest.mark.parametrize("program", COMPILED, ids=lambda p: f"{p.target}-{p.name}")
def test_noise_means_nothing(program: Program) -> None:
    for metadata in ("same", "shifted", "stripped"):
        pair = pair_of(program, "noise", Noise(metadata=metadata))
        assert pair is not None
        assert pair.new_text != plain_copy(pair.old_text)
        # The operands of a commutative operation are printed in the order in which they stand: the content is compared.
        plain = [normalize(module) for module in (pair.old, pair.new)]
        assert len({(contents(module)[module.entry].hash, module.attributes) for module in plain}) == 1
        found = diff(pair.old, pair.new)
        assert not found.edits
        assert not found.schedule
        assert not found.tuning


@pytest.mark.parametrize("kind", EDITS)
def test_each_kind_makes_real_edits(kind: str) -> None:
    pairs = pairs_of(kind)
    assert pairs, "no program has a place for it"
    for pair in pairs:
        assert pair.script or pair.halves
        if all(edit.channel == "program" for edit in pair.script):
            assert not is_no_edit(pair)


@pytest.mark.parametrize("kind", ["noise", *EDITS])
def test_xla_reads_what_is_made(kind: str) -> None:
    for pair in pairs_of(kind, Noise(metadata="shifted")):
        assert parse_with_xla(pair.new_text) is not None


def test_single_edits_are_found_exactly() -> None:
    results = list(run(COMPILED, [kind for kind in EDITS if kind not in WHOLE], 230, seed=1, failures=None))
    assert {r.kind for r in results} == {kind for kind in EDITS if kind not in WHOLE}
    wrong = [(r.seed, r.why) for r in results if r.why]
    assert not [why for _, why in wrong if why.startswith("crashed")]
    assert len(wrong) <= MOST_WRONG * len(results), wrong


def test_whole_fusions_and_layers_never_crash() -> None:
    results = list(run(COMPILED, WHOLE, 15, seed=1, failures=None))
    assert {r.kind for r in results} == set(WHOLE)
    assert [r.why for r in results if r.score is None] == []


# Neither program is sharded or calls anything custom; compiled programs above are and do.
@pytest.mark.parametrize("kind", [kind for kind in STABLEHLO if kind not in ("sharding", "custom-call-target")])
def test_single_edits_of_stablehlo_are_found_exactly(kind: str) -> None:
    results = list(run(LOWERED, [kind], 2, seed=1, failures=None))
    assert results
    assert [(r.seed, r.why) for r in results if r.why] == []


def test_same_seed_same_pairs() -> None:
    first, second = (pair_of(COMPILED[0], "opcode", random_noise(Random(3), schedule=True)) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.new_text == second.new_text
    assert first.script == second.script


def test_the_judge_refuses_wrong_answers() -> None:
    pair, other = (pair_of(of_name("mixed_precision"), kind, Noise()) for kind in ("opcode", "insert-all"))
    assert pair is not None
    assert other is not None
    right = diff(pair.old, pair.new)
    assert judge(pair, right).exact
    assert "missing" in judge(pair, diff(pair.old, pair.old)).why
    assert "extra" in judge(pair, replace(right, edits=(*right.edits, *diff(other.old, other.new).edits))).why
    moved = replace(pair, script=(replace(pair.script[0], old=(0, 0), new=(0, 0)),))
    assert judge(moved, right).why == "right edits at another place"
    assert not judge(pair, replace(right, edits=(replace(right.edits[0], count=2),))).exact


SHARED = """\
HloModule m, entry_computation_layout={(f32[8]{0}, f32[8]{0})->(f32[8]{0}, f32[8]{0})}

%body (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %c = f32[] constant(2)
  %b = f32[8]{0} broadcast(%c), dimensions={}
  ROOT %m = f32[8]{0} multiply(%p, %b)
}

ENTRY %main (x: f32[8], y: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %f = f32[8]{0} fusion(%x), kind=kLoop, calls=%body
  %g = f32[8]{0} fusion(%y), kind=kLoop, calls=%body
  ROOT %t = (f32[8]{0}, f32[8]{0}) tuple(%f, %g)
}
"""


def test_an_edit_of_what_two_call_sites_share_is_two() -> None:
    pair = make_pair(SHARED, "literal", QUIET, Random("shared"))
    assert pair is not None
    found = diff(pair.old, pair.new)
    score = judge(pair, found)
    assert (score.exact, score.reported, score.true) == (True, 2, 2), score.why
    short = replace(found, edits=tuple(replace(edit, count=1) for edit in found.edits))
    assert judge(pair, short).why == "counts 1 edits and shows 2"


def test_failures_are_written_for_people(tmp_path: Path) -> None:
    result = next(run(COMPILED[:1], ["literal"], 1, seed=0, failures=None))
    pair = make_pair(COMPILED[0].text(), "literal", QUIET, Random(0))
    assert pair is not None
    here = write_failure(tmp_path, pair, result)
    assert read_text((here / "new.hlo").read_text()) == pair.new
    assert "- changed ['literal'] (program)" in (here / "truth.txt").read_text()


def test_several_edits_touch_different_places() -> None:
    pair = pair_of(of_name("dropout"), "several", QUIET, at_once=8)
    assert pair is not None
    places = [edit.new or edit.old for edit in pair.script]
    assert len(pair.script) >= 8
    assert len(set(places)) == len(places)


def test_repeated_programs_stay_programs() -> None:
    module = read_text(COMPILED[0].text())
    text = plain_copy(COMPILED[0].text())
    long = write(repeated(read_text(text), 3))
    assert parse_with_xla(long) is not None
    assert read_text(long).instruction_count() > 2 * module.instruction_count()


def test_stablehlo_has_fewer_kinds() -> None:
    assert set(kinds("stablehlo")) < set(kinds("compiled"))


@pytest.mark.parametrize("literal", ["dense<9.99999974E-6>", "dense<-1.5e+30>", "dense<[1.0, 2.5E2]>"])
def test_numbers_in_stablehlo_are_edited_as_a_whole(literal: str) -> None:
    body = f"%c = stablehlo.constant {literal} : tensor<2xf32>\n    return %c : tensor<2xf32>"
    text = f"module @m {{\n  func.func public @main() -> tensor<2xf32> {{\n    {body}\n  }}\n}}\n"
    pair = make_pair(text, "literal", QUIET, Random(1))
    assert pair is not None
    assert [edit.fields for edit in pair.script] == [("literal",)]


def test_equal_terms_of_a_sum_pair_with_the_values_that_they_sum() -> None:
    """The gradients of a scale that two norms share are added up, in another order on the new side.

    Each term is a sum with its own zero, a reshape and another sum, which have to change places together.
    """
    layers = FUNCTIONS["transformer_4_step"]
    arguments = jax.tree.map(lambda text: _abstract(text, SimpleNamespace(devices=jax.devices())), layers.arguments)
    text = jax.jit(layers.run, donate_argnums=layers.donate).lower(*arguments).as_text(debug_info=True)
    for name in ("cpu/0", "cuda-h100/0", "cuda-h100/1"):
        target, number = name.split("/")
        chance = Random(f"7/{target}/transformer_4_step/stablehlo/several/16/{number}")
        pair = make_pair(text, "several", random_noise(chance, schedule=chance.random() < 0.3), chance, 16)
        assert pair is not None
        assert judge(pair, diff(pair.old, pair.new)).no_longer
