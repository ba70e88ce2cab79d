"""What is fuzzed: for each target its good inputs and what is done with one input.

An input may be refused with an error of ours; anything else that is raised is a find.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hlodiff.errors import HlodiffError
from hlodiff.hlo import Module, read_bytes, read_text
from tests.fuzzing import commands, folders, pairs
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
        structured: whether the inputs are JSON, YAML or TOML, whose values are replaced too.
    """

    seeds: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], None]
    suffix: str
    structured: bool = False


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
    from hlodiff.hlo import read_hlo

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
    from hlodiff.snapshots import SUMMARY_VERSION, load_yaml

    load_yaml(data.decode(errors="replace"), "summary.yaml", SUMMARY_VERSION)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _snapshot(data: bytes) -> None:
    """One file of a snapshot is the input: which one decides its first byte."""
    from hlodiff.snapshots import FolderTree, Key, read_snapshot

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
    from hlodiff.snapshots import FolderTree, read_traces

    with _folder() as root:
        (root / "steps").mkdir()
        (root / "steps/traces.yaml").write_bytes(data)
        read_traces(FolderTree(root), "steps")


def _result(data: bytes) -> None:
    from hlodiff.report import SAVED_FORM_NAMES, read_untrusted_view, saved_to_form

    view = read_untrusted_view(data.decode(errors="replace"))
    for form in SAVED_FORM_NAMES:
        saved_to_form(view, form)


def _results() -> Sequence[bytes]:
    return [file.read_bytes() for file in sorted((ROOT / "tests/pinned").glob("*.json"))][:12]


def _config(data: bytes) -> None:
    from hlodiff.workflows import load_if_any

    with _folder() as root:
        (root / "pyproject.toml").write_bytes(data)
        load_if_any(root / "pyproject.toml")


_SMALL_CONFIG = b'[tool.hlodiff]\ntargets = ["cpu"]\n[tool.hlodiff.limits]\nmoves = 3\n'
_EVERY_KEY = b"""[tool.hlodiff]
path = ["."]
jobs = 2
timeout = 1.5
memory = "8 GiB"
xla_flags = ["--xla_a=1"]
libtpu_init_args = "--xla_b=2"
env = { A = "1", B = "2" }
x64 = true
matmul_precision = "highest"
max_file_bytes = 10
large_constants = "ignore"
"""


@cache
def _configs() -> Sequence[bytes]:
    whole = commands.project_files()["pyproject.toml"]
    every = whole.replace(b"[tool.hlodiff]\n", _EVERY_KEY, 1)
    return [(ROOT / "pyproject.toml").read_bytes(), _SMALL_CONFIG, whole, every, every]


@cache
def _without_table() -> Sequence[bytes]:
    """Projects that have no table of ours yet."""
    packaged = (ROOT / "pyproject.toml").read_bytes().partition(b"[tool.hlodiff]")[0]
    return [packaged, packaged.partition(b"[tool.")[0], b"[tool]\nblack = { line-length = 3 }\n"]


def _set_up(data: bytes) -> None:
    """What `init` does with a pyproject.toml and with a .gitattributes."""
    from hlodiff.integrations.git.setup import with_block, with_row, without_block, without_row
    from hlodiff.workflows import set_up_project

    text = data.decode(errors="surrogateescape")
    for changed in (with_block(text, "snapshots"), with_row(text, "a b"), without_block(text), without_row(text, "a")):
        changed.encode(errors="surrogateescape")
    with _folder() as root:
        (root / "pyproject.toml").write_bytes(data)
        (root / ".gitattributes").write_bytes(data)
        set_up_project(root)


def _artifact(data: bytes) -> None:
    from hlodiff.integrations.code_hosts import HttpClient, triggered_by, uploaded
    from tests.code_host_server import workflow_run

    class Kept(HttpClient):
        def request(self, *_: object, **__: object) -> object:
            return {"artifacts": [{"name": "hlodiff", "id": 1, "size_in_bytes": len(data)}]}

        def download(self, *_: object, **__: object) -> bytes:
            return data

    uploaded(Kept("https://example.com", {}), triggered_by(workflow_run()), "hlodiff")


def _artifacts() -> Sequence[bytes]:
    found = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as packed:
            packed.writestr("hlodiff.json", _results()[0][:2000])
            packed.writestr("pull-request", "17\n")
        found.append(stream.getvalue())
    return found


def _facts(data: bytes) -> None:
    """What the git drivers do with a YAML file: show what changed in it, and mark it as stale."""
    from hlodiff.integrations.git.diff_driver import NamedFile, format_facts
    from hlodiff.snapshots import marked_stale

    good = min(_yaml_files(), key=len)
    for name in ("summary.yaml", "traces.yaml", "growth.yaml"):
        named = NamedFile(f"snapshots/f/cpu/{name}", "f", "cpu", True)
        old, new = ((good, data), (data, good), (None, data))[zlib.crc32(data) % 3]
        with contextlib.suppress(HlodiffError, ValueError, UnicodeDecodeError):
            list(format_facts(named, old, new))
    marked_stale(marked_stale(data))


@cache
def _yaml_files() -> Sequence[bytes]:
    return [file for pattern in ("summary", "traces", "growth") for file in _files(f"**/{pattern}.yaml")[:12]]


def _textconv(data: bytes) -> None:
    from hlodiff.integrations.git.diff_driver import textconv

    with _folder() as root:
        (root / "compiled.hlo").write_bytes(data)
        textconv(root / "compiled.hlo").encode("utf-8", "backslashreplace")


def _history(data: bytes) -> None:
    """What `log` reads of one version of a recorded file."""
    from hlodiff.integrations.history import reading_of
    from hlodiff.snapshots import Key

    for stage in ("compiled", "stablehlo"):
        reading_of(data, "program", Key("f", "", "cpu"), stage)
    reading_of(data, "scenario", Key("f", "", "traces"), "compiled")


def _shown_summary(data: bytes) -> None:
    """What `show` prints of a summary, of which nothing has to have the right type."""
    from hlodiff.inspect import summary_text
    from hlodiff.report import json_text, printable
    from hlodiff.snapshots import SUMMARY_VERSION, load_yaml

    table = load_yaml(data.decode(errors="replace"), "summary.yaml", SUMMARY_VERSION)
    "".join(map(printable, summary_text(table))).encode("utf-8", "backslashreplace")
    json_text({"programs": [table]})


def _source(data: bytes) -> None:
    """A source.json, put on the program that it is of and on another one."""
    import json

    from hlodiff.snapshots import attach_source

    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        return  # counts as absent where a snapshot is read
    for stage in ("compiled", "stablehlo"):
        source = table.get(stage) if isinstance(table, dict) else table
        if source is None or isinstance(source, dict):
            module = attach_source(_attention(), source)
            for computation in module.computations:
                for it in computation.instructions:
                    module.stack(it.frame)


@cache
def _attention() -> Module:
    return read_text((ROOT / "snapshots/attention/cpu/compiled.hlo").read_text(encoding="utf-8"))


_KEY = "0" * 64
_LOWERED = "module @jit_f {\n}\n"


@cache
def _entries() -> Sequence[bytes]:
    """Entries of the compile cache, not yet packed."""
    import json

    from hlodiff.capture import facts
    from hlodiff.capture.compile_cache import FORMAT

    text = commands.project_files()["old.hlo"].decode().replace("HloModule m", "HloModule jit_f", 1)
    figures = {"memory": dict.fromkeys(facts.MEMORY_FIGURES, 1), "cost": dict.fromkeys(facts.COST_FIGURES, 1.5)}
    return [json.dumps({"format": FORMAT, "key": _KEY, **figures, "compiled": text}).encode()]


def _cache_entry(data: bytes) -> None:
    from hlodiff.capture.compile_cache import read_entry

    with _folder() as root:
        for content in (zlib.compress(data), data):
            (root / "entry").write_bytes(content)
            read_entry(root / "entry", _KEY, _LOWERED, ())


@cache
def _kernels() -> Sequence[bytes]:
    """MLIR bytecode, as custom calls hold it."""
    from hlodiff.hlo import mlir

    found = []
    for text in sorted(_stablehlo(), key=len)[:4]:
        stream = io.BytesIO()
        with mlir.context():
            mlir.parse_mlir(text.decode()).operation.write_bytecode(stream)
        found.append(stream.getvalue())
    return found


def _kernel(data: bytes) -> None:
    from hlodiff.hlo import read_hlo
    from hlodiff.normalizer import normalize

    body = base64.b64encode(data).decode()
    config = f'{{"custom_call_config":{{"body":"{body}"}}}}'
    call = f'custom-call(), custom_call_target="tpu_custom_call", backend_config={config}'
    normalize(read_hlo(f"HloModule m\n\nENTRY e {{\n  ROOT k = f32[8] {call}\n}}\n"))


_VALUES = [
    b"{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", b"{{replicated}, {devices=[1,8]0,1,2,3,4,5,6,7}}",
    b"[2,4]<=[8]", b"[4,2]<=[2,4]T(1,0)", b"{{0,1},{2,3}}", b"{{0,1},{1,2}}", b"mesh['x'=2,'y'=4] {'x'}",
    b"{ {0}: (0, {}, may-alias), {1}: (1, {2}, must-alias) }", b"f32[2,<=3]{1,0:T(8,128)(2,1)S(1)}",
    b"(f32[2]{0}, (s32[], token[]))", b"{size=3x3 pad=1_1x1_1 stride=2x2}", b"{[0:3:1], [2:8:2]}",
    b'{op_name="a(b)" stack_frame_id=3 source_file="x.py" source_line=7}', b"{ { 1, 2 }, { 3e+2, -inf } }",
]  # fmt: skip


_AROUND = (
    "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = f32[] add(a, b)\n}\n\n"
    "ENTRY main {\n  x = f32[2] parameter(0)\n  ROOT\n}\n"
)
_PLACES = (
    *(f"f32[2] all-reduce(x), to_apply=add, {name}=VALUE" for name in ("replica_groups", "sharding", "metadata")),
    *(f'f32[2] custom-call(x), custom_call_target="t", {name}=VALUE' for name in ("window", "slice", "dimensions")),
    "f32[2] constant(VALUE)",
    "VALUE constant(1)",
)


def _value(data: bytes) -> None:
    """Values of attributes, one by one: lists of devices, layouts, literals."""
    from hlodiff.normalizer import normalize, to_text

    text = data.decode(errors="replace")
    for place in _PLACES:
        with contextlib.suppress(HlodiffError):
            to_text(normalize(read_text(_AROUND.replace("ROOT", f"ROOT r = {place}").replace("VALUE", text))))
    with contextlib.suppress(HlodiffError):
        header = f"HloModule m, input_output_alias={text}"
        read_text(_AROUND.replace("HloModule m", header).replace("ROOT", "ROOT r = f32[2] negate(x)"))


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
    "diff-lazy": Target(pairs.compiled_pairs, pairs.diff_lazily, ".hlo"),
    "diff-both-ways": Target(pairs.compiled_pairs, pairs.diff_both_ways, ".hlo"),
    "diff-mlir": Target(pairs.lowered_pairs, pairs.diff_lowered, ".mlir"),
    "inspect": Target(pairs.compiled_pairs, pairs.inspect, ".hlo"),
    "normalize": Target(_both, _normalize, ".hlo"),
    "normalize-xla": Target(_both, _normalize_as_xla, ".hlo"),
    "normalize-mlir": Target(_stablehlo, _normalize_mlir, ".mlir"),
    "summary": Target(lambda: _files("**/summary.yaml"), _summary, ".yaml", structured=True),
    "shown-summary": Target(lambda: _files("**/summary.yaml"), _shown_summary, ".yaml", structured=True),
    "snapshot": Target(_parts_of_snapshots, _snapshot, ".bin", structured=True),
    "source": Target(lambda: _files("**/source.json"), _source, ".json", structured=True),
    "traces": Target(lambda: _files("**/traces.yaml"), _traces, ".yaml", structured=True),
    "growth": Target(folders.growth_files, folders.read_damaged_growth, ".yaml", structured=True),
    "history": Target(_yaml_files, _history, ".yaml", structured=True),
    "git-facts": Target(_yaml_files, _facts, ".yaml", structured=True),
    "textconv": Target(pairs.compiled_pairs, _textconv, ".hlo"),
    "pending": Target(folders.seeds_of(folders.pending_files), folders.read_pending, ".bin", structured=True),
    "recording": Target(folders.seeds_of(folders.recording_files), folders.read_recording, ".bin", structured=True),
    "pass-dump": Target(folders.seeds_of(folders.dump_files), folders.read_dump, ".bin"),
    "command": Target(commands.seeds, commands.run_command, ".bin", structured=True),
    "result": Target(_results, _result, ".json", structured=True),
    "artifact": Target(_artifacts, _artifact, ".zip"),
    "cache-entry": Target(_entries, _cache_entry, ".json", structured=True),
    "kernel": Target(_kernels, _kernel, ".bin"),
    "config": Target(_configs, _config, ".toml", structured=True),
    "init": Target(_without_table, _set_up, ".toml", structured=True),
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
