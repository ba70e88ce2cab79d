"""The compile cache: what its key sees, what an entry may hold, lies that are not believed, and real programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff.capture import COMPILE_CACHE, CacheFolder, facts, parse_target
from hlodiff.capture import compile_cache as cache
from hlodiff.capture.compile_cache import (
    XlaResult,
    numbered_places,
    read_entry,
    settings,
    write_entry,
)
from hlodiff.errors import StoreError, UsageError
from hlodiff.workflows.shared_cache import using_compile_cache

STABLEHLO = """\
#loc1 = loc("x")
module @jit_step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32> loc("x")) -> tensor<8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8xf32> loc(#loc5)
    return %0 : tensor<8xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("/old/model.py":12:4 to :20)
#loc3 = loc("/old/train.py":3:1 to 4:7)
#loc4 = loc("loss"(#loc2))
#loc5 = loc("jit(step)/tanh"(#loc4))
"""
COMPILED = """\
HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

FileNames
1 "/old/model.py"
2 "/old/train.py"

FunctionNames
1 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=20}
2 {file_name_id=2 function_name_id=1 line=3 end_line=4 column=1 end_column=7}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY %main.1 (x.1: f32[8]) -> f32[8] {
  %x.1 = f32[8]{0} parameter(0), metadata={op_name="x"}
  ROOT %tanh.1 = f32[8]{0} tanh(%x.1), metadata={op_name="jit(step)/tanh" stack_frame_id=1}
}

"""
KEY = "ab" + "0" * 62
MEMORY: dict[str, int | None] = {name: None if name == "peak" else 8 for name in facts.MEMORY_FIGURES}
RESULT = XlaResult(COMPILED, MEMORY, dict.fromkeys(facts.COST_FIGURES, 0.5))


def moved(text: str) -> str:
    """The same program with other lines, in another checkout."""
    return (
        text.replace("/old/", "/new/place/")
        .replace(":12:4 to :20", ":112:8 to :24")
        .replace("line=12 end_line=12 column=4 end_column=20", "line=112 end_line=112 column=8 end_column=24")
    )


def kept(folder: Path, **changes: Any) -> Path:
    """The file of an entry, with some of its values changed."""
    file = CacheFolder(str(folder), True).file(KEY)
    places, _ = numbered_places(STABLEHLO)
    assert write_entry(file, KEY, RESULT, STABLEHLO, places)
    if changes:
        value = json.loads(zlib.decompress(file.read_bytes())) | changes
        file.write_bytes(zlib.compress(json.dumps(value).encode()))
    return file


def asked(file: Path, stablehlo: str = STABLEHLO, key: str = KEY) -> XlaResult | None:
    return read_entry(file, key, stablehlo, numbered_places(stablehlo)[0])


def test_an_entry_gets_the_lines_of_the_program_that_is_asked_for(tmp_path: Path) -> None:
    file = kept(tmp_path)
    assert asked(file) == replace(RESULT, cached=True)
    found = asked(file, moved(STABLEHLO))
    assert found is not None and found.text == moved(COMPILED)
    content = zlib.decompress(file.read_bytes())
    assert b"/old/" not in content and b"model.py" not in content, "no path of a machine"
    assert (
        numbered_places(STABLEHLO)[1]
        == numbered_places(moved(STABLEHLO))[1]
        != numbered_places(STABLEHLO.replace("tanh", "exp"))[1]
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("line=12 end_line=12", "line=13 end_line=13"),  # a place that the program does not name
        ("FunctionNames", 'FileNames\n1 "x"\n\nFunctionNames'),
        ('op_name="x"', 'op_name="x" source_file="/old/model.py" source_line=3'),
        ('"/old/train.py"', '"/old/\\"train.py"'),
        ("2 {file_name_id=2", "2 {file_name_id=9"),
    ],
)
def test_what_names_places_otherwise_is_not_kept(old: str, new: str, tmp_path: Path) -> None:
    assert old in COMPILED
    result = replace(RESULT, text=COMPILED.replace(old, new))
    file = CacheFolder(str(tmp_path), True).file(KEY)
    assert not write_entry(file, KEY, result, STABLEHLO, numbered_places(STABLEHLO)[0])
    assert list(tmp_path.iterdir()) == []


def test_places_of_a_program_without_any(tmp_path: Path) -> None:
    text = "HloModule jit_step\n\nENTRY %main () -> f32[] {\n  ROOT %c = f32[] constant(1)\n}\n"
    result, file = replace(RESULT, text=text), CacheFolder(str(tmp_path), True).file(KEY)
    assert write_entry(file, KEY, result, STABLEHLO, numbered_places(STABLEHLO)[0])
    assert asked(file) == replace(result, cached=True)
    point, span = (numbered_places(f'#loc1 = loc("a.py":3:4{to})')[0] for to in ("", " to :4"))
    assert point == span != ()


LIES: dict[str, dict[str, Any]] = {
    "another key": {"key": "cd" + "0" * 62},
    "another format": {"format": 0},
    "more": {"more": 1},
    "no text": {"compiled": None},
    "no program": {"compiled": "HloModule jit_step, x={\n\nENTRY"},
    "another module": {"compiled": COMPILED.replace("jit_step", "jit_other")},
    "a place beyond the program's": {"compiled": COMPILED.replace("/old/model.py", "@").replace("=12", "=7")},
    "text as memory": {"memory": dict.fromkeys(facts.MEMORY_FIGURES, "8")},
    "other names": {"memory": {"temp": 8}},
    "truth as memory": {"memory": dict.fromkeys(facts.MEMORY_FIGURES, True)},
    "half a byte": {"memory": dict.fromkeys(facts.MEMORY_FIGURES, 0.5)},
    "more than there is": {"cost": dict.fromkeys(facts.COST_FIGURES, 1e300)},
    "no number": {"cost": dict.fromkeys(facts.COST_FIGURES, float("nan"))},
    "lists": {"cost": [1, 2]},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_an_entry_that_lies_is_no_entry(lie: dict[str, Any], tmp_path: Path) -> None:
    assert asked(kept(tmp_path, **lie)) is None


def damaged(content: bytes) -> dict[str, bytes]:
    return {
        "empty": b"",
        "cut off": content[:-4],
        "more behind it": content + b"more",
        "no zlib": b"{}",
        "no table": zlib.compress(b"[]"),
        "deep": zlib.compress(b"[" * 1_000_000),
        "no text": zlib.compress(b"\xff\xfe"),
        "a flipped bit": content[:40] + bytes([content[40] ^ 1]) + content[41:],
    }


@pytest.mark.parametrize("how", damaged(b"0" * 60))
def test_a_damaged_entry_is_no_entry(how: str, tmp_path: Path) -> None:
    file = kept(tmp_path)
    file.write_bytes(damaged(file.read_bytes())[how])
    assert asked(file) is None


def test_what_is_no_plain_file_of_a_bounded_size_is_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path / "cache")
    elsewhere = shutil.copy(file, tmp_path / "entry")
    file.unlink()
    file.symlink_to(elsewhere)
    assert asked(file) is None
    file.unlink()
    os.mkfifo(file)
    assert asked(file) is None, "and nobody waits for a writer"
    file.unlink()
    shutil.copy(elsewhere, file)
    folder = tmp_path / "other"
    file.parent.rename(folder)
    file.parent.symlink_to(folder)
    assert asked(file) is None
    assert not write_entry(file, KEY, RESULT, STABLEHLO, numbered_places(STABLEHLO)[0])
    file.parent.unlink()
    folder.rename(file.parent)
    assert asked(file) is not None
    monkeypatch.setattr(cache, "LARGEST_TEXT", 100)
    assert asked(file) is None
    monkeypatch.undo()
    monkeypatch.setattr(cache, "LARGEST_ENTRY", 100)
    assert asked(file) is None
    assert not write_entry(file, KEY, RESULT, STABLEHLO, numbered_places(STABLEHLO)[0])


def test_a_long_program_is_read_whole_before_it_is_believed(tmp_path: Path) -> None:
    """A reader that waits until a computation is used would let a damaged one pass, and the program is not compiled."""
    more = "".join(f"  %n.{n} = f32[8]{{0}} negate(%x.1)\n" for n in range(3000))
    whole = COMPILED.replace("  ROOT", f"{more}  ROOT")
    file = CacheFolder(str(tmp_path), True).file(KEY)
    assert write_entry(file, KEY, replace(RESULT, text=whole), STABLEHLO, numbered_places(STABLEHLO)[0])
    assert asked(file) is not None
    entry = json.loads(zlib.decompress(file.read_bytes()))
    for old, new in (("negate(%x.1)", "negate(%y.1)"), ("negate(%x.1)", "negate(%x.1"), ("%n.7 =", "%n.7")):
        damaged = entry | {"compiled": entry["compiled"].replace(old, new, 1)}
        file.write_bytes(zlib.compress(json.dumps(damaged).encode()))
        assert asked(file) is None, new


def after_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """What is left of a folder of at most so many bytes after a run that compiled something."""
    monkeypatch.setattr("hlodiff.capture.cache_folder.LARGEST_FOLDER", most)
    with using_compile_cache(folder):
        use = COMPILE_CACHE.get()
        assert use is not None
        use.compiled += 1


def test_only_folders_of_the_cache_are_trimmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, cache_folder = tmp_path / "victim", tmp_path / "cache"
    victim.mkdir()
    cache_folder.mkdir()
    mine = [victim / f"{KEY}.json.z", victim / ".mine.new"]
    for file in mine:
        file.write_text("mine")
        os.utime(file, (0, 0))
    (cache_folder / KEY[:2]).symlink_to(victim)
    after_a_run(cache_folder, monkeypatch, most=0)
    assert [file.read_text() for file in mine] == ["mine", "mine"]


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path) -> None:
    file = kept(tmp_path)
    packer = zlib.compressobj(9)
    with file.open("wb") as stream:
        for _ in range(300):
            stream.write(packer.compress(b" " * (1 << 20)))
        stream.write(packer.flush())
    assert file.stat().st_size < 1 << 20
    assert asked(file) is None


def test_the_key_sees_flags_variables_libraries_and_for_cpus_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, tpu = parse_target("cpu"), parse_target("tpu-v5e-2x2")
    plain = settings(cpu, {"XLA_FLAGS": "--xla_dump_to=/x"})
    assert plain == settings(cpu, {"HOME": "/root"})
    for changed in (
        {"XLA_FLAGS": "--xla_a=1"}, {"TPU_MEGACORE": "1"}, {"NPROC": "4"}, {"JAX_ENABLE_X64": "1"},
        {"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/cuda"}, {"LIBTPU_INIT_ARGS": "--xla_b=1"},
    ):  # fmt: skip
        assert settings(cpu, changed) != plain, changed
    assert plain["libraries"]["jaxlib"] and "processor" in plain and "processor" not in settings(tpu, {})
    before = settings(tpu, {})
    monkeypatch.setattr(cache, "files_of", lambda name: "another build")
    assert settings(tpu, {}) != before
    assert "ptxas" in settings(parse_target("cuda-h100"), {"PATH": ""})


def test_the_oldest_entries_go_where_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        file = CacheFolder(str(tmp_path), True).file(f"{number}0" + "0" * 62)
        file.parent.mkdir()
        file.write_bytes(b"0" * 100)
        os.utime(file, (number, number))
    unfinished = tmp_path / "00" / ".x.new"
    unfinished.write_bytes(b"")
    os.utime(unfinished, (0, 0))
    others = [tmp_path / "00" / "notes.txt", tmp_path / "mine" / f"{'0' * 64}.json.z"]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_bytes(b"0" * 1000)
    after_a_run(tmp_path, monkeypatch, most=250)
    assert sorted(path.parent.name for path in tmp_path.glob("??/*.z")) == ["20", "30"]
    assert all(other.exists() for other in others) and not unfinished.exists()


def test_a_folder_that_a_commit_may_bring_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "cache" / "ab").mkdir(parents=True)
    (tmp_path / "cache" / "ab" / "x").write_text("")
    with using_compile_cache(tmp_path / "cache"):
        assert COMPILE_CACHE.get() is not None
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    for name in ("cache", "cache:ro", "cache/ab", "cache/new"):
        context = pytest.raises(UsageError, match="which any commit may bring")
        if name == "cache/new":
            with using_compile_cache(tmp_path / name):
                continue
        with context, using_compile_cache(f"{tmp_path}/{name}"):
            pass
    (tmp_path / "link").symlink_to(tmp_path.parent)
    with pytest.raises(StoreError, match="is a link"), using_compile_cache(tmp_path / "link" / "cache"):
        pass
    assert COMPILE_CACHE.get() is None
    for value in ("", "off", "0"):
        monkeypatch.setenv("HLODIFF_COMPILE_CACHE", value)
        with using_compile_cache(None):
            assert COMPILE_CACHE.get() is None
    monkeypatch.setenv("HLODIFF_COMPILE_CACHE", f"{tmp_path}/elsewhere:ro")
    with using_compile_cache(None):
        use = COMPILE_CACHE.get()
        assert use is not None and use.folder == CacheFolder(f"{tmp_path}/elsewhere", False)


# ---- real programs

PROGRAMS = """\
import hlodiff
import jax
import jax.numpy as jnp


def helper(x):
    return jnp.tanh(x) * 2


def step(w, x):
    y, _ = jax.lax.scan(lambda c, _: (helper(c @ w), None), x, None, length=3)
    return jax.nn.softmax(y).sum()


@hlodiff.register
def f():
    array = hlodiff.abstract((8, 8), "float32")
    return hlodiff.Case(jax.grad(step), array, array, donate="all")
"""


def files_of(folder: Path) -> dict[str, bytes]:
    root = folder / "snapshots"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


TARGETS = '["cpu", "tpu-v5e-2x2", "cuda-h100"]'
ALL, NONE = (f"{count} of 3 programs that XLA would have compiled came from the compile cache" for count in (3, 0))


def write_project(place: Path, text: str = PROGRAMS, more: str = "") -> Path:
    place.mkdir()
    table = f'[tool.hlodiff]\nmodules = ["programs.py"]\ntargets = {TARGETS}\njobs = 1\n{more}'
    (place / "pyproject.toml").write_text(table)
    (place / "programs.py").write_text(text)
    return place


def recorded(place: Path, where: Path | str | None) -> tuple[dict[str, bytes], str]:
    """The snapshots of a project that has none, and the note on the cache."""
    result = hlodiff.update(root=place, compile_cache=where)
    assert [row.status for row in result.rows] == ["new"] * 3, result.rows
    return files_of(place), "".join(result.notes)


@pytest.mark.slow
def test_snapshots_from_the_cache_have_the_bytes_of_compiled_ones(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    wanted, note = recorded(write_project(tmp_path / "plain"), None)
    assert note == "" and not folder.exists()
    shifted, note = recorded(write_project(tmp_path / "shifted", "# another line\n\n\n" + PROGRAMS), folder)
    assert note == NONE and shifted.keys() == wanted.keys() and shifted != wanted, "source.json has other lines"
    entries = sorted(folder.glob("??/*.json.z"))
    assert len(entries) == 3 == len(list(folder.glob("??/*")))
    again = write_project(tmp_path / "again")
    assert recorded(again, folder) == (wanted, ALL)

    for file in entries:
        file.write_bytes(file.read_bytes()[:-1])
    damaged = [file.read_bytes() for file in entries]
    assert recorded(write_project(tmp_path / "damaged"), f"{folder}:ro") == (wanted, NONE)
    assert [file.read_bytes() for file in entries] == damaged and sorted(folder.glob("??/*")) == entries

    (again / "programs.py").write_text(PROGRAMS.replace("* 2", "* 3"))
    for found in ("0 of 1 program that", "1 of 1 program that"):
        checked = hlodiff.check(["f"], ["cpu"], root=again, compile_cache=folder)
        assert checked.report.notes[-1].startswith(found) and checked.verdict == "failed"
    timed = hlodiff.check(["f"], ["cpu"], root=again, compile_cache=folder, timings=True).report
    assert timed.timings[0].compile and not any("compile cache" in one for one in timed.notes)
