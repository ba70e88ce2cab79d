"""What is fuzzed: for each target its good inputs and what is done with one input.

An input may be refused with an error of ours; anything else that is raised is a find.
"""

from __future__ import annotations

import contextlib
import gzip
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hlodiff.errors import HlodiffError
from hlodiff.hlo import Module, read_bytes, read_text
from tests.fuzzing import folders
from tests.fuzzing.xla import opcodes

ROOT = Path(__file__).resolve().parents[2]
_LARGEST_SEED = 60_000


class Find(Exception):
    """An answer that is wrong."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader, or what works on programs.

    Args:
        seeds: good inputs.
        run: what is done with an input.
        suffix: of the files in the corpus.
    """

    seeds: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], None]
    suffix: str


def _files(pattern: str, least: int = 1) -> list[bytes]:
    found = [file.read_bytes() for file in sorted((ROOT / "snapshots").glob(pattern))]
    small = [data for data in found if len(data) < _LARGEST_SEED]
    if len(small) < least:
        raise AssertionError(f"no seeds: {pattern}")
    return small


@cache
def _compiled() -> Sequence[bytes]:
    return _files("**/compiled.hlo")


@cache
def _as_compiled() -> Sequence[bytes]:
    """Programs as compilers wrote them: normalizing those does more."""
    found = sorted((ROOT / "tests/fixtures/normalize").glob("*/*.hlo"))
    return [file.read_bytes() for file in found if file.stat().st_size < _LARGEST_SEED]


@cache
def _both() -> Sequence[bytes]:
    return [*_compiled(), *_as_compiled()]


@cache
def _stablehlo() -> Sequence[bytes]:
    return _files("**/stablehlo.mlir")


@cache
def _protos() -> Sequence[bytes]:
    from hlodiff.hlo import mlir

    texts = sorted(_compiled(), key=len)[:8]
    return [mlir.hlo_from_text(text.decode()).as_serialized_hlo_module_proto() for text in texts]


def _every_instruction(module: Module) -> int:
    return sum(len(computation.instructions) for computation in module.computations)


def _read_hlo(data: bytes) -> None:
    _every_instruction(read_bytes(data, path="a.hlo"))


def _read_lazily(data: bytes) -> None:
    from hlodiff.hlo.parser import read_hlo

    _every_instruction(read_hlo(data.decode(errors="replace"), at_once=False))


def _read_mlir(data: bytes) -> None:
    _every_instruction(read_bytes(data, path="a.mlir"))


def _read_proto(data: bytes) -> None:
    _every_instruction(read_bytes(data, path="a.pb"))


def _read_packed(data: bytes) -> None:
    _every_instruction(read_bytes(data, path="a.hlo.gz"))


def _diff(data: bytes) -> None:
    """The first seed whose header is the same is the old side, so that most inputs differ in little."""
    from hlodiff.differ import diff

    first = data.partition(b"\n")[0]
    old = next((seed for seed in _compiled() if seed.startswith(first)), _compiled()[len(data) % len(_compiled())])
    one, other = read_text(old.decode()), read_bytes(data, path="a.hlo")
    found = diff(one, other)
    if old == data and not found.identical:
        raise Find("a program differs from itself")
    replay = found.replay()
    if not replay.complete and not found.limits:
        raise Find(f"the proof fails: {replay.failures[:2]}")


def _normalize(data: bytes) -> None:
    from hlodiff.normalizer import normalize, to_text

    text = to_text(normalize(read_bytes(data, path="a.hlo")))
    again = to_text(normalize(read_text(text)))
    if again != text:
        raise Find("normalizing twice gives another text")


def _normalize_as_xla(data: bytes) -> None:
    """What XLA reads, it reads once normalized, and finds the same operations."""
    from hlodiff.normalizer import normalize, to_text

    module = read_bytes(data, path="a.hlo")
    text = to_text(normalize(module))
    before = opcodes(data.decode())
    if before is None:
        return
    after = opcodes(text)
    if after is None:
        raise Find("XLA reads the program, and not once it is normalized")
    if after != before:
        raise Find(f"XLA finds other operations once it is normalized: {before - after} before, {after - before} after")


def _normalize_mlir(data: bytes) -> None:
    from hlodiff.normalizer import normalize, to_text

    text = to_text(normalize(read_bytes(data, path="a.mlir")))
    if to_text(normalize(read_text(text))) != text:
        raise Find("normalizing twice gives another text")


def _summary(data: bytes) -> None:
    from hlodiff.snapshots.yaml_format import SUMMARY_VERSION, load

    load(data.decode(errors="replace"), "summary.yaml", SUMMARY_VERSION)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _snapshot(data: bytes) -> None:
    """One file of a snapshot is the input: which one decides its first byte."""
    from hlodiff.snapshots import Key
    from hlodiff.snapshots.read import read_snapshot
    from hlodiff.snapshots.trees import FolderTree

    good = ROOT / "snapshots/attention/cpu"
    with _folder() as root:
        place = root / "attention/cpu"
        place.mkdir(parents=True)
        for file in good.iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        names = ["summary.yaml", "source.json", "compiled.hlo", "compiled.hlo.gz"]
        (place / names[data[0] % len(names) if data else 0]).write_bytes(data)
        read_snapshot(FolderTree(root), Key("attention", "", "cpu"))


def _parts_of_snapshots() -> Sequence[bytes]:
    return [*_files("**/summary.yaml"), *_files("**/source.json"), *_compiled()]


def _traces(data: bytes) -> None:
    from hlodiff.snapshots.traces_file import read_traces
    from hlodiff.snapshots.trees import FolderTree

    with _folder() as root:
        (root / "steps").mkdir()
        (root / "steps/traces.yaml").write_bytes(data)
        read_traces(FolderTree(root), "steps")


def _result(data: bytes) -> None:
    from hlodiff.report.forms import SAVED_FORM_NAMES, saved_to_form
    from hlodiff.report.untrusted_result import read_untrusted_view

    view = read_untrusted_view(data.decode(errors="replace"))
    for form in SAVED_FORM_NAMES:
        saved_to_form(view, form)


def _results() -> Sequence[bytes]:
    return [file.read_bytes() for file in sorted((ROOT / "tests/pinned").glob("*.json"))][:12]


def _config(data: bytes) -> None:
    from hlodiff.config import find_and_read
    from hlodiff.policy.rules import RULES_BY_NAME

    with _folder() as root:
        (root / "pyproject.toml").write_bytes(data)
        find_and_read(root / "pyproject.toml", lambda: RULES_BY_NAME)


_SMALL_CONFIG = b'[tool.hlodiff]\ntargets = ["cpu"]\n[tool.hlodiff.limits]\nmoves = 3\n'


def _configs() -> Sequence[bytes]:
    return [(ROOT / "pyproject.toml").read_bytes(), _SMALL_CONFIG]


_VALUES = [
    b"{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", b"{{replicated}, {devices=[1,8]0,1,2,3,4,5,6,7}}",
    b"[2,4]<=[8]", b"[4,2]<=[2,4]T(1,0)", b"{{0,1},{2,3}}", b"{{0,1},{1,2}}", b"mesh['x'=2,'y'=4] {'x'}",
    b"{ {0}: (0, {}, may-alias), {1}: (1, {2}, must-alias) }", b"f32[2,<=3]{1,0:T(8,128)(2,1)S(1)}",
    b"(f32[2]{0}, (s32[], token[]))", b"{size=3x3 pad=1_1x1_1 stride=2x2}", b"{[0:3:1], [2:8:2]}",
    b'{op_name="a(b)" stack_frame_id=3 source_file="x.py" source_line=7}', b"{ { 1, 2 }, { 3e+2, -inf } }",
]  # fmt: skip


def _value(data: bytes) -> None:
    """Values of attributes, one by one: lists of devices, layouts, literals."""
    from hlodiff.hlo import grammar
    from hlodiff.hlo.collectives import canonical_groups, parse_groups
    from hlodiff.hlo.metadata import FrameTable, read_metadata
    from hlodiff.normalizer.attributes import canonical_sharding, sorted_pairs

    text = data.decode(errors="replace")
    if grammar.has_long_number(text):
        return  # refused where a program is read
    canonical_groups(text)
    parse_groups(text)
    canonical_sharding(text)
    sorted_pairs(text)
    read_metadata(text, FrameTable())
    for name in ("window", "slice", "dimensions"):
        grammar.canonical_attribute(name, text)
    grammar.canonical_literal(text, "f32")
    grammar.is_header_value("input_output_alias", text)
    with contextlib.suppress(grammar.Unbalanced, grammar.UnknownType):
        grammar.literal_error(text, grammar.read_shape(text))


@cache
def _free_forms() -> Sequence[bytes]:
    from tests.test_free_form import FORMS, INFERRED

    bare = [f"ENTRY e {{ a = f32[2,3] parameter(0) s = f32[] parameter(1) ROOT r = {right} }}" for right in INFERRED]
    return [text.encode() for text in (*FORMS.values(), *bare)]


TARGETS: dict[str, Target] = {
    "free-form": Target(_free_forms, _read_hlo, ".hlo"),
    "hlo": Target(_compiled, _read_hlo, ".hlo"),
    "lazy": Target(_compiled, _read_lazily, ".hlo"),
    "mlir": Target(_stablehlo, _read_mlir, ".mlir"),
    "proto": Target(_protos, _read_proto, ".pb"),
    "packed": Target(lambda: [gzip.compress(seed, 1, mtime=0) for seed in _compiled()[:8]], _read_packed, ".gz"),
    "diff": Target(_compiled, _diff, ".hlo"),
    "normalize": Target(_both, _normalize, ".hlo"),
    "normalize-xla": Target(_both, _normalize_as_xla, ".hlo"),
    "normalize-mlir": Target(_stablehlo, _normalize_mlir, ".mlir"),
    "summary": Target(lambda: _files("**/summary.yaml"), _summary, ".yaml"),
    "snapshot": Target(_parts_of_snapshots, _snapshot, ".bin"),
    "traces": Target(lambda: _files("**/traces.yaml"), _traces, ".yaml"),
    "growth": Target(folders.growth_files, folders.read_damaged_growth, ".yaml"),
    "pending": Target(folders.seeds_of(folders.pending_files), folders.read_pending, ".bin"),
    "recording": Target(folders.seeds_of(folders.recording_files), folders.read_recording, ".bin"),
    "pass-dump": Target(folders.seeds_of(folders.dump_files), folders.read_dump, ".bin"),
    "result": Target(_results, _result, ".json"),
    "config": Target(_configs, _config, ".toml"),
    "value": Target(lambda: _VALUES, _value, ".txt"),
}


def outcome(name: str, data: bytes) -> str:
    """What is wrong after an input was read; "" where it was read or refused."""
    try:
        TARGETS[name].run(data)
    except HlodiffError as error:
        shown = error.render()
        return f"internal error: {shown}" if "internal error" in shown or "bug in hlodiff" in shown else ""
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""
