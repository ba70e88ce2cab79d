"""[tool.hlodiff]: what it may say, and what a mistake in it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.config import Config, closest
from hlodiff.errors import ConfigError
from hlodiff.workflows import load


def write(folder: Path, table: str) -> Path:
    (folder / "pyproject.toml").write_text(f"[tool.hlodiff]\n{table}\n")
    return folder


def complaint(folder: Path, table: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(write(folder, table))
    return caught.value.render()


def test_an_empty_table_gives_the_defaults(tmp_path: Path) -> None:
    config = load(write(tmp_path, ""))
    assert config.root == tmp_path
    assert config.targets == ("cpu",)
    assert config.path == (".",)
    assert config.snapshots == tmp_path / "snapshots"
    assert config.max_file_bytes == 1024 * 1024
    assert config.x64 is None and config.matmul_precision is None


def test_every_key_is_read(tmp_path: Path) -> None:
    table = """
    modules = ["a.b", "examples/*.py"]
    path = ["src"]
    targets = ["cpu-8", "tpu-v5e-2x2"]
    snapshots = "recorded/here"
    jobs = 3
    xla_flags = "--xla_a=1  --xla_b=2"
    libtpu_init_args = ["--xla_tpu_c=3"]
    env = { B = "2", A = "1" }
    x64 = true
    matmul_precision = "highest"
    max_file_bytes = 10
    large_constants = "ignore"
    limits = { moves = 5, search = 50 }
    """
    assert load(write(tmp_path, table)) == Config(
        root=tmp_path,
        modules=("a.b", "examples/*.py"),
        path=("src",),
        targets=("cpu-8", "tpu-v5e-2x2"),
        snapshots=tmp_path / "recorded/here",
        jobs=3,
        xla_flags=("--xla_a=1", "--xla_b=2"),
        libtpu_init_args=("--xla_tpu_c=3",),
        env=(("A", "1"), ("B", "2")),
        x64=True,
        matmul_precision="highest",
        max_file_bytes=10,
        large_constants="ignore",
        limits=(("search", 50), ("moves", 5)),
    )


def test_the_nearest_table_upward_is_taken(tmp_path: Path) -> None:
    write(tmp_path, "jobs = 1")
    inner = tmp_path / "package" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "package" / "pyproject.toml").write_text("[project]\nname = 'no table of ours'\n")
    assert load(inner).root == tmp_path
    assert load(tmp_path / "pyproject.toml").root == tmp_path


def test_no_table_anywhere_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no pyproject.toml with a \[tool.hlodiff\] table(.|\n)*hint: hlodiff init"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("tagets = ['cpu']", "unknown key `tagets` in [tool.hlodiff]\nhint: did you mean `targets`?"),
        ("zzzzzzzz = 1", "known keys: modules, path, targets"),
        ("targets = 'cpu'", "[tool.hlodiff] targets: expected a list of strings"),
        ("targets = ['cpu', 3]", "found list ['cpu', 3]"),
        ("jobs = 0", "[tool.hlodiff] jobs: expected a whole number of at least 1, found int 0"),
        ("jobs = true", "expected a whole number of at least 1, found bool True"),
        ("x64 = 'yes'", "[tool.hlodiff] x64: expected true or false, found str 'yes'"),
        ("snapshots = ''", "[tool.hlodiff] snapshots: expected a string that is not empty"),
        ("xla_flags = ['xla_a=1']", "[tool.hlodiff] xla_flags: expected a flag, as in --name=value, found 'xla_a=1'"),
        ("env = { A = 1 }", "[tool.hlodiff] env: expected a table of strings"),
        ("env = { XLA_FLAGS = '--a' }", "XLA_FLAGS cannot be set here\nhint: use the key `xla_flags`"),
        ("large_constants = 'drop'", '[tool.hlodiff] large_constants: expected "hash" or "ignore", found str'),
        ("limits = 3", "[tool.hlodiff] limits: expected a table of whole numbers, as in {search = 400}, found int 3"),
        ("limits = { serch = 3 }", "unknown key `serch` in [tool.hlodiff.limits]\nhint: did you mean `search`?"),
        ("limits = { zzzzzzzz = 3 }", "known keys: assignment, search, moves, move_rounds, unrelated"),
        ("limits = { moves = 0 }", "limits.moves: expected a whole number of at least 1, found int 0"),
        ("limits = { moves = 1.5 }", "limits.moves: expected a whole number of at least 1, found float 1.5"),
        ("matmul_precision = 'hihgest'", "expected one of default, high, highest"),
    ],
)
def test_a_mistake_names_file_key_and_what_is_expected(tmp_path: Path, table: str, says: str) -> None:
    text = complaint(tmp_path, table)
    assert "pyproject.toml" in text
    assert says in text


def test_broken_toml_is_an_error_with_its_line(tmp_path: Path) -> None:
    assert "not valid TOML" in complaint(tmp_path, "jobs = = 3")
    assert "line 2" in complaint(tmp_path, "jobs = = 3")


def test_a_value_in_place_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nhlodiff = 3\n")
    with pytest.raises(ConfigError, match="must be a table"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("tagets", "targets"), ("Targets", "targets"), ("module", "modules"), ("x46", "x64"), ("colour", "")],
)
def test_closest(word: str, meant: str) -> None:
    assert closest(word, ["modules", "targets", "x64"]) == meant
