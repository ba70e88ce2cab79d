"""Whatever a stranger writes, reading it takes little time and memory, and ends no process of ours."""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from hlodiff.errors import HlodiffError, ReadError
from hlodiff.hlo import native_process, read_bytes, read_stablehlo, read_text
from hlodiff.normalizer import normalize, to_text
from hlodiff.snapshots import SUMMARY_VERSION, dump_yaml, load_yaml
from hlodiff.workflows import load_if_any, pending
from tests.fuzzing import commands, folders
from tests.fuzzing.structured import with_other_values
from tests.fuzzing.targets import TARGETS, outcome
from tests.fuzzing.xla import opcodes
from tests.work import bounded_work

FIXTURES = Path(__file__).resolve().parent / "fixtures/fuzz"
HEAD = "HloModule m\n\nENTRY e {\n"
LONG = 100_000


def in_header(part: str) -> str:
    return f"HloModule m, {part * (LONG // len(part))}"


def in_metadata(part: str) -> str:
    text = part * (LONG // len(part))
    return f'{HEAD}  ROOT p = f32[] parameter(0), metadata={{op_name="x" {text}}}\n}}\n'


def in_layout(part: str) -> str:
    return f"{HEAD}  ROOT p = f32[2]{{{part * (LONG // len(part))}}} parameter(0)\n}}\n"


def in_shape(part: str) -> str:
    return f"{HEAD}  ROOT p = {part * (LONG // len(part))} parameter(0)\n}}\n"


def in_operands(part: str) -> str:
    return f"{HEAD}  ROOT p = f32[2] add({part * (LONG // len(part))})\n}}\n"


def in_lines(part: str) -> str:
    return HEAD + f"{part}\n" * (LONG // len(part))


PLACES: list[Callable[[str], str]] = [in_header, in_metadata, in_layout, in_shape, in_operands, in_lines]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_text_that_repeats_takes_little_work(place: Callable[[str], str]) -> None:
    for part in ('"', '\\"', "{", "}", "(", "[", "/*", "//", "a=", "a={", ", ", "0x", "T(", "((f32[],", "p = f32[] "):
        with contextlib.suppress(ReadError), bounded_work():  # some of these are harmless
            read_text(place(part))


def test_computations_called_twice_by_each_other_take_little_work() -> None:
    calls = "c0 {\n  ROOT p = f32[] parameter(0)\n}\n\n"
    for n in range(1, 61):
        calls += f"c{n} {{\n  p = f32[] parameter(0)\n  a = f32[] call(p), to_apply=c{n - 1}\n"
        calls += f"  ROOT b = f32[] call(a), to_apply=c{n - 1}\n}}\n\n"
    text = f"HloModule m\n\n{calls}ENTRY e {{\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=c60\n}}\n"
    with bounded_work():
        to_text(normalize(read_text(text)))


def test_numbers_of_many_digits_are_refused() -> None:
    digits = "9" * 5000
    for right in (
        f"f32[{digits}] parameter(0)",
        f"f32[2] parameter({digits})",
        f"f32[2]{{{digits}}} parameter(0)",
        f"f32[2] iota(), iota_dimension={digits}",
        f'f32[2] custom-call(), custom_call_target="t", backend_config={{"a": {digits}}}',
    ):
        with contextlib.suppress(HlodiffError):
            to_text(normalize(read_text(f"{HEAD}  ROOT p = {right}\n}}\n")))


def test_deep_json_in_a_program_is_kept_as_text() -> None:
    deep = json.dumps('{"a":' * 5000 + "1" + "}" * 5000)
    text = f'{HEAD}  ROOT p = f32[2] custom-call(), custom_call_target="x", backend_config={deep}\n}}\n'
    assert "custom-call" in to_text(normalize(read_text(text)))


@pytest.mark.parametrize(
    "value",
    ["- " * 200_000, "? " * 200_000, "[" * 200_000, "{a: " * 50_000, ":".join(["59"] * 100_000), "0x" + "f" * 200_000,
     "9" * 5000, "*b", "!!python/name:os.system", '"' * 100_001],
    ids=lambda value: value[:8],
)  # fmt: skip
def test_yaml_of_a_stranger(value: str) -> None:
    with contextlib.suppress(HlodiffError), bounded_work():  # what is no number of ours is a string
        load_yaml(f"format_version: 1\na: {value}", "summary.yaml")


def test_what_hlodiff_writes_as_yaml_is_read_as_it_was() -> None:
    values = {
        "format_version": 1, "a": 12, "b": -3.5, "c": 1e-07, "d": True, "e": None, "f": "1:30",
        "g": "2001-01-01", "h": "on", "i": "0x10", "j": 10**20, "k": [1, 2.5, "x"], "l": "1e5", "m": "",
        "n": float("inf"), "o": 1e300, "p": "=", "q": "010",
    }  # fmt: skip
    assert load_yaml(dump_yaml(values), "summary.yaml") == values


@pytest.mark.parametrize(
    "text", ["a=" + "[" * 100_000, ".".join(["a"] * 100_000) + "=1", "a=" + "9" * 5000, "a=1\na=2"], ids=lambda t: t[:6]
)
def test_toml_of_a_stranger(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.hlodiff]\n{text}\n")
    with pytest.raises(HlodiffError), bounded_work():
        load_if_any(file)


BOMBS = {
    "types that double": "\n".join(
        ["!a0 = tuple<i8,i8>", *(f"!a{n} = tuple<!a{n - 1},!a{n - 1}>" for n in range(1, 50)), "func.func @f(%x: !a49)"]
    ),
    "a name that is not UTF-8": 'func.func @"a\\FF"(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }',
    "locations that double": "\n".join(
        ['#loc0 = loc("a.py":1:1)', *(f"#loc{n} = loc(callsite(#loc{n - 1} at #loc{n - 1}))" for n in range(1, 30)),
         "func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } loc(#loc29)"]
    ),
}  # fmt: skip


FINE = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"


def _of_children(read: Callable[[], object]) -> float:
    """Processor time of a child that starts, reads this and ends."""
    native_process.stop()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    read()
    native_process.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _refused(text: str) -> None:
    with pytest.raises(ReadError) as error:
        read_text(text, path="bomb.mlir")
        raise ReadError("bomb.mlir is harmless")
    assert "bomb.mlir" in str(error.value) and "internal error" not in error.value.render()


def test_mlir_of_a_stranger_ends_no_process_and_takes_little_time() -> None:
    """The child may take one second of the processor for each of these, which would take hours or all the memory."""
    for name, text in BOMBS.items():
        assert _of_children(partial(_refused, text)) < 60, name
    assert read_text(FINE) == read_text(FINE, trusted=True)  # the child is there again


def test_deep_mlir_is_refused_with_its_place() -> None:
    with pytest.raises(ReadError, match="nested more than") as error:
        read_stablehlo("module {\n  " + "tuple<" * 8000 + ">" * 8000)
    assert error.value.line == 2 and error.value.column > 200


def test_protos_and_packed_files_of_a_stranger() -> None:
    huge = b"\x0a\x05hello\x12\x04main\x1a" + b"\xff" * 4 + b"\x7f" + b"a" * 100
    for name, data in {"a.pb": huge, "b.pb": b"\x0a\x05hello\x12\x04main" + bytes(range(256)) * 20}.items():
        with pytest.raises(ReadError, match=name):
            read_bytes(data, path=name)
    with pytest.raises(ReadError, match="cut off"):
        read_bytes(gzip.compress(HEAD.encode())[:-4], path="a.hlo.gz")


@pytest.mark.parametrize("file", sorted(FIXTURES.glob("*.*")), ids=lambda file: file.name)
def test_a_past_find_stays_mended(file: Path) -> None:
    """`TARGET--what.suffix`: made small from a find of `make fuzz`."""
    target = file.name.partition("--")[0]
    with bounded_work():
        assert outcome(target, file.read_bytes()) == ""


# These take longer, each for itself; `make fuzz` runs them.
_LONG = ("command", "diff", "diff-both-ways", "diff-lazy", "diff-mlir", "git-facts", "inspect", "mlir",
         "normalize-mlir", "pending", "proto", "recording", "textconv")  # fmt: skip


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in _LONG])
def test_some_inputs_of_each_target(target: str) -> None:
    from tests.fuzzing.__main__ import made

    for seed in range(20):
        assert outcome(target, made(target, seed)) == "", f"python -m tests.fuzzing {target} {seed}"


@pytest.mark.parametrize("target", ["summary", "source", "traces", "growth", "config", "cache-entry"])
def test_inputs_with_other_values_are_well_formed(target: str) -> None:
    """Else readers would refuse all of them before they look at a value."""
    seeds, random = TARGETS[target].seeds(), Random(target)
    made = [with_other_values(random.choice(seeds), random) for _ in range(60)]
    suffix = TARGETS[target].suffix
    read = 0
    for data in made:
        assert data is not None
        with contextlib.suppress(HlodiffError, ValueError, RecursionError):
            text = data.decode("utf-8", "surrogatepass")
            if suffix == ".yaml":
                load_yaml(text, "x.yaml", SUMMARY_VERSION)
            else:
                json.loads(text) if suffix == ".json" else tomllib.loads(text)
            read += 1
    assert len(set(made)) > 50 and read > 20
    assert all(with_other_values(seed, random) for seed in seeds)


def test_a_command_that_fails_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome("command", b"old.hlo\nHloModule") == ""
    monkeypatch.setattr("hlodiff.cli.show_command.summary_text", lambda summary: [][1])
    monkeypatch.setattr(commands, "COMMANDS", [("show", "f")])
    assert "IndexError" in outcome("command", b"snapshots/f/cpu/summary.yaml\nformat_version: 1\n")
    commands.clean_up()


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("snapshot", "lazy")])
def test_each_target_reads_its_good_inputs(target: str) -> None:
    """A target that refused what is good would never read what is damaged: what it raises fails here."""
    seed = TARGETS[target].seeds()[0]
    assert seed
    TARGETS[target].run(seed)


def test_a_program_that_xla_reads_in_another_way_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{HEAD}  p = f32[2]{{0}} parameter(0)\n  ROOT a = f32[2]{{0}} add(p, p)\n}}\n"
    assert opcodes(text) == {"add": 1} and opcodes("HloModule m {") is None
    assert outcome("normalize-xla", text.encode()) == ""
    monkeypatch.setattr("hlodiff.normalizer.to_text", lambda module: text.replace("add", "multiply"))
    assert "other operations" in outcome("normalize-xla", text.encode())
    monkeypatch.setattr("hlodiff.normalizer.to_text", lambda module: text.replace("add", "plus"))
    assert "not once it is normalized" in outcome("normalize-xla", text.encode())


def test_a_pending_folder_is_read_whole() -> None:
    with folders.folder(folders.pending_files()) as root:
        keys = pending.list_pending(root)
        programs, broken = pending.load_pending(root, [key for key in keys if not pending.is_record(key)])
        records, worse = pending.load_records(root, [key for key in keys if pending.is_record(key)])
    assert (len(programs), len(records), broken, worse) == (1, 2, {}, {})


def test_an_attribute_of_blanks_takes_linear_time() -> None:
    value = "{" + " " * 400_000 + "x}"
    module = read_text(f"{HEAD}  ROOT p = f32[2] broadcast(), dimensions={value}\n}}\n")
    assert module.entry_computation.instructions[0].attribute("dimensions") == value
