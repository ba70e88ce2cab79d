"""Who meets on a channel: an instruction that joins others, leaves them or takes another's place is always reported."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.bodies import layers
from benchmarks.writer import write
from hlodiff.cli import run
from hlodiff.config import Config, fail_on
from hlodiff.differ import ModuleDiff, ProgramComparison, classes_of, diff
from hlodiff.differ.prepare import prepare_pair, without_channels
from hlodiff.hlo import Module, contents, read_hlo, read_text
from hlodiff.policy import judge
from hlodiff.report import format_field_change

ROOT = Path(__file__).parents[1]
CASE = ROOT / "tests" / "fixtures" / "channels"
CHANNEL = re.compile(r"\bchannel_id=(\d+)|#stablehlo\.channel_handle<handle = (\d+)")
PERMUTE = (
    '%N = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = H, type = 1>, '
    "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>"
)


def _permute(name: int, channel: int) -> str:
    return "    " + PERMUTE.replace("%N", f"%{name}").replace("H,", f"{channel},") + "\n"


LOWERED = (
    "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
    "  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
    + "".join(_permute(n, channel) for n, channel in enumerate((1, 1, 2, 3)))
    + "    %4 = stablehlo.add %0, %1 : tensor<4xf32>\n"
    "    %5 = stablehlo.subtract %2, %3 : tensor<4xf32>\n"
    "    %6 = func.call @f(%4) : (tensor<4xf32>) -> tensor<4xf32>\n"
    "    return %5, %6 : tensor<4xf32>, tensor<4xf32>\n  }\n"
    "  func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
    + _permute(0, 2)
    + _permute(1, 3).replace("(%arg0)", "(%0)")
    + "    return %1 : tensor<4xf32>\n  }\n}\n"
)


COMPILED = [
    CASE / "old.hlo",
    *(path for path in sorted((ROOT / "snapshots").glob("**/compiled.hlo")) if CHANNEL.search(path.read_text())),
]


def fast(old: str, new: str) -> ModuleDiff:
    return diff(read_hlo(old, at_once=False), read_hlo(new, at_once=False))


def slow(old: str, new: str) -> ModuleDiff:
    return diff(read_hlo(old, at_once=True), read_hlo(new, at_once=True), pruning=False)


def said(found: ModuleDiff) -> Counter[object]:
    return Counter(
        (channel, edit.kind, edit.fields, edit.count, tuple((c.field, c.old, c.new) for c in edit.changes), site)
        for channel, edits in (("program", found.edits), ("schedule", found.schedule), ("tuning", found.tuning))
        for edit in edits
        for site in [tuple(sorted((a.name if a else "", b.name if b else "") for a, b in edit.sites))]
    )


def partition(module: Module) -> Counter[object]:
    """Who meets on each channel, whatever its number: members by the content and the place of what they are in."""
    numbered = prepare_pair(module, module).modules[0]
    bare = contents(without_channels(numbered))
    groups: dict[str, list[object]] = {}
    for index, computation in enumerate(numbered.computations):
        for place, position in enumerate(bare[index].order):
            it = computation.instructions[position]
            number = it.attribute("channel_id") or it.attribute("channel_handle")
            if number:
                groups.setdefault(number, []).append((bare[index].hash, place))
    return Counter(frozenset(Counter(group).items()) for group in groups.values())


# Each takes the numbers in the order of the text, and gives others.


def joined(numbers: list[int], chance: random.Random) -> None:
    numbers[chance.randrange(len(numbers))] = chance.choice(numbers)


def left(numbers: list[int], chance: random.Random) -> None:
    numbers[chance.randrange(len(numbers))] = max(numbers) + 1


def swapped(numbers: list[int], chance: random.Random) -> None:
    one, other = chance.randrange(len(numbers)), chance.randrange(len(numbers))
    numbers[one], numbers[other] = numbers[other], numbers[one]


def merged(numbers: list[int], chance: random.Random) -> None:
    one, other = chance.choice(numbers), chance.choice(numbers)
    numbers[:] = [one if number == other else number for number in numbers]


def split(numbers: list[int], chance: random.Random) -> None:
    one, fresh = chance.choice(numbers), max(numbers) + 1
    numbers[:] = [fresh if number == one and chance.random() < 0.5 else number for number in numbers]


def renumbered(numbers: list[int], chance: random.Random) -> None:
    old = sorted(set(numbers))
    new = dict(zip(old, chance.sample(range(1, 9000), len(old)), strict=True))
    numbers[:] = [new[number] for number in numbers]


Change = Callable[[list[int], random.Random], None]
CHANGES: tuple[Change, ...] = (joined, left, swapped, merged, split, renumbered)


def changed(text: str, change: Change, chance: random.Random) -> str:
    numbers = [int(one or other) for one, other in CHANNEL.findall(text)]
    change(numbers, chance)
    rest = iter(numbers)
    return CHANNEL.sub(lambda found: re.sub(r"\d+$", str(next(rest)), found[0]), text)


def shared(text: str, chance: random.Random) -> str:
    """The program with channels for some of its instructions, shared across its computations."""
    module = read_hlo(text, at_once=True)
    rate, most = chance.choice((0.02, 0.1, 0.5)), chance.choice((1, 3, 20))
    bodies = []
    for computation in module.computations:
        instructions = [
            replace(it, attributes=(*it.attributes, ("channel_id", str(chance.randint(1, most)))))
            if it.operands and it.attribute("channel_id") is None and chance.random() < rate
            else it
            for it in computation.instructions
        ]
        bodies.append(replace(computation, instructions=tuple(instructions)))
    return write(replace(module, computations=tuple(bodies)))


def test_an_instruction_that_joins_the_channel_of_fused_ones_is_reported() -> None:
    old, new = ((CASE / name).read_text() for name in ("old.hlo", "new.hlo"))
    for before, after in ((old, new), (new, old)):
        found = fast(before, after)
        assert [(edit.kind, edit.fields, edit.count) for edit in found.edits] == [
            ("changed", ("attribute:channel_id",), 1)
        ]
        site = found.edits[0].old
        assert site is not None
        assert site.name == "all-gather.18"
        (change,) = found.edits[0].changes
        assert change.old != change.new
        assert found.replay().complete


GATHERS = """HloModule m, num_partitions=2

ENTRY %e {
  %p = f32[4] parameter(0)
  %a = f32[8] all-gather(%p), channel_id=FIRST, replica_groups={{0,1}}, dimensions={0}
  %b = f32[8] all-gather(%p), channel_id=SECOND, replica_groups={{0,1}}, dimensions={0}
  %c = f32[8] sine(%a)
  %d = f32[4] collective-permute(%p), channel_id=THIRD, source_target_pairs={{0,1},{1,0}}
  ROOT %r = (f32[8], f32[8], f32[4]) tuple(%b, %c, %d)
}
"""


def gathers(*numbers: int) -> Module:
    text = GATHERS
    for word, number in zip(("FIRST", "SECOND", "THIRD"), numbers, strict=True):
        text = text.replace(word, str(number))
    return read_hlo(text)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ((5, 5, 5), (5, 5, 7), ["5, shared with 2 others -> 7, not shared"]),
        ((5, 5, 5), (7, 7, 5), ["5, shared with 2 others -> 5, not shared"]),
        ((5, 6, 6), (5, 5, 5), ["5, not shared -> 5, shared with 2 others"]),
        (
            (5, 5, 6),
            (5, 6, 6),
            ["5, shared with 1 other -> 5, not shared", "6, not shared -> 6, shared with 1 other"],
        ),
    ],
)
def test_it_is_said_how_many_share_a_channel(old: tuple[int, ...], new: tuple[int, ...], words: list[str]) -> None:
    """Not only its number, which may be the same. Who takes part is said by the groups of devices."""
    found = diff(gathers(*old), gathers(*new))
    assert [format_field_change(edit.changes[0]) for edit in found.edits] == [f"channel_id: {one}" for one in words]
    assert classes_of(found) == ("structure",)


def test_a_program_whose_collectives_only_share_other_channels_fails_a_check() -> None:
    found = diff(gathers(5, 5, 5), gathers(5, 5, 7))
    program = ProgramComparison("f", "cpu-2", "compiled", "changed", found)
    for word in ("compiled", "structure"):
        (finding,) = judge([program], Config(root=Path(), fail_on=fail_on([word], "here")))
        assert finding.severity == "error"


def test_the_channel_of_a_transfer_says_who_receives_it() -> None:
    text = """HloModule m

ENTRY %e {
  %p = f32[4] parameter(0)
  %t = token[] after-all()
  %s = (f32[4], u32[], token[]) send(%p, %t), channel_id=1
  %d = token[] send-done(%s), channel_id=1
  %u = (f32[4], u32[], token[]) recv(%t), channel_id=NUMBER
  %v = (f32[4], token[]) recv-done(%u), channel_id=NUMBER
  ROOT %r = f32[4] get-tuple-element(%v), index=0
}
"""
    old, new = (read_hlo(text.replace("NUMBER", number)) for number in ("1", "2"))
    assert classes_of(diff(old, new)) == ("structure",)


def test_the_command_reports_and_proves_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", str(CASE / "old.hlo"), str(CASE / "new.hlo"), "--verify", "--exit-code"]) == 1
    assert "the 1 edit turns the old program into the new one" in " ".join(capsys.readouterr().out.split())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.sampled_from(CHANGES), st.booleans())
def test_what_is_left_unread_changes_nothing(seed: int, change: Change, more: bool) -> None:
    chance = random.Random(seed)
    text = chance.choice(COMPILED).read_text()
    if more:
        text = shared(text, chance)
    other = changed(text, change, chance)
    found = fast(text, other)
    assert said(found) == said(slow(text, other))
    assert found.replay().complete
    if change is renumbered:
        assert found.identical
    elif partition(read_hlo(text)) != partition(read_hlo(other)):
        assert any("attribute:channel_id" in edit.fields for edit in found.edits)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.sampled_from(CHANGES))
def test_stablehlo_shares_channels_too(seed: int, change: Change) -> None:
    chance = random.Random(seed)
    old, new = read_text(LOWERED), read_text(changed(LOWERED, change, chance))
    found = diff(old, new)
    assert found.replay().complete
    if change is renumbered:
        assert found.identical
    elif partition(old) != partition(new):
        assert any("attribute:channel_id" in edit.fields for edit in found.edits)


def test_the_number_of_a_chain_of_steps_is_no_difference() -> None:
    """A TPU counts the collectives that it takes in steps; one that comes before the others gives them new numbers."""
    text = (Path(__file__).parent / "fixtures/collectives/gathers-in-and-after-a-loop.tpu.hlo").read_text("utf-8")
    other = text.replace('chain_id="1"', 'chain_id="9"').replace('chain_id="2"', 'chain_id="1"')
    assert other != text
    found = diff(read_text(text), read_text(other))
    assert found.identical and found.replay().complete


def test_the_numbers_of_names_and_barriers_are_no_difference() -> None:
    """A TPU numbers the collectives of a kind, and the sets of devices that wait for each other."""
    text = (Path(__file__).parent / "fixtures/collectives/gathers.tpu.hlo").read_text("utf-8")
    other = text.replace('async_collective_name="all-gather-start.1"', 'async_collective_name="all-gather-start.4"')
    assert other != text
    found = diff(read_text(text), read_text(other))
    assert found.identical and not found.tuning and found.replay().complete
    other = re.sub(r'\{"barrier_type":"CUSTOM","id":"\d+"\}', '{"barrier_type":"CUSTOM","id":"7"}', text)
    assert other != text
    found = diff(read_text(text), read_text(other))
    assert found.identical and found.tuning and found.replay().complete


def test_one_of_equal_bodies_with_collectives_is_edited_and_the_others_meet_whom_they_met() -> None:
    texts = [layers(6, 10, edits, with_channels=True) for edits in ({}, {3: (2, "logistic")})]
    for at_once in (False, True):
        found = diff(*(read_hlo(text, at_once=at_once) for text in texts))
        assert [(edit.kind, edit.fields, edit.count) for edit in found.edits] == [("changed", ("opcode",), 1)]
        assert found.replay().complete
    joined = texts[1].replace("channel_id=5", "channel_id=2")  # two of those that were not edited meet each other now
    for at_once in (False, True):
        found = diff(*(read_hlo(text, at_once=at_once) for text in (texts[0], joined)))
        assert any("attribute:channel_id" in edit.fields for edit in found.edits)
        assert found.replay().complete


CALLBACK = (
    "  stablehlo.custom_call @xla_ffi_python_cpu_callback(%V) {mhlo.backend_config = {index = N : ui64}} : (T) -> ()\n"
)
SEND = (
    '  %sV = "stablehlo.send"(%V, %token) <{channel_handle = #stablehlo.channel_handle<handle = N, type = 2>, '
    'is_host_transfer = true}> {mhlo.frontend_attributes = {_xla_host_transfer_rendezvous = "N"}} : (T, K) -> K\n'
)


def _told(line: str, *calls: tuple[str, int]) -> str:
    """A program that tells the host its values, each with a number."""
    told = "".join(line.replace("V", value).replace("N", str(number)) for value, number in calls)
    body = f"  %token = stablehlo.create_token : K\n  %b = stablehlo.sine %a : T\n{told}  return %b : T\n"
    text = f"module {{\nfunc.func public @main(%a: T) -> T {{\n{body}}}\n}}\n"
    return text.replace("T", "tensor<f32>").replace("K", "!stablehlo.token")


@pytest.mark.parametrize("line", [CALLBACK, SEND], ids=["callback", "send"])
def test_a_callback_that_went_does_not_change_the_next_one(line: str) -> None:
    two, one = _told(line, ("a", 2), ("b", 3)), _told(line, ("b", 2))
    for old, new, kind in ((two, one, "removed"), (one, two, "added")):
        found = diff(read_text(old), read_text(new))
        assert [edit.kind for edit in found.edits] == [kind] and found.replay().complete
    shared, apart = _told(line, ("a", 2), ("b", 2)), _told(line, ("a", 2), ("b", 3))
    found = diff(read_text(shared), read_text(apart))
    assert found.edits and found.replay().complete
