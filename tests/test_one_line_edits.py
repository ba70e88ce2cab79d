"""One-line edits of real steps on several targets: headline, class and line of each, beside what is true.

The programs are snapshots that JAX 0.10.2 gave, before and after each edit. `python -m tests.test_one_line_edits`
writes `expected.txt` again: read it by hand, each block against its truth.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import hlodiff
from hlodiff.cli import run

FOLDER = Path(__file__).parent / "fixtures" / "one_line_edits"
# Name, function, what was written, what is true of it.
EDITS = (
    ("r01_relu", "rnn", "new = jnp.tanh(...) -> new = jax.nn.relu(...) at rnn.py:14",
     "another operation in the cell, forward and backward; a mask is saved instead of a value; no change of precision"),
    ("r05_remat", "rnn", "scan(turn, ...) -> scan(jax.checkpoint(turn), ...) at rnn.py:25",
     "the cell is computed again in the backward pass, less is saved; no change of precision"),
    ("r08_mae", "rnn", "jnp.mean(error**2) -> jnp.mean(jnp.abs(error)) at rnn.py:31",
     "another operation in the loss, forward and backward"),
    ("s01_hidden", "sharded", 'HIDDEN = P("data", "model") -> P("data", None), used at sharded.py:17',
     "another sharding of one value, forward and backward; every target gathers it"),
    ("s02_noconstraint", "sharded", "the with_sharding_constraint at sharded.py:17 is gone",
     "a constraint is gone; XLA partitions as before"),
    ("s03_upspec", "sharded", """'up': P(None, "model") -> P("data", "model")""",
     "an argument and a result are sharded in another way; weights are gathered before their use"),
    ("s05_sum", "sharded", "jnp.mean(...) -> jnp.sum(...) at sharded.py:22",
     "the divisions by the number of elements are gone, forward and backward"),
    ("d02_nodonate", "decoding", "donate=(0,) is gone",
     "the two buffers of the cache are no longer donated; where they are written they are copied"),
    ("d03_f16", "decoding", "softmax(scores), values -> both .astype(jnp.bfloat16) at decode.py:15",
     "a product in bfloat16; the type of a result changes with it"),
    ("d04_scatter", "decoding", "dynamic_update_slice -> .at[:, position].set(key) at decode.py:11",
     "one write of the cache is a scatter"),
    ("e02_matmul", "decoding", "JAX_DEFAULT_MATMUL_PRECISION = highest",
     "the configuration changed; five products have another precision; the code is the same"),
)  # fmt: skip
_MOST = 3
_LINE = re.compile(r" at (\w+\.py:\d+)$")


def unpacked(folder: Path) -> Path:
    """All programs as snapshot folders."""
    with tarfile.open(FOLDER / "programs.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def shown(top: Path, name: str, function: str) -> Iterator[str]:
    """What a report says first: who did it, each headline, and the largest changes with their lines."""
    out = top / f"{name}.json"
    arguments = [str(top / side / function) for side in ("before", name)]
    assert run(["diff", *arguments, "--format", "json", "-o", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    yield from (f"cause: {line}" for line in result["sheet"]["causes"])
    for detail in result["sheet"]["details"]:
        yield f"{detail['stage']} on {', '.join(detail['targets'])}: {detail['headline']}"
        changes = [change for group in detail["groups"] for change in group["changes"]]
        for change in changes[:_MOST]:
            yield f"    {change['kind']} {change['what'][:100]}  {' '.join(change['where'])}".rstrip()


def block(top: Path, edit: tuple[str, str, str, str]) -> str:
    name, function, written, truth = edit
    lines = "\n".join(shown(top, name, function))
    return f"{name}: {written}\ntrue: {truth}\n{lines}\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("edits"))


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit[0])
def test_a_report_says_what_is_true_of_an_edit(edit: tuple[str, str, str, str], programs: Path) -> None:
    expected = (FOLDER / "expected.txt").read_text(encoding="utf-8").split("\n\n")
    found = block(programs, edit).strip()
    assert found in [each.strip() for each in expected]
    for program in json.loads((programs / f"{edit[0]}.json").read_text(encoding="utf-8"))["programs"]:
        costs = [
            (1 if side == "new" else -1, cost) for one in program["edits"] for side, cost in (one["cost"] or {}).items()
        ]
        for metric, key in (("flops", "flops"), ("collective_bytes", "collective")):
            old, new = program["metrics_executed"][metric]
            found = sum(sign * cost.get(key, 0) for sign, cost in costs if cost)
            # StableHLO's edits have no bytes.
            assert found == new - old or (program["stage"], key) == ("stablehlo", "collective"), (
                program["stage"],
                metric,
            )


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit[0])
def test_a_report_of_one_edit_fits_on_a_screen(
    edit: tuple[str, str, str, str], programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to three targets, in a window of 80 columns; the verdict first, the change within ten lines, nothing cut."""
    name, function = edit[:2]
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(programs)  # a command names both folders, and that of a test is as long as it happens to be
    assert run(["diff", f"before/{function}", f"{name}/{function}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 35
    assert any("next: hlodiff diff " in line for line in lines[:10])
    assert sum("next: " in line for line in lines) == 1
    assert "; " in " ".join(lines[:10]).partition("  changed on ")[0], "good or bad; what happened"
    assert lines[0].startswith(f"{function}  ") and any(mark in lines[0] for mark in "▲▼◆=")
    assert any(line.strip().startswith(("StableHLO", "compiled")) for line in lines[:10])
    assert not [line for line in lines if line.endswith("...") or len(line) > 80]


# What is computed again in a loop has the line that wrote it: no frame says where `jax.checkpoint` was called.
@pytest.mark.parametrize(
    "edit", [one for one in EDITS if _LINE.search(one[2]) and one[0] != "r05_remat"], ids=lambda edit: edit[0]
)
def test_the_first_line_has_the_line_that_was_edited(
    edit: tuple[str, str, str, str], programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not that of what follows, as the loop that saves a mask for the backward pass where it saved numbers."""
    name, function, written = edit[:3]
    assert run(["diff", *(str(programs / side / function) for side in ("before", name))]) == 0
    first = " ".join(capsys.readouterr().out.partition("  changed on ")[0].split())
    assert f"app/{_LINE.findall(written)[-1]}" in first


def test_operands_that_share_memory_are_proved_where_others_are_counted_before_them(programs: Path) -> None:
    """Rematerialisation on a TPU: a fusion has other operands and one more, and a configuration that counts them."""
    old, new = (hlodiff.read(programs / "aliases" / f"{side}.hlo") for side in ("old", "new"))
    assert hlodiff.diff(old, new).replay().complete


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        place = unpacked(Path(folder))
        text = "\n".join(block(place, edit) for edit in EDITS)
    (FOLDER / "expected.txt").write_text(text, encoding="utf-8")
