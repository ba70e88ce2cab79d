"""Folders of which one file is damaged: pending programs and records, growth, pass dumps, recorded runs."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from hlodiff.config import Config
from hlodiff.differ import QUANTITIES, Growth, Limits, growth_series
from hlodiff.errors import HlodiffError
from hlodiff.snapshots import CaptureOrigin, FolderTree, Key, read_growth, read_snapshot
from hlodiff.workflows import Freshness, pending
from tests import pass_dumps

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots"
_PROGRAM = Key("attention", "", "cpu")
_RECORDS = {Key("fresh_lambda", "", "traces"): "traces.yaml", Key("recurrence", "", "growth"): "growth.yaml"}
_LONGEST_NAME = 200

Files = Mapping[str, bytes]


@contextlib.contextmanager
def folder(files: Files) -> Iterator[Path]:
    """A folder with these files; what would become an "internal error" is raised as it is."""
    before = os.environ.get("HLODIFF_TRACEBACK")
    os.environ["HLODIFF_TRACEBACK"] = "1"
    try:
        with tempfile.TemporaryDirectory() as name:
            for file, content in files.items():
                (Path(name) / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(name) / file).write_bytes(content)
            yield Path(name)
    finally:
        os.environ.pop("HLODIFF_TRACEBACK")
        if before is not None:
            os.environ["HLODIFF_TRACEBACK"] = before


def _files_below(root: Path) -> dict[str, bytes]:
    found = (file for file in sorted(root.rglob("*")) if file.is_file() and file.name != ".gitignore")
    return {str(file.relative_to(root)): file.read_bytes() for file in found}


def seeds_of(files: Callable[[], Files]) -> Callable[[], Sequence[bytes]]:
    """Inputs for a folder: the name of a file, a line break, its content."""
    return lambda: [name.encode() + b"\n" + content for name, content in files().items()]


def _damaged(files: Files, data: bytes) -> Files:
    """The folder with the file of an input; a damaged name takes the place of one of the others."""
    name, _, content = data.partition(b"\n")
    known = list(files)
    wanted = name.decode(errors="replace")
    return {**files, wanted if wanted in files else known[len(data) % len(known)]: content}


# --- What waits for `accept`.


@cache
def pending_files() -> Files:
    """A pending folder as `check` leaves it: a program, traces and growth."""
    from hlodiff.snapshots import keep_pending, keep_record

    origin = CaptureOrigin({"model.py": "5f0c"}, {"x64": "00ff"}, {"jax": "0.10.2"})
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        keep_pending(root, read_snapshot(FolderTree(SNAPSHOTS), _PROGRAM), None, "new", origin=origin)
        for key, file in _RECORDS.items():
            text = (SNAPSHOTS / key.function / file).read_text(encoding="utf-8")
            keep_record(root, key, yaml.safe_load(text), text, origin)
        return _files_below(root)


def read_pending(data: bytes) -> None:
    """What `accept` and `review` read of a folder that somebody else may have sent."""
    with folder(_damaged(pending_files(), data)) as root:
        config = Config(root=root, snapshots=SNAPSHOTS)
        keys = pending.list_pending(root)
        programs, _ = pending.load_pending(root, [key for key in keys if not pending.is_record(key)])
        for key, program in programs.items():
            base = pending.base_of(config, key)
            pending.standing(program, base)
            _how_old(config, key, program.pending.origin)
            pending.kind_of_program(config, program, base)
        records, _ = pending.load_records(root, [key for key in keys if pending.is_record(key)])
        for key, record in records.items():
            pending.standing_record(record, pending.base_record(config, key))
            _how_old(config, key, record.origin)
            pending.kind_of(config, record)


def _how_old(config: Config, key: Key, origin: CaptureOrigin | None) -> None:
    for foreign in (False, True):
        Freshness(config, foreign=foreign).refusal(key, origin)


# --- growth.yaml


@cache
def growth_files() -> Sequence[bytes]:
    """Every growth.yaml of the snapshots."""
    return [file.read_bytes() for file in sorted(SNAPSHOTS.glob("**/growth.yaml"))]


def read_damaged_growth(data: bytes) -> None:
    """What `check` and the git driver do with a recorded growth.yaml."""
    from hlodiff.policy import changed_growth, checked_record, judge_growth

    good = yaml.safe_load(growth_files()[0])
    function = str(good["function"])
    with folder({f"{function}/growth.yaml": data}) as root:
        table = read_growth(root, function, "")
        assert table is not None
        sizes, of_class = (8, 16, 32), ((9, 9, 9), (9, 10, 11), (8, 16, 32), (64, 256, 1024), (8, 64, 512))
        counts = [dict(zip(QUANTITIES, at, strict=False)) for at in zip(*of_class, strict=True)]
        known = growth_series(sizes, [dict.fromkeys(QUANTITIES, 9) | at for at in counts])
        growth = Growth(function, "cpu", next(iter(good["parameters"])), sizes, known)
        list(judge_growth(function, [growth], table, {}, {}))
        changed_growth(good, table)
        changed_growth(table, good)
        with contextlib.suppress(ValueError):
            checked_record(table, function, "")


# --- Pass dumps.


def dump_files() -> Files:
    """The texts of one compile."""
    return pass_dumps.files("matmul-cpu")


def read_dump(data: bytes) -> None:
    """What `inspect passes` does with a folder of texts; the names of files may be damaged too."""
    from hlodiff.inspect import passes_json, passes_text, passes_view
    from hlodiff.workflows import folder_dumps, is_dump_folder
    from hlodiff.workflows.passes import last_module

    name, _, content = data.partition(b"\n")
    file = os.fsdecode(name.replace(b"/", b"_").replace(b"\0", b"_")[:_LONGEST_NAME]) or "_"
    files = dict(dump_files())
    if file not in files:
        files.pop(list(files)[len(data) % len(files)])
    if file not in (".", ".."):
        files[file] = content
    with folder(files) as root:
        if not is_dump_folder(root):
            return
        views = [passes_view(one.name, None, one, Limits()) for one in folder_dumps(root)]
        passes_text(views, None, True, str(root), 100, False)
        json.loads(passes_json(views))
        for one in folder_dumps(root):
            with contextlib.suppress(HlodiffError):
                last_module(one.dump)


# --- Recorded runs.


@cache
def recording_files() -> Files:
    """A recording of one program and of traces. Its recording.json is for people: no command reads it."""
    folders = ("attention/cpu", "fresh_lambda/traces.yaml")
    found = {f"attention/cpu/{name}": data for name, data in _files_below(SNAPSHOTS / folders[0]).items()}
    found[folders[1]] = (SNAPSHOTS / folders[1]).read_bytes()
    return found


def read_recording(data: bytes) -> None:
    """What `diff` and `show` do with the folder that `hlodiff record` writes."""
    from hlodiff.report import to_form
    from hlodiff.workflows import diff_sides

    with folder(recording_files()) as good, folder(_damaged(recording_files(), data)) as root:
        to_form(diff_sides(str(good), str(root), project=root), "text")
