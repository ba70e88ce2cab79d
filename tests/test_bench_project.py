"""The project that `make bench-project` measures: its files are Python, and a change touches what it says."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks import project_files


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_change_touches_one_file(tmp_path: Path) -> None:
    project_files.write(tmp_path, 25, ("cpu", "tpu-v5e-2x2"))
    before = contents(tmp_path)
    assert sorted(name for name in before if name.startswith("model_")) == [f"model_00{n}.py" for n in range(3)]
    for name, text in before.items():
        if name.endswith(".py"):
            ast.parse(text)
    assert "ALL[: 5]" in before["model_002.py"]
    project_files.change_helper(tmp_path)
    project_files.write_model(tmp_path, 1, changed=3)
    after = contents(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"cells.py", "model_001.py"}
    project_files.write(tmp_path, 25, ("cpu", "tpu-v5e-2x2"))
    assert contents(tmp_path) == before
