"""`hlodiff show NAME --format html`: the programs to draw, of snapshots or of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hlodiff.hlo.model import STAGES
from hlodiff.snapshots import Key, attach_source, read_snapshot
from hlodiff.snapshots.trees import Tree

if TYPE_CHECKING:
    from hlodiff.report.html.picture import PicturedProgram


def file_picture(path: Path) -> str:
    """The page of one program file.

    Args:
        path: HLO or StableHLO, as text or proto.

    Raises:
        HlodiffError: it cannot be read.
    """
    from hlodiff.hlo import read
    from hlodiff.report.html.picture import PicturedProgram, to_picture

    return to_picture([PicturedProgram(path.name, None, read(path))], str(Path.cwd()))


def snapshot_picture(tree: Tree, keys: Sequence[Key], root: Path) -> str:
    """The page of recorded programs, compiled before StableHLO.

    Args:
        tree: a folder or a git revision.
        keys: which programs.
        root: the folder that Python files are named relative to.

    Raises:
        StoreError: a snapshot cannot be read.
    """
    from hlodiff.report.html.picture import to_picture

    return to_picture([one for key in keys for one in _programs(tree, key)], str(root))


def _programs(tree: Tree, key: Key) -> list[PicturedProgram]:
    from hlodiff.hlo import read_text
    from hlodiff.report.html.picture import PicturedProgram

    snapshot = read_snapshot(tree, key)
    memory = snapshot.summary.get("memory")
    kinds = {str(k): v for k, v in memory.items() if isinstance(v, int)} if isinstance(memory, dict) else {}
    found = []
    for stage in reversed(STAGES):
        text = snapshot.stablehlo if stage == "stablehlo" else snapshot.compiled
        module = read_text(text, path=f"{tree.where}/{key.folder}: {stage}")
        module = attach_source(module, (snapshot.source or {}).get(stage))
        found.append(PicturedProgram(key.name, key.target, module, kinds if stage == "compiled" else {}))
    return found
