"""Capturing in another environment: this module runs there, and the other half of it asks from here."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hlodiff.cli.environments import Elsewhere
from hlodiff.cli.selecting import selected
from hlodiff.cli.taking import Taken, Trouble, take
from hlodiff.config import Config, load
from hlodiff.errors import CaptureError, HlodiffError
from hlodiff.store import FolderTree, Key, list_snapshots, read_snapshot, write_snapshot

_START = "from hlodiff.cli.remote import main; main()"
_ANSWER = "answer.json"


def take_elsewhere(
    config: Config, other: Elsewhere, names: Sequence[str], targets: Sequence[str], jobs: int | None
) -> Taken:
    """Capture the project's programs in another environment.

    Args:
        config: the project's.
        other: the environment.
        names, targets: patterns; all where empty.
        jobs: how many workers.

    Returns:
        what was captured there.

    Raises:
        CaptureError: hlodiff could not run there, or the project cannot be imported there.
    """
    with tempfile.TemporaryDirectory(prefix="hlodiff-") as folder:
        job = {"project": str(config.root), "names": list(names), "targets": list(targets), "jobs": jobs, "out": folder}
        # -P: the folder in which the command was typed decides nothing; PYTHONPATH leads to this very hlodiff.
        done = subprocess.run(
            [str(other.python), "-P", "-c", _START],
            input=json.dumps(job), env=other.env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        answer = Path(folder, _ANSWER)
        if not answer.is_file():
            tail = "\n".join(done.stderr.strip().splitlines()[-12:])
            raise CaptureError(f"hlodiff could not run with {other.label}; the end of what it said:\n{tail}")
        return _answered(json.loads(answer.read_text()), Path(folder), other)


def _answered(answer: dict[str, Any], folder: Path, other: Elsewhere) -> Taken:
    if "error" in answer:
        error = answer["error"]
        where = f"with {other.label}" + (f", {error['where']}" if error["where"] else "")
        raise CaptureError(error["what"], where=where, hint=error["hint"])
    tree = FolderTree(folder)
    there = dict.fromkeys(list_snapshots(tree).keys)
    order = [Key(*parts) for parts in answer["keys"]]
    troubles = {Key(*one["key"]): Trouble(**one["trouble"]) for one in answer["troubles"]}
    return Taken({key: read_snapshot(tree, key) for key in order if key in there}, troubles)


def main() -> None:
    """Do what stands on stdin, in the environment this runs in, and leave snapshots and an answer in a folder."""
    job = json.loads(sys.stdin.read())
    out = Path(job["out"])
    try:
        answer = _answer(job, out)
    except HlodiffError as error:
        answer = {"error": {"what": error.what, "where": error.where, "hint": error.hint}}
    (out / _ANSWER).write_text(json.dumps(answer))


def _answer(job: dict[str, Any], out: Path) -> dict[str, Any]:
    from hlodiff.capture import discover, one_worker_for_both

    config = load(Path(job["project"]))
    with one_worker_for_both():
        keys = [Key(r.function, r.case, r.target) for r in discover(config).requests()]
        chosen = [key for key in keys if selected(key, job["names"], job["targets"])]
        taken = take(config, chosen, job["jobs"])
    for snapshot in taken.snapshots.values():
        write_snapshot(out, snapshot)
    troubles = [{"key": _parts(key), "trouble": asdict(trouble)} for key, trouble in taken.troubles.items()]
    return {"keys": [_parts(key) for key in chosen], "troubles": troubles}


def _parts(key: Key) -> list[str]:
    return [key.function, key.case, key.target]
