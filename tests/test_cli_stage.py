"""`hlodiff check --stage stablehlo`: lowered programs are judged, compiled ones are neither blamed nor touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from hlodiff.capture import CapturedProgram, NotChecked, Outcome, Request
from tests.test_cli_check import FIRST, STABLEHLO, TANH, Ask, Compiler, files, findings
from tests.test_cli_check import compiler as compiler
from tests.typed import typed

ROOT = Path(__file__).parent.parent
NEGATED = STABLEHLO.replace(
    "    return %a", "    %b = stablehlo.negate %a : tensor<8xf32>\n    return %b"
)  # fmt: skip
LOWER = ("check", "--stage", "stablehlo")


@pytest.fixture
def lowering(compiler: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Recorded programs, and a compiler that must not be asked to compile from now on."""
    assert said("update")[0] == 0
    compiler.compiled.clear()
    usual = compiler.answer

    def answer(request: Request) -> Outcome:
        assert request.lower_only
        where = (request.function, request.case, request.target)
        told = compiler.answers.get(where)
        if isinstance(told, str) and (told != TANH or request.known_toolchain != compiler.toolchain):
            text = NEGATED if told == "negated" else STABLEHLO
            return CapturedProgram(*where, text, None, {"toolchain": compiler.toolchain}, {})
        return usual(request)

    monkeypatch.setattr(compiler, "answer", answer)
    return compiler


def test_what_is_unchanged_is_known_whole(lowering: Compiler, said: Ask) -> None:
    before = files()
    assert said(*LOWER) == (
        0,
        "checked 4 programs: 2 functions on cpu, tpu-v5e-2x2, StableHLO and compiled HLO of each\n4 unchanged\n",
        "",
    )
    assert (files(), lowering.compiled) == (before, [])


def test_a_changed_program_fails_and_its_compiled_one_is_not_looked_at(lowering: Compiler, said: Ask) -> None:
    before = files()
    lowering.answers["f", "", "cpu"] = "negated"
    code, out, _ = said(*LOWER)
    assert code == 1
    assert "  StableHLO\n    added negate f32[8]" in out
    assert "note: compiled HLO was not looked at: f on cpu; `hlodiff check` without --stage compiles\n" in out
    assert out.endswith(
        "checked 4 programs: 2 functions on cpu, tpu-v5e-2x2, StableHLO of 4 and compiled HLO of 3\n"
        "1 changed, 3 unchanged\n"
    )
    assert "  next: hlodiff update f\n" in out
    assert (files(), Path(".hlodiff").exists()) == (before, False), "nothing recorded, nothing pending"
    table = json.loads(said(*LOWER, "--format", "json")[1])
    assert [p["stage"] for p in table["programs"] if (p["name"], p["target"]) == ("f", "cpu")] == ["stablehlo"]


def test_another_toolchain_leaves_the_compiled_programs_open(lowering: Compiler, said: Ask) -> None:
    lowering.toolchain = {"jax": "0.11.0", "x64": False}
    code, out, _ = said(*LOWER, "g")
    assert code == 0
    assert "0.10.2 -> 0.11.0" in out
    assert "compiled HLO was not looked at: g/small on cpu, g/large on cpu;" in out
    assert out.endswith("2 unchanged\n"), "those are the StableHLO programs"


def test_a_new_program_and_an_orphan_are_named(lowering: Compiler, said: Ask) -> None:
    del lowering.answers["g", "large", "cpu"]
    lowering.answers["h", "", "cpu"] = "new"
    code, out, _ = said(*LOWER, "--format", "json")
    assert code == 1
    assert findings(out) == [("new", "h", "cpu"), ("orphaned", "g/large", "cpu")]
    assert Path("snapshots/g/large/cpu/summary.yaml").is_file()


def test_what_cannot_be_lowered_here_is_no_pass(lowering: Compiler, said: Ask) -> None:
    lowering.answers["f", "", "tpu-v5e-2x2"] = NotChecked("f", "", "tpu-v5e-2x2", "libtpu is not installed", "")
    assert said(*LOWER)[0] == 2
    assert said(*LOWER, "--target", "cpu")[0] == 0


def test_what_an_earlier_check_left_pending_stays(lowering: Compiler, said: Ask) -> None:
    note = Path(".hlodiff/pending/f/cpu/pending.json")
    note.parent.mkdir(parents=True)
    note.write_text("mine")
    said(*LOWER)
    lowering.answers["f", "", "cpu"] = "negated"
    said(*LOWER)
    assert note.read_text() == "mine"


@pytest.mark.parametrize("option", [("--timings",), ("--pending", "here"), ("--against", "HEAD")], ids=" ".join)
def test_options_that_need_the_compiler(compiler: Compiler, said: Ask, option: tuple[str, ...]) -> None:
    code, out, err = said(*LOWER, *option)
    assert (code, out) == (2, "")
    assert "--stage stablehlo only lowers" in err


def test_the_stand_in_is_asked_for_every_program(lowering: Compiler, said: Ask) -> None:
    lowering.answers = dict.fromkeys(FIRST, "negated")
    assert "\nnext: hlodiff update f g/small g/large\n" in said(*LOWER)[1]


def test_the_hook_of_pre_commit_is_a_command_that_exists() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["language"], hook["pass_filenames"]) == ("hlodiff", "system", False)
    assert hook["entry"] == "hlodiff check --stage stablehlo"


@pytest.mark.slow
def test_the_real_command_lowers_and_never_compiles(tmp_path: Path) -> None:
    """Only what is run can be missed: a scenario, and a case that wants to be called."""

    def hlodiff(*arguments: str) -> tuple[int, str]:
        done = typed(tmp_path, *arguments)
        return done.returncode, done.stdout

    hlodiff("init")
    module = tmp_path / "hlodiff_programs.py"
    text = module.read_text() + "\n\n@hlodiff.scenario\ndef steps():\n    raise SystemExit('was run')\n"
    # Functions are captured in processes that import this module, so there nothing can be compiled.
    broken = """import hlodiff
import jax.stages


def no(*_, **__):
    raise SystemExit('was compiled')


jax.stages.Lowered.compile = no
"""
    module.write_text(text.replace("import hlodiff\n", broken, 1))
    code, out = hlodiff(*LOWER)
    assert code == 1, out
    assert " ".join(out.split()).endswith(
        "note: compiled HLO was not looked at: first_gradient on cpu; `hlodiff check` without --stage compiles "
        "note: not run, so not looked at: scenario steps; `hlodiff check` without --stage runs them "
        "checked 1 program: 1 function on cpu, StableHLO of each "
        "1 new; next: hlodiff update first_gradient"
    ), out
    assert "was compiled" in hlodiff("check")[1], "what the test stands on"
