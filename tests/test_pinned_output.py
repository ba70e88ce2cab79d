"""What users see, pinned: `hlodiff diff` of real pairs in every form, held against files that a person can read.

The pairs are the examples' own snapshots (programs that differ as a refactoring would make them differ) and one known
edit of each kind in the programs of `tests/ground_truth`. `python -m tests.test_pinned_output` writes the files again
after a change that was meant; what changed is then read in the pull request.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from benchmarks.noise import Noise
from benchmarks.pairs import make_pair
from hlodiff.cli import run

HERE = Path(__file__).parent
FOLDER = HERE / "pinned"
SNAPSHOTS = HERE.parent / "snapshots"
FORMS = {"txt": "text", "md": "markdown", "json": "json", "html": "html"}
SHORT = ("txt", "md")  # of pairs that share little: their JSON and page hold every line of both programs
# Two functions that do the same in another way, or one function for two targets.
ALIKE = (
    ("stack_unrolled/cpu", "stack_scanned/cpu"),
    ("stack_unrolled/tpu-v5e-2x2", "stack_scanned/tpu-v5e-2x2"),
    ("feed_forward_fsdp/cpu-4", "feed_forward_sharded/cpu-4"),
    ("called_on_host/tpu-v5e-2x2", "host_update/tpu-v5e-2x2"),
    ("mlp_gradient/cpu", "mlp_gradient/cpu"),
)
UNLIKE = (
    ("feed_forward_fsdp/tpu-v5e-2x2", "feed_forward_sharded/tpu-v5e-2x2"),
    ("feed_forward_fsdp/cuda-h100-x4", "feed_forward_sharded/cuda-h100-x4"),
    ("mlp_gradient/cpu", "mixed_precision_step/cpu"),
    ("attention/cuda-h100-x4", "attention/tpu-v5e-2x2"),
)
KINDS = (
    "insert-one", "delete", "opcode", "operand-order", "literal", "element-type", "layout", "memory-space", "sharding",
    "replica-groups", "tuning", "control-edge", "donation", "into-fusion", "split", "merge",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Two program files and the name of what is pinned of them."""

    name: str
    old: str
    new: str
    suffix: str
    forms: tuple[str, ...] = tuple(FORMS)


def cases() -> Iterator[Case]:
    for old, new in (*ALIKE, *UNLIKE):
        for file in ("stablehlo.mlir", "compiled.hlo"):
            name = f"{old}-{new}-{file.split('.')[0]}".replace("/", "-")
            before, after = ((SNAPSHOTS / side / file).read_text(encoding="utf-8") for side in (old, new))
            yield Case(name, before, after, Path(file).suffix, tuple(FORMS) if (old, new) in ALIKE else SHORT)
    programs = sorted((HERE / "ground_truth").glob("*/*.hlo"))
    for number, kind in enumerate(KINDS):
        for program in programs[number % len(programs) :] + programs[: number % len(programs)]:
            text = program.read_text(encoding="utf-8")
            pair = make_pair(text, kind, Noise(metadata="same"), Random(f"pinned {kind}"), 1)
            if pair is not None:
                yield Case(f"edit-{kind}-{program.parent.name}-{program.stem}", pair.old_text, pair.new_text, ".hlo")
                break


def shown(case: Case, folder: Path) -> dict[str, str]:
    """What `hlodiff diff` writes of a case, by the suffix of the form."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{side}{case.suffix}" for side in ("old", "new")]
    for name, text in zip(names, (case.old, case.new), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    result = {}
    with contextlib.chdir(folder):  # reports name the files as they were typed
        for suffix in case.forms:
            assert run(["diff", *names, "--format", FORMS[suffix], "-o", f"out.{suffix}"]) == 0
            text = Path(f"out.{suffix}").read_text(encoding="utf-8")
            result[suffix] = page_data(text) if suffix == "html" else text
    return result


def page_data(page: str) -> str:
    """What a page shows, without its style and scripts: its first view as HTML, and its packed programs as JSON."""
    packed = re.findall(r'<script type="application/zlib" id="([^"]*)">(.*?)</script>', page, re.DOTALL)
    bodies = {name: json.loads(zlib.decompress(base64.b64decode(data))) for name, data in packed}
    first = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return first + json.dumps(bodies, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_output_is_as_pinned(case: Case, tmp_path: Path) -> None:
    for suffix, text in shown(case, tmp_path).items():
        assert text == (FOLDER / f"{case.name}.{suffix}").read_text(encoding="utf-8"), f"{case.name}.{suffix}"


def test_nothing_is_pinned_that_no_case_shows() -> None:
    names = {f"{case.name}.{suffix}" for case in cases() for suffix in case.forms}
    assert {path.name for path in FOLDER.iterdir()} == names


if __name__ == "__main__":
    scratch = Path(sys.argv[1]) if sys.argv[1:] else FOLDER.with_name("pinned.new")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for one in cases():
        for suffix, text in shown(one, scratch).items():
            (FOLDER / f"{one.name}.{suffix}").write_text(text, encoding="utf-8")
    shutil.rmtree(scratch)
