"""What holds for every pair of programs: mirror, no silence, no noise, the same answer from equal files."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchmarks.edits import EDITS
from benchmarks.noise import Noise
from benchmarks.pairs import Pair, make_pair
from hlodiff.differ import ModuleDiff, diff
from hlodiff.hlo import program_fingerprint, read_text
from hlodiff.normalizer import normalize, to_text
from tests.test_ground_truth import COMPILED

SMALL = [program for program in COMPILED if len(program.text()) < 60_000]
SETTINGS = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
kinds = st.sampled_from([*EDITS, "several"])


def made(program: int, kind: str, seed: int, at_once: int = 1) -> Pair:
    pair = make_pair(SMALL[program % len(SMALL)].text(), kind, Noise(metadata="stripped"), Random(seed), at_once)
    assume(pair is not None)
    assert pair is not None
    return pair


def sides(found: ModuleDiff, mirrored: bool = False) -> list[tuple[object, ...]]:
    """All single edits by place, as the other side sees them where asked."""
    swap = {"added": "removed", "removed": "added"}
    rows: list[tuple[object, ...]] = []
    for edit in (*found.edits, *found.schedule, *found.tuning):
        for sites in edit.sites:
            places = [(site.computation, site.instruction) if site else None for site in sites]
            kind = swap.get(edit.kind, edit.kind) if mirrored else edit.kind
            rows.append((kind, edit.fields, *(reversed(places) if mirrored else places)))
    return sorted(rows, key=str)


@SETTINGS
@given(st.integers(0, 100), kinds, st.integers(0, 2**32))
def test_swapped_sides_give_the_exact_mirror(program: int, kind: str, seed: int) -> None:
    pair = made(program, kind, seed, 8)
    there, back = diff(pair.old, pair.new), diff(pair.new, pair.old)
    assert sides(there) == sides(back, mirrored=True)
    assert {name: (b, a) for name, (a, b) in there.op_counts.items()} == dict(back.op_counts)


@SETTINGS
@given(st.integers(0, 100), kinds, st.integers(0, 2**32))
def test_silence_means_equal_fingerprints(program: int, kind: str, seed: int) -> None:
    pair = made(program, kind, seed)
    found = diff(pair.old, pair.new)
    same = program_fingerprint(normalize(pair.old)) == program_fingerprint(normalize(pair.new))
    if found.identical and not (found.schedule or found.tuning):
        assert same
    if same:
        assert found.identical


@st.composite
def fusions(draw: st.DrawFn) -> str:
    """A body of few operations, some of which treat their operands alike; it need not read all that it is given."""
    count = draw(st.integers(2, 4))
    rows = [f"  p{n} = f32[8]{{0}} parameter({n})" for n in range(count)]
    names = [f"p{n}" for n in range(count)]
    for number in range(draw(st.integers(0, 5))):
        opcode = draw(st.sampled_from(["add", "multiply", "subtract"]))
        one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        names.append(f"v{number}")
        rows.append(f"  v{number} = f32[8]{{0}} {opcode}({one}, {other})")
    rows[-1] = "  ROOT " + rows[-1].strip()
    head = "\n".join(f"  a{n} = f32[8]{{0}} parameter({n})" for n in range(count))
    operands = draw(st.permutations([f"a{n}" for n in range(count)]))
    call = f"  ROOT f = f32[8]{{0}} fusion({', '.join(operands)}), kind=kLoop, calls=body"
    return "HloModule m\n\nbody {\n" + "\n".join(rows) + "\n}\n\nENTRY main {\n" + f"{head}\n{call}\n}}\n"


@settings(SETTINGS, max_examples=300)
@given(fusions(), st.data())
def test_operands_of_a_fusion_in_another_order_are_silent_only_where_fingerprints_are_equal(
    text: str, data: st.DataObject
) -> None:
    listed = text.rpartition("fusion(")[2].partition(")")[0]
    other = ", ".join(data.draw(st.permutations(listed.split(", "))))
    old, new = read_text(text), read_text(text.replace(f"fusion({listed})", f"fusion({other})"))
    found = diff(old, new)
    assert found.identical == (program_fingerprint(normalize(old)) == program_fingerprint(normalize(new)))
    assert found.replay().failures == ()


@SETTINGS
@given(st.integers(0, 100), kinds, st.integers(0, 2**32))
def test_a_stored_program_gives_the_same_edits_as_the_one_it_was_made_from(program: int, kind: str, seed: int) -> None:
    pair = made(program, kind, seed)
    stored = read_text(to_text(normalize(pair.old)))
    assert diff(stored, pair.old).identical
    assert diff(pair.old, stored).identical


@SETTINGS
@given(st.integers(0, 100), st.integers(0, 2**32))
def test_every_changed_instruction_differs_and_every_place_is_told_once(program: int, seed: int) -> None:
    pair = made(program, "several", seed, 12)
    found = diff(pair.old, pair.new)
    for which in (0, 1):
        places = [
            (site.computation, site.instruction) for edit in found.edits for s in edit.sites if (site := s[which])
        ]
        assert len(places) == len(set(places))
    for edit in found.edits:
        assert edit.count >= len(edit.sites)
        if edit.kind == "changed":
            assert edit.fields
            assert all(change.old != change.new for change in edit.changes)


@SETTINGS
@given(st.integers(0, 100), st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 8))
def test_more_edits_are_never_fewer(program: int, seed: int, few: int, more: int) -> None:
    """The same chance makes the same first edits; all are at disjoint places, so what comes on top undoes none."""
    part = made(program, "several", seed, few)
    whole = made(program, "several", seed, few + more)
    lengths = [sum(diff(pair.old, pair.new).summary.values()) for pair in (part, whole)]
    assert lengths[0] <= lengths[1]
