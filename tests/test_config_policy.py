"""`fail_on`, `budgets` and `rules`: what they may say, what a mistake looks like, and a schema that agrees."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest

from hlodiff.config import Budget, Config, Limit, RuleUse, option, rules, schema
from hlodiff.errors import ConfigError
from hlodiff.policy import RULES_BY_NAME, Rule
from hlodiff.workflows import load
from tests.configuration_page import PAGE, page, schema_text

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "hlodiff" / "config_schema.json").read_text(encoding="utf-8"))
_TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(folder: Path, text: str) -> Config:
    (folder / "pyproject.toml").write_text(text if "[tool.hlodiff]" in text else f"[tool.hlodiff]\n{text}\n")
    return load(folder)


def test_a_short_policy(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        """
        fail_on = ["numerics", "toolchain"]
        [[tool.hlodiff.budgets]]
        functions = ["train*"]
        targets = ["tpu-*"]
        severity = "warn"
        temp_bytes = { max_increase = "2%" }
        fusions = { ratchet = true }
        collectives.all-gather.bytes = "1 MiB"
        "collectives.all-reduce" = 3
        [[tool.hlodiff.budgets]]
        stage = "stablehlo"
        functions = ["eval"]
        op.transpose = { min = 1, max = 2, max_increase = 1 }
        [tool.hlodiff.rules]
        no-f64 = "info"
        no-collective = [{ kind = "all-gather", axis = "model" }, { kind = "all-to-all", targets = ["tpu-*"] }]
        custom-calls = { only = ["__cublas*"], severity = "warn", functions = ["f"] }
        """,
    )
    assert config.fail_on == ("numerics", "toolchain")
    first, second = config.budgets
    assert first == Budget(
        (
            Limit("temp_bytes", growth=0.02, relative=True),
            Limit("fusions", growth=0.0),
            Limit("collectives.all-gather.bytes", most=2**20),
            Limit("collectives.all-reduce", most=3),
        ),
        ("train*",),
        ("tpu-*",),
        severity="warn",
        where="[tool.hlodiff] budgets 1",
    )
    assert (second.stage, second.limits) == ("stablehlo", (Limit("op.transpose", 2, 1, 1),))
    assert config.rules == (
        RuleUse("no-f64", severity="info"),
        RuleUse("no-collective", options=(("kind", "all-gather"), ("axis", "model"))),
        RuleUse("no-collective", targets=("tpu-*",), options=(("kind", "all-to-all"),)),
        RuleUse("custom-calls", ("f",), severity="warn", options=(("only", ("__cublas*",)),)),
    )


BUDGET = "[[tool.hlodiff.budgets]]\n"
CHANGES = "[[tool.hlodiff.changes]]\n"
RULE = "[tool.hlodiff.rules]\n"
MISTAKES = [
    ("fail_on = 'cost'", "fail_on: expected a list of strings"),
    ("fail_on = ['numeric']", "fail_on: unknown class `numeric`\nhint: did you mean `numerics`?"),
    ("fail_on = ['schedule']", "fail_on: `schedule` never fails"),
    ("changes = 3", "changes: expected tables [[tool.hlodiff.changes]], found int 3"),
    (CHANGES + "functions = ['f']", "changes 1: `fail_on` is missing"),
    (CHANGES + "fail_on = ['cost']", "changes 1: is for every program\nhint: name functions or targets"),
    (CHANGES + "functions = []\nfail_on = ['cost']", "changes 1: is for every program"),
    (CHANGES + "function = ['f']\nfail_on = ['cost']", "unknown key `function` in [tool.hlodiff.changes 1]"),
    (
        CHANGES + "functions = ['f']\nfail_on = ['costs']",
        "changes 1.fail_on: unknown class `costs`\nhint: did you",
    ),
    (CHANGES + "functions = ['f']\nfail_on = ['schedule']", "changes 1.fail_on: `schedule` never fails"),
    ("budgets = 3", "budgets: expected tables [[tool.hlodiff.budgets]], found int 3"),
    (BUDGET, "budgets 1: has no limit"),
    (BUDGET + "functions = ['f']", "budgets 1: has no limit"),
    (
        BUDGET + "flops = 1\n" + BUDGET + "tmp_bytes = 3",
        "budgets 2: unknown metric `tmp_bytes`\nhint: did you mean `te",
    ),
    (BUDGET + "function = ['f']\nflops = 1", "unknown metric `function`\nhint: did you mean `functions`?"),
    (BUDGET + "collectives.all-gathr = 1", "`collectives.all-gathr`\nhint: did you mean `collectives.all-gather`?"),
    (BUDGET + "'loop.copis' = 1", "budgets 1: unknown metric `loop.copis`"),
    (BUDGET + "temp_bytes = { maxi = 1 }", "unknown key `maxi` in [tool.hlodiff.budgets 1.temp_bytes]"),
    (BUDGET + "temp_bytes = {}", "budgets 1.temp_bytes: has no limit"),
    (BUDGET + "temp_bytes = '3 MIB'", "temp_bytes: expected bytes, as in 1024 or \"64 MiB\", found str '3 MIB'"),
    (BUDGET + "temp_bytes = '2%'", "temp_bytes: expected bytes"),
    (BUDGET + "temp_bytes = -1", "temp_bytes: expected bytes"),
    (BUDGET + "fusions = '3KiB'", "fusions: expected a number of at least 0"),
    (BUDGET + "fusions = true", "fusions: expected a number of at least 0"),
    (BUDGET + "fusions = { max_increase = '2 percent' }", 'max_increase: expected a number of at least 0 or "2%"'),
    (BUDGET + "fusions = { rachet = true }", "fusions.rachet: True is not a limit\nhint: did you mean `ratchet`?"),
    (BUDGET + "fusions = { ratchet = false }", "`ratchet` is true and takes no `max_increase`"),
    (BUDGET + "fusions = { ratchet = true, max_increase = 1 }", "`ratchet` is true and takes no"),
    (BUDGET + "fusions = 1\nstage = 'hlo'", 'stage: expected "compiled" or "stablehlo"'),
    (BUDGET + "fusions = 1\nseverity = 'warning'", 'severity: expected "error", "warn" or "info"'),
    (BUDGET + "fusions = 1\ntargets = 'cpu'", "targets: expected a list of strings"),
    ("rules = 'no-f64'", "rules: expected a table"),
    (RULE + "no-f46 = 'error'", "unknown key `no-f46` in [tool.hlodiff.rules]\nhint: did you mean `no-f64`?"),
    (RULE + "no-f64 = true", 'rules.no-f64: expected a severity, as in "error", or a table'),
    (RULE + "no-f64 = 'eror'", 'rules.no-f64.severity: expected "error", "warn" or "info"'),
    (RULE + "no-f64 = { axis = 'x' }", "unknown key `axis` in [tool.hlodiff.rules.no-f64]"),
    (RULE + "no-collective = 'error'", "rules.no-collective: `kind` is missing\nhint: no-collective = { kind ="),
    (
        RULE + "no-collective = { kind = 'all-gathr' }",
        "unknown collective `all-gathr`\nhint: did you mean",
    ),
    (RULE + "no-collective = { kind = 'all-gather', axis = 3 }", "axis: expected a string that is not empty"),
    (RULE + "custom-calls = { severity = 'warn' }", "rules.custom-calls: `only` is missing"),
    (RULE + "custom-calls = { only = 'x' }", "only: expected a list of strings"),
]


@pytest.mark.parametrize(("text", "says"), MISTAKES)
def test_a_mistake_names_file_table_and_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(caught.value.where)) and "pyproject.toml" in caught.value.where
    assert says in caught.value.render()


def examples() -> list[tuple[str, str]]:
    """Every example of a configuration in the documentation, with its page."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [(page.name, text) for page in pages for text in _TOML.findall(page.read_text(encoding="utf-8"))]
    return [(name, text) for name, text in found if "tool.hlodiff" in text]


def table_of(text: str) -> Any:
    text = text if re.search(r"^\[tool.hlodiff\]", text, re.MULTILINE) else f"[tool.hlodiff]\n{text}"
    return tomllib.loads(text)["tool"]["hlodiff"]


@pytest.mark.parametrize(("page", "text"), examples())
def test_every_example_of_the_documentation_is_read(tmp_path: Path, page: str, text: str) -> None:
    config = read(tmp_path, text)
    assert config.root == tmp_path


def test_there_are_examples() -> None:
    assert {name for name, _ in examples()} >= {"policy.md"}


def test_the_schema_and_the_table_of_keys_are_made_from_the_definition() -> None:
    text = (ROOT / "hlodiff" / "config_schema.json").read_text(encoding="utf-8")
    assert text == schema_text(), "python -m tests.configuration_page"
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.configuration_page"


def test_the_schema_has_every_key_rule_and_option() -> None:
    assert list(SCHEMA["properties"]) == [key.name for key in fields(Config) if key.name != "root"]
    told = SCHEMA["$defs"]["rules"]["properties"]
    assert list(told) == list(RULES_BY_NAME)
    for name, rule in RULES_BY_NAME.items():
        table = json.dumps(told[name])
        assert all(f'"{each.name}"' in table for each in fields(rule)), name


@dataclass(frozen=True)
class NoBigCopy(Rule):
    """A rule that nobody has: its options are read, refused and described by their fields alone."""

    name: ClassVar[str] = "no-big-copy"

    min_bytes: int
    share: float = 0.5
    in_loops: bool = False
    shape: str = ""
    opcodes: tuple[str, ...] = ()
    memory: str = option(default="", among=("host", "device"), noun="memory")


WITH_OPTIONS: list[tuple[dict[str, Any], tuple[tuple[str, object], ...] | str]] = [
    ({"min_bytes": 0}, (("min_bytes", 0),)),
    (
        {"in_loops": True, "opcodes": ["copy"], "min_bytes": 3, "share": 1, "memory": "host", "shape": "f32[3]"},
        (("min_bytes", 3), ("share", 1.0), ("in_loops", True), ("shape", "f32[3]"), ("opcodes", ("copy",)),
         ("memory", "host")),
    ),
    ({}, "rules.no-big-copy: `min_bytes` is missing\nhint: no-big-copy = { min_bytes = 1 }"),
    ({"min_byte": 1}, "unknown key `min_byte` in [tool.hlodiff.rules.no-big-copy]\nhint: did you mean `min_bytes`?"),
    ({"min_bytes": 1.5}, "rules.no-big-copy.min_bytes: expected a whole number of at least 0, found float 1.5"),
    ({"min_bytes": True}, "min_bytes: expected a whole number of at least 0, found bool True"),
    ({"min_bytes": 1, "share": "half"}, "share: expected a number of at least 0, found str 'half'"),
    ({"min_bytes": 1, "in_loops": 1}, "in_loops: expected true or false, found int 1"),
    ({"min_bytes": 1, "opcodes": "copy"}, "opcodes: expected a list of strings"),
    ({"min_bytes": 1, "memory": "hots"}, "rules.no-big-copy: unknown memory `hots`\nhint: did you mean `host`?"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "expected"), WITH_OPTIONS)
def test_a_new_rule_needs_nothing_but_its_fields(table: dict[str, Any], expected: object) -> None:
    known = {NoBigCopy.name: NoBigCopy}
    described = jsonschema.Draft202012Validator(schema(known)).is_valid({"rules": {NoBigCopy.name: table}})
    assert described == isinstance(expected, tuple)
    if isinstance(expected, str):
        with pytest.raises(ConfigError) as caught:
            rules({NoBigCopy.name: table}, "pyproject.toml: [tool.hlodiff] rules", known)
        assert expected in caught.value.render()
    else:
        (use,) = rules({NoBigCopy.name: table}, "pyproject.toml: [tool.hlodiff] rules", known)
        assert use.options == expected
        assert NoBigCopy(**dict(use.options)).min_bytes == table["min_bytes"]  # type: ignore[arg-type]


VALID = [
    "",
    "jobs = 3\nxla_flags = '--a=1 --b'\nenv = { A = '1' }\nx64 = true\nlimits = { search = 3 }\nfail_on = []",
    "xla_flags = ['--a=1']\nmatmul_precision = 'BF16_BF16_F32_X3'\nlarge_constants = 'ignore'",
    CHANGES + "functions = ['f']\nfail_on = []\n" + CHANGES + "targets = ['tpu-*']\nfail_on = ['cost', 'toolchain']",
    BUDGET + "fusions = { kLoop = 3, max = 4 }\n'fusions.kInput' = { max_increase = '2 %' }",
    BUDGET + "loop.copies = 0\n'entry.op.copy' = 1\nloop.collectives.all-gather.bytes = '1kB'\nbytes_accessed = 1e9",
    BUDGET + "collectives = { max = 3, all-gather = { ratchet = true, bytes = '3 GiB' } }\ncustom_calls.TopK = 1",
    BUDGET + "op = { dot = 3, transpose = { min = 1 } }\nseverity = 'info'\nstage = 'stablehlo'\ntargets = ['cpu']",
    RULE + "no-f64 = [ 'error', { severity = 'warn' } ]\nno-collective = { kind = 'all-to-all' }",
]
INVALID = [
    "tagets = ['cpu']", "jobs = 0", "jobs = true", "targets = 'cpu'", "xla_flags = ['a']", "x64 = 'yes'",
    "snapshots = ''",
    "env = { XLA_FLAGS = '--a' }", "limits = { serch = 3 }", "matmul_precision = 'x'", "large_constants = 'drop'",
]  # fmt: skip


@pytest.mark.parametrize("text", [*VALID, *(text for _, text in examples())])
def test_schema_and_reader_take_the_same(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).root == tmp_path
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(table_of(text))


@pytest.mark.parametrize("text", [*INVALID, *(text for text, _ in MISTAKES)])
def test_schema_and_reader_refuse_the_same(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert caught.value.what
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(table_of(text))


def test_the_schema_is_one() -> None:
    meta = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
    assert list(meta.iter_errors(SCHEMA)) == []
