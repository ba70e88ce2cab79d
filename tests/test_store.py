"""Snapshot folders: what is written, what is left alone, what is refused, and that nothing is ever half there."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hlodiff.errors import StoreError
from hlodiff.hlo import Frame, read_hlo, read_text
from hlodiff.snapshots import (
    FolderTree,
    Key,
    Snapshot,
    attach_source,
    drop_pending,
    dump_yaml,
    is_safe,
    is_unfinished,
    keep_pending,
    keys_of,
    list_snapshots,
    load_yaml,
    numbered,
    open_revision,
    paths,
    read_snapshot,
    read_summary,
    read_whole_snapshot,
    remove_snapshot,
    restored,
    source_of,
    tidy_pending,
    write_snapshot,
    writing,
)
from hlodiff.snapshots import read as snapshot_module
from hlodiff.snapshots import write as write_module
from hlodiff.snapshots import writing as _writing_function

STABLEHLO = "module {\n}\n"
COMPILED = "HloModule program\n\nENTRY %main {\n  ROOT %p0 = f32[2]{0} parameter(0)\n}\n"
KEY = Key("step", "", "cpu")


def snapshot(compiled: str = COMPILED, case: str = "", source: Any = None, **facts: Any) -> Snapshot:
    summary = {"format_version": 1, "function": "step", "target": "cpu", **facts}
    return Snapshot("step", case, "cpu", summary, STABLEHLO, compiled, source)


def stamps(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def age(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, ns=(10**18, 10**18))


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as error:
        call()
    return error.value.render()


# --- what is written -------------------------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    new = snapshot(source={"compiled": {"frames": []}}, memory={"temp": 8}, flops=2.5)
    assert write_snapshot(tmp_path, new)
    assert read_snapshot(FolderTree(tmp_path), KEY) == new
    assert sorted(stamps(tmp_path / "step/cpu")) == ["compiled.hlo", "source.json", "stablehlo.mlir", "summary.yaml"]


def test_summary_keeps_order_and_prints_a_row_for_each_argument() -> None:
    text = dump_yaml({"format_version": 1, "zeta": 1.0, "arguments": [{"path": "w", "shape": [2, 3]}], "alpha": 1e-5})
    assert text == "format_version: 1\nzeta: 1\narguments:\n- {path: w, shape: [2, 3]}\nalpha: 1.0e-05\n"
    assert load_yaml(text, "s") == {
        "format_version": 1,
        "zeta": 1,
        "arguments": [{"path": "w", "shape": [2, 3]}],
        "alpha": 1e-5,
    }


def test_an_unchanged_program_is_not_touched(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(source={"compiled": {"line": 1}}))
    age(tmp_path)
    before = stamps(tmp_path)
    assert not write_snapshot(tmp_path, snapshot(source={"compiled": {"line": 41}}))
    assert stamps(tmp_path) == before


def test_new_facts_beside_the_same_program_touch_the_summary_alone(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(source={"compiled": {"line": 1}}, toolchain={"jax": "0.9.2"}))
    age(tmp_path)
    before = stamps(tmp_path)
    assert write_snapshot(tmp_path, snapshot(source={"compiled": {"line": 41}}, toolchain={"jax": "0.10.2"}))
    after = stamps(tmp_path)
    assert [name for name in after if after[name] != before[name]] == ["step/cpu/summary.yaml"]
    assert read_snapshot(FolderTree(tmp_path), KEY).source == {"compiled": {"line": 1}}


def test_a_large_program_is_stored_compressed_and_says_so(tmp_path: Path) -> None:
    large = snapshot(COMPILED + "// " + "x" * 5000 + "\n")
    write_snapshot(tmp_path, large, max_file_bytes=1000)
    folder = tmp_path / "step/cpu"
    assert sorted(stamps(folder)) == ["compiled.hlo.gz", "stablehlo.mlir", "summary.yaml"]
    read = read_snapshot(FolderTree(tmp_path), KEY)
    assert read.compiled == large.compiled
    assert read.summary["compressed"] == {
        "compiled.hlo": {"stored_as": "compiled.hlo.gz", "bytes": len(large.compiled)}
    }
    first = (folder / "compiled.hlo.gz").read_bytes()
    assert not write_snapshot(tmp_path, large, max_file_bytes=1000)
    remove_snapshot(tmp_path, KEY)
    write_snapshot(tmp_path, large, max_file_bytes=1000)
    assert (folder / "compiled.hlo.gz").read_bytes() == first
    write_snapshot(tmp_path, large)
    assert sorted(stamps(folder)) == ["compiled.hlo", "stablehlo.mlir", "summary.yaml"]


def test_the_same_program_packed_by_another_zlib_is_no_change(tmp_path: Path) -> None:
    large = snapshot(COMPILED + "// " + "x" * 5000 + "\n")
    write_snapshot(tmp_path, large, max_file_bytes=1000)
    (tmp_path / "step/cpu/compiled.hlo.gz").write_bytes(gzip.compress(large.compiled.encode(), 1))
    assert not write_snapshot(tmp_path, large, max_file_bytes=1000)


def test_removing_leaves_no_empty_folders(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(case="small"))
    write_snapshot(tmp_path, snapshot(case="large"))
    remove_snapshot(tmp_path, Key("step", "small", "cpu"))
    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*")) if p.is_dir() and "." not in p.name] == [
        "step",
        "step/large",
        "step/large/cpu",
    ]


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["..", "a/b", "", ".hidden", "-x", "nul", "COM1.txt", "a.", "a b", "a\n", "x" * 101])
def test_names_that_no_folder_may_have(name: str, tmp_path: Path) -> None:
    assert not is_safe(name)
    bad = Snapshot("step", name or "/", "cpu", {"format_version": 1})
    assert "cannot be the name of a folder" in refused(lambda: write_snapshot(tmp_path, bad))
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_folders_become_names_and_the_rest_is_named() -> None:
    files = ["f/cpu/summary.yaml", "f/small/cpu/summary.yaml", "summary.yaml", "a/b/c/d/summary.yaml", "f/cpu/x.hlo"]
    keys, strays = keys_of(files)
    assert keys == (Key("f", "", "cpu"), Key("f", "small", "cpu"))
    assert strays == ("a/b/c/d", "")


def test_a_case_named_like_a_target_does_not_swallow_other_snapshots(tmp_path: Path) -> None:
    write_snapshot(tmp_path, Snapshot("step", "cpu", "cpu", {"format_version": 1}, STABLEHLO, COMPILED))
    text = refused(lambda: write_snapshot(tmp_path, snapshot()))
    assert "holds other snapshots" in text
    assert "other names than its targets" in text


# --- what is refused -------------------------------------------------------------------------------------------------


def test_a_key_that_is_there_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot())
    path = tmp_path / "step/cpu/summary.yaml"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0], ""]))
    text = refused(lambda: read_snapshot(FolderTree(tmp_path), KEY))
    assert text.startswith(f"{path}:{len(lines) + 1}:1: broken YAML: the key `format_version` is there twice")


def test_a_format_of_the_future(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot())
    path = tmp_path / "step/cpu/summary.yaml"
    path.write_text(path.read_text().replace("format_version: 1", "format_version: 7"))
    text = refused(lambda: read_snapshot(FolderTree(tmp_path), KEY))
    assert text == (
        f"{path}: format version 7 is newer than this hlodiff reads (up to 3)\n"
        "hint: run `git pull` in your clone of hlodiff and install it from there again"
    )


@pytest.mark.parametrize("file", ["summary.yaml", "stablehlo.mlir", "compiled.hlo"])
def test_merge_conflict_markers(file: str, tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(case="small"))
    path = tmp_path / "step/small/cpu" / file
    path.write_text(path.read_text() + "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> branch\n")
    line = path.read_text().split("\n").index("<<<<<<< HEAD") + 1
    text = refused(lambda: read_snapshot(FolderTree(tmp_path), Key("step", "small", "cpu")))
    assert text.startswith(f"{path}:{line}: holds git conflict markers")
    assert text.endswith("hint: hlodiff update step/small --target cpu")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!python/object/apply:os.system ['touch hacked']\n", "tags (`!name`) are not allowed"),
        ("format_version: 1\na: &x [1]\nb: *x\n", "aliases"),
        ("- 1\n", "expected `key: value` pairs"),
        ("a: [1\n", "broken YAML"),
        ("a: 1\n", "`format_version` is None"),
        ("format_version: true\n", "`format_version` is True"),
        ("format_version: 1\na: " + "[" * 5000, "broken YAML"),
        ("? {a: 1}\n: 2\n", "broken YAML"),
    ],
)
def test_hostile_and_broken_summaries(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_snapshot(tmp_path, snapshot())
    (tmp_path / "step/cpu/summary.yaml").write_text(text)
    error = refused(lambda: read_summary(FolderTree(tmp_path), KEY))
    assert said in error
    assert "step/cpu/summary.yaml" in error
    assert "hint: hlodiff update step --target cpu" in error
    assert not (tmp_path / "hacked").exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot())
    path = tmp_path / "step/cpu/compiled.hlo"
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert "links are not followed" in refused(lambda: read_snapshot(FolderTree(tmp_path), KEY))


def test_a_huge_summary_is_not_read(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot())
    with (tmp_path / "step/cpu/summary.yaml").open("r+b") as file:
        file.truncate(200 * 1024 * 1024)  # sparse: costs nothing
    assert "more than hlodiff reads" in refused(lambda: read_summary(FolderTree(tmp_path), KEY))


def test_damaged_and_missing_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_snapshot(tmp_path, snapshot(COMPILED + "x" * 3000), max_file_bytes=1000)
    tree, packed = FolderTree(tmp_path), tmp_path / "step/cpu/compiled.hlo.gz"
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-9])
    assert "is cut off" in refused(lambda: read_snapshot(tree, KEY))
    packed.write_bytes(b"garbage")
    assert "is damaged" in refused(lambda: read_snapshot(tree, KEY))
    packed.write_bytes(whole)
    monkeypatch.setattr(snapshot_module, "LARGEST", 1000)
    assert "unpacks to more than any program" in refused(lambda: read_snapshot(tree, KEY))
    packed.with_suffix("").write_text(COMPILED)
    assert "it is unclear which one counts" in refused(lambda: read_snapshot(tree, KEY))
    packed.unlink()
    packed.with_suffix("").write_bytes(b"HloModule \xff")
    assert "is not UTF-8 text" in refused(lambda: read_snapshot(tree, KEY))
    packed.with_suffix("").unlink()
    assert "compiled.hlo: is missing" in refused(lambda: read_snapshot(tree, KEY))


def test_damaged_provenance_costs_only_the_provenance(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(source={"compiled": {}}))
    (tmp_path / "step/cpu/source.json").write_text('{"compiled": ')
    assert read_snapshot(FolderTree(tmp_path), KEY).source is None


def test_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot())
    for path in (tmp_path / "step/cpu").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_snapshot(FolderTree(tmp_path), KEY) == snapshot()


@pytest.mark.parametrize("place", ["occupied", "/proc/hlodiff"])
def test_a_folder_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file")
    root = tmp_path / place

    def update() -> None:
        with writing(root):
            write_snapshot(root, snapshot())

    assert "cannot be written" in refused(update)


# --- killed runs and two writers -------------------------------------------------------------------------------------

OLD, NEW = snapshot(round="old"), snapshot(COMPILED.replace("f32[2]", "f32[3]"), round="new")
_STEPS = ("_write", "_sync", "_exchange")
_PATH_STEPS = ("rename", "replace", "mkdir", "unlink")


def _die_at(step: int, atomic: bool) -> None:
    """In a forked child: write NEW, and die without a word in the given step."""
    module = _module_of(_writing_function)
    left = step

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return function(*args, **kwargs)

        return call

    if not atomic:
        module._exchange = lambda one, other: False
    for name in _STEPS:
        setattr(module, name, counted(getattr(module, name)))
    for name in _PATH_STEPS:
        setattr(Path, name, counted(getattr(Path, name)))


def _module_of(function: Callable[..., Any]) -> Any:
    import sys

    return sys.modules[function.__module__]


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])
@pytest.mark.parametrize("atomic", [True, False], ids=["exchange", "file by file"])
@pytest.mark.parametrize("fresh", [True, False], ids=["first", "again"])
def test_killed_in_every_step(atomic: bool, fresh: bool, in_git: bool, tmp_path: Path) -> None:
    """A file system with atomic exchange shows old or new at every moment, another one after the next run has begun.

    Without both that and git a snapshot is whole or missing: what a pull request could bring is not finished.
    """
    if in_git:
        (tmp_path / ".git").mkdir()
    seen = []
    for step in range(60):
        root = tmp_path / str(step)
        root.mkdir()
        if not fresh:
            write_snapshot(root, OLD)
        child = os.fork()
        if not child:
            _die_at(step, atomic)
            with writing(root):
                write_snapshot(root, NEW)
            os._exit(0)
        finished = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if not atomic or fresh:
            is_unfinished(root)
            with writing(root):
                pass
        keys = list_snapshots(FolderTree(root)).keys
        assert keys in ((), (KEY,)) if fresh or not (atomic or in_git) else keys == (KEY,)
        seen.append(read_snapshot(FolderTree(root), KEY).summary["round"] if keys else "nothing")
        with writing(root):
            pass
        assert not (root / ".partial").exists()
        if finished:
            break
    else:
        pytest.fail("the run never finished: raise the number of steps")
    before = "nothing" if fresh else "old"
    gone = seen.count("nothing") if before == "old" else 0
    stages = [before] * seen.count(before) + ["nothing"] * gone + ["new"] * seen.count("new")
    assert seen == stages, "never back, never between"
    assert not any((tmp_path / ".git/hlodiff").glob("*"))
    assert seen.count(before) > 3
    assert seen.count("new") > 1


def test_work_in_progress_is_ignored_by_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with writing(tmp_path):
        write_snapshot(tmp_path, snapshot())
        (tmp_path / ".partial" / "left.new").write_text("x")
        said = subprocess.run(
            ["git", "-C", str(tmp_path), "status", "--short", "-uall"], check=True, capture_output=True, text=True
        ).stdout
    assert ".partial" not in said
    assert "step/cpu/compiled.hlo" in said


def test_work_in_progress_lies_in_git_s_own_directory(tmp_path: Path) -> None:
    """Of a repository, of a linked work tree, of a submodule, and beside the snapshots where there is no git."""
    top, linked = tmp_path / "top", tmp_path / "linked"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    git(top, "commit", "--allow-empty", "-qm", "0")
    git(top, "worktree", "add", "-q", str(linked))
    module = top / "module"
    (top / ".git/modules").mkdir()
    subprocess.run(["git", "init", "-q", "--separate-git-dir", str(top / ".git/modules/m"), str(module)], check=True)
    for project in (top, linked, module, tmp_path / "plain"):
        root = project / "snapshots"
        with writing(root):
            private = paths.git_folder(root)
            assert (private is None) == (project.name == "plain")
            if private is not None:
                said = git(project, "rev-parse", "--path-format=absolute", "--git-path", "hlodiff").strip()
                assert private.parent == Path(said)
            write_snapshot(root, OLD)
            assert (private or root / ".partial").is_dir() and not (private and (root / ".partial").exists())
        assert sorted(path.name for path in root.iterdir()) == ["step"]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a second file system")
def test_git_on_another_file_system(tmp_path: Path) -> None:
    other = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        (tmp_path / ".git").write_text(f"gitdir: {other}\n")
        root = tmp_path / "snapshots"
        for new in (OLD, NEW):
            with writing(root):
                assert write_snapshot(root, new)
                assert (root / ".partial").is_dir()
            assert [path.name for path in root.iterdir()] == ["step"]
        assert read_snapshot(FolderTree(root), KEY).summary["round"] == "new"
    finally:
        shutil.rmtree(other)


def test_git_mounted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One device, two mounts: only the rename shows it."""
    (tmp_path / ".git").mkdir()
    root = tmp_path / "snapshots"
    rename, replace = Path.rename, Path.replace

    def apart(call: Any) -> Any:
        def moved(self: Path, other: Path) -> Any:
            if (".git" in self.parts) != (".git" in Path(other).parts):
                raise OSError(errno.EXDEV, "Invalid cross-device link", str(self), None, str(other))
            return call(self, other)

        return moved

    monkeypatch.setattr(Path, "rename", apart(rename))
    monkeypatch.setattr(Path, "replace", apart(replace))
    monkeypatch.setattr(write_module, "_exchange", lambda one, other: False)
    for new in (OLD, NEW):
        with writing(root):
            assert write_snapshot(root, new)
        assert read_snapshot(FolderTree(root), KEY) == new
    with writing(root):
        remove_snapshot(root, KEY)
    assert not any(path.is_file() for path in root.rglob("*"))
    assert not any((tmp_path / ".git/hlodiff").glob("*"))


def test_two_writers_at_once(tmp_path: Path) -> None:
    with writing(tmp_path):
        with pytest.raises(StoreError, match="another `hlodiff update` is writing here") as error, writing(tmp_path):
            pass
        assert "wait until it has finished" in error.value.hint
        write_snapshot(tmp_path, snapshot())
    with writing(tmp_path):
        assert not write_snapshot(tmp_path, snapshot())


# --- git -------------------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: OLD, then NEW with another snapshot; the work tree has neither."""
    root = tmp_path / "my project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "readme").write_text("nothing yet")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "0")
    git(root, "tag", "empty")
    write_snapshot(root / "snapshots", OLD)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "1")
    git(root, "tag", "v1")
    write_snapshot(root / "snapshots", NEW)
    write_snapshot(root / "snapshots", snapshot(case="other"))
    (root / "snapshots/link.hlo").symlink_to("/etc/passwd")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "2")
    remove_snapshot(root / "snapshots", KEY)
    return root


def test_snapshots_of_a_revision(repository: Path) -> None:
    before = git(repository, "status", "--short")
    for spec, said in (
        ("main", "new"),
        ("HEAD~1", "old"),
        ("v1", "old"),
        ("v1:snapshots", "old"),
        ("v1:snapshots/", "old"),
    ):
        tree = open_revision(repository, spec, repository / "snapshots")
        assert read_snapshot(tree, KEY).summary["round"] == said, spec
    assert len(list_snapshots(open_revision(repository, "main", repository / "snapshots")).keys) == 2
    assert "link.hlo" not in open_revision(repository, "main:snapshots", repository).files()
    assert git(repository, "status", "--short") == before
    assert open_revision(repository, "empty", repository / "snapshots").files() == ()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nonsense", "no git revision is called 'nonsense'"),
        ("--output=x", "no git revision is called '--output=x'"),
        ("v1:nowhere", "v1 has no folder 'nowhere'"),
        ("v1:readme", "readme is not a folder there: it is a file, a link or a submodule"),
    ],
)
def test_revisions_that_do_not_exist(repository: Path, spec: str, said: str) -> None:
    assert said in refused(lambda: open_revision(repository, spec, repository / "snapshots"))


def test_snapshots_that_are_a_submodule_or_a_link(repository: Path, tmp_path: Path) -> None:
    """`git ls-tree` said "not a tree object"."""
    for name, mode, oid in (
        ("module", "160000", "1" * 40),
        ("link", "120000", git(repository, "rev-parse", "v1:readme")),
    ):
        git(repository, "update-index", "--add", "--cacheinfo", f"{mode},{oid.strip()},{name}")
        git(repository, "commit", "-qm", name)
        said = refused(partial(open_revision, repository, "HEAD", repository / name))
        assert f"HEAD: {name} is not a folder there: it is a file, a link or a submodule" in said


def test_outside_a_repository(tmp_path: Path) -> None:
    assert "not a git repository" in refused(lambda: open_revision(tmp_path, "main", tmp_path / "snapshots"))


# --- provenance ------------------------------------------------------------------------------------------------------

RAW = """HloModule m

FileNames
1 "/srv/project/model.py"

FunctionNames
1 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=31 end_line=31 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=0}

ENTRY e {
  %x.7 = f32[2]{0} parameter(0), metadata={op_name="x"}
  ROOT %n.9 = f32[2]{0} negate(%x.7), metadata={op_name="jit(f)/neg" stack_frame_id=1}
}
"""


def test_provenance_survives_normalizing_and_storing() -> None:
    from hlodiff.normalizer import normalize, to_text

    raw = read_hlo(RAW)
    normalized = normalize(numbered(raw))
    known = restored(normalized, raw)
    assert to_text(known) == to_text(normalized)
    source = source_of(known, "/srv/project")
    again = attach_source(read_hlo(to_text(normalized)), source)
    root = again.entry_computation.instructions[again.entry_computation.root]
    assert root.op_name == "jit(f)/neg"
    assert [(f.file, f.line, f.function) for f in again.stack(root.frame)] == [("model.py", 31, "loss")]


def test_operations_without_results_keep_their_own_lines(tmp_path: Path) -> None:
    """As `jax.debug.print` on CPUs: the text has no name for them."""
    call = "  stablehlo.custom_call @print(%arg0) : (tensor<f32>) -> ()\n"
    other = "  %custom_call = stablehlo.custom_call @other(%arg0) : (tensor<f32>) -> tensor<f32>\n"
    body = f"{call}{call}{other}  return %custom_call : tensor<f32>\n"
    text = f"module {{\nfunc.func public @main(%arg0: tensor<f32>) -> tensor<f32> {{\n{body}}}\n}}\n"
    module = read_text(text)
    instructions = [replace(it, frame=n - 1) for n, it in enumerate(module.entry_computation.instructions)]
    frames = tuple(Frame("model.py", line, "step") for line in (11, 12, 13, 14))
    main = replace(module.entry_computation, instructions=tuple(instructions))
    source = source_of(replace(module, computations=(main,), frames=frames), "/")
    again = attach_source(module, source)
    assert [[f.line for f in again.stack(it.frame)] for it in again.entry_computation.instructions[1:4]] == [
        [11],
        [12],
        [13],
    ]
    write_snapshot(tmp_path, replace(snapshot(source={"stablehlo": source}), stablehlo=text))
    assert read_whole_snapshot(FolderTree(tmp_path), KEY).source == {"stablehlo": source}


@pytest.mark.parametrize(
    "source", [{}, {"frames": 1}, {"frames": [[1]], "op_names": [], "instructions": {}}, {"x": []}]
)
def test_a_source_table_that_does_not_fit_changes_nothing(source: dict[str, Any]) -> None:
    module = read_hlo(COMPILED)
    assert attach_source(module, source) == module


@pytest.mark.parametrize(
    ("file", "portable"),
    [
        ("/srv/project/pkg/model.py", "pkg/model.py"),
        ("/srv/project/.venv/lib/python3.11/site-packages/equinox/nn/_mlp.py", "site-packages/equinox/nn/_mlp.py"),
        ("/usr/lib/python3.11/functools.py", "python3.11/functools.py"),
        ("/somewhere/else/secret/model.py", "model.py"),
        ("model.py", "model.py"),
        ("<stdin>", "<stdin>"),
    ],
)
def test_paths_without_the_machine(file: str, portable: str) -> None:
    module = replace(read_hlo(RAW), frames=(Frame(file, 31, "loss"),))
    assert source_of(module, "/srv/project")["frames"] == [[portable, 31, "loss", -1]]


def test_a_pending_folder_in_which_nothing_waits_is_gone(tmp_path: Path) -> None:
    own, other = tmp_path / ".hlodiff" / "pending", tmp_path / "pending"
    snapshot = Snapshot("f", "", "cpu", {"format_version": 1}, "module {}\n", "HloModule m\n")
    for root in (own, other):
        tidy_pending(root)
        assert not root.exists()
        keep_pending(root, snapshot, None, "new")
        (root / ".partial" / "half").mkdir(parents=True)
        tidy_pending(root)
        assert sorted(entry.name for entry in root.iterdir()) == [".gitignore", "f"], "and no half of anything"
        drop_pending(root, snapshot.key)
        tidy_pending(root)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pending"], "what somebody named stays"
