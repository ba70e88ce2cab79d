"""`hlodiff accept`, `reject` and what `check` leaves for them, around a stand-in for the compiler."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from hlodiff.capture import NotChecked
from hlodiff.snapshots import FolderTree, Key, list_snapshots, read_pending
from tests.test_cli_check import (
    EXP,  # the fixture
    TANH,  # the fixture
    Ask,  # the fixture
    Compiler,  # the fixture
    compiler,  # noqa: F401  # the fixture
    files,  # the fixture
)

PENDING = Path(".hlodiff/pending")
SIN = TANH.replace("tanh", "sine")


def pending() -> list[str]:
    return [key.folder for key in list_snapshots(FolderTree(PENDING)).keys]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def changed(compiler: Compiler, said: Ask) -> Compiler:  # noqa: F811
    """Everything is recorded, then f changes on both targets, one case of g too, and h is new."""
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    compiler.answers["f", "", "tpu-v5e-2x2"] = EXP
    compiler.answers["g", "small", "cpu"] = SIN
    compiler.answers["h", "", "cpu"] = TANH
    return compiler


def test_check_leaves_what_update_would_write(changed: Compiler, said: Ask) -> None:
    before = files()
    assert said("check")[0] == 1
    assert files() == before, "check writes no snapshot"
    assert pending() == ["f/cpu", "f/tpu-v5e-2x2", "g/small/cpu", "h/cpu"]
    assert (PENDING / ".gitignore").read_text() == "*\n"
    code, out, err = said("accept", "--everything")
    assert (code, err) == (0, "")
    assert out == (
        "f  cpu          accepted (changed)\n"
        "f  tpu-v5e-2x2  accepted (changed)\n"
        "g/small  cpu    accepted (changed)\n"
        "h  cpu          accepted (new)\n"
        "4 accepted; next: git add snapshots\n"
    )
    assert pending() == []
    accepted = contents(Path("snapshots"))
    shutil.rmtree("snapshots")
    said("update")
    assert contents(Path("snapshots")) == accepted, "the same bytes as update writes"
    assert said("check")[0] == 0


def test_a_program_that_is_accepted_and_stays_pending_is_said_to_be(
    changed: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("check")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if "pending" in self.parts and "h" in self.parts:
            raise PermissionError(13, "Permission denied", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    _, out, _ = said("accept", "--everything")
    rows = {row.split("  ")[0]: row for row in out.splitlines()}
    assert re.fullmatch(r"h  cpu +accepted \(new, still pending, because .*: Permission denied\)", rows["h"])
    assert rows["g/small"].endswith("accepted (changed)")
    assert Path("snapshots/h/cpu/compiled.hlo").is_file() and pending() == ["h/cpu"]


def test_the_report_prints_what_accept_takes(changed: Compiler, said: Ask) -> None:
    programs = json.loads(said("check", "--format", "json")[1])["programs"]
    ids = {(one["name"], one["target"]): one["id"] for one in programs}
    assert ids["g/large", "cpu"] is None
    assert all(ids["f", target] in said("check")[1] for target in ("cpu", "tpu-v5e-2x2"))
    code, out, _ = said("accept", ids["f", "cpu"][:6], ids["h", "cpu"])
    assert code == 0
    assert "f  cpu  accepted (changed)" in out and "2 accepted, 2 still pending" in out
    assert pending() == ["f/tpu-v5e-2x2", "g/small/cpu"]


def test_names_targets_and_reject(changed: Compiler, said: Ask) -> None:
    said("check")
    before = files()
    assert "1 accepted, 3 still pending" in said("accept", "f", "--target", "tpu-*")[1]
    assert "g/small  cpu  rejected" in said("review", "--reject", "g*")[1]
    assert pending() == ["f/cpu", "h/cpu"]
    same = {name for name, stamp in files().items() if before.get(name) == stamp}
    assert {name for name in before if "/g/" in name} <= same
    result = json.loads(said("accept", "f", "--format", "json")[1])
    assert [(p["name"], p["target"], p["status"]) for p in result["programs"]] == [("f", "cpu", "accepted")]
    assert result["totals"] == {"accepted": 1, "rejected": 0, "recorded": 0, "refused": 0, "left": 0, "pending": 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "4 programs pending, and none was named"),
        (("nothing",), "no pending program is called `nothing`"),
        (("ff",), "did you mean `f`?"),
        (("--target", "cuda"), "nothing is pending for target `cuda`"),
        (("--pattern", "0" * 8), "no pending program has the pattern `00000000`"),
        (("--class", "structur"), "did you mean `structure`?"),
    ],
)
def test_what_cannot_be_meant(changed: Compiler, said: Ask, arguments: tuple[str, ...], words: str) -> None:
    said("check")
    code, out, err = said("accept", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(pending()) == 4


def test_nothing_pending(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    assert said("check")[0] == 0
    code, _, err = said("accept", "--everything")
    assert code == 2 and "nothing is pending" in err and "hlodiff check" in err


def test_stale_captures_are_refused(changed: Compiler, said: Ask) -> None:
    said("check")
    kept = contents(PENDING)
    changed.answers["f", "", "cpu"] = SIN
    said("update", "f", "--target", "cpu")
    shutil.rmtree(PENDING)
    for name, content in kept.items():
        (PENDING / name).parent.mkdir(parents=True, exist_ok=True)
        (PENDING / name).write_bytes(content)
    before = contents(Path("snapshots/f/cpu"))
    code, out, _ = said("accept", "f")
    assert code == 2
    assert "f  cpu          refused\n  its snapshot has changed since this was captured" in out
    assert "hint: hlodiff check f --target cpu" in out
    assert "f  tpu-v5e-2x2  accepted (changed)" in out
    assert contents(Path("snapshots/f/cpu")) == before


def test_what_is_recorded_meanwhile_is_no_trouble(changed: Compiler, said: Ask) -> None:
    said("check")
    shutil.copytree(PENDING, "from ci")
    said("accept", "f")
    code, out, _ = said("accept", "--from", "from ci", "f")
    assert code == 0 and "f  cpu          recorded already" in out


def test_a_filtered_run_touches_only_what_it_looked_at(changed: Compiler, said: Ask) -> None:
    said("check")
    kept = contents(PENDING / "g")
    changed.answers["f", "", "cpu"] = TANH
    del changed.answers["h", "", "cpu"]
    said("check", "f", "--target", "cpu")
    assert pending() == ["f/tpu-v5e-2x2", "g/small/cpu", "h/cpu"]
    assert contents(PENDING / "g") == kept
    changed.answers["g", "small", "cpu"] = NotChecked("g", "small", "cpu", "not here", "")
    said("check")
    assert pending() == ["f/tpu-v5e-2x2", "g/small/cpu"], "unregistered is forgotten, not checked is kept"


def test_update_settles_what_is_pending(changed: Compiler, said: Ask) -> None:
    said("check")
    said("update", "f")
    assert pending() == ["g/small/cpu", "h/cpu"]


def test_another_toolchain_is_pending_without_an_id(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    compiler.answers["f", "", "cpu"] = EXP
    code, out, _ = said("check")
    assert code == 1
    assert "  toolchain differs: jax 0.10.2 -> 0.11.0 (cpu, tpu-v5e-2x2)" in out.split("\n")
    assert "  on cpu: StableHLO is the same, so the compiler did this" in out
    assert ": toolchain, structure\n" in out
    assert "  changed on cpu (" in out and "g" not in [line.split(" ")[0] for line in out.split("\n")]
    assert len(pending()) == 4
    assert "1 accepted, 3 still pending" in said("accept", "--class", "toolchain")[1]
    out = said("accept", "--all")[1]
    assert "g/small  cpu    accepted (same program, other toolchain, figures or paths)" in out
    assert said("check")[:2][1].startswith("checked")


def test_classes_and_patterns(changed: Compiler, said: Ask) -> None:
    out = json.loads(said("check", "--format", "json")[1])
    pattern = next(one for one in out["patterns"] if "exponential" in one["what"])
    assert sorted({out["programs"][n]["target"] for n in pattern["programs"]}) == ["cpu", "tpu-v5e-2x2"]
    assert all(
        (pattern["id"] in one["patterns"]) == (n in pattern["programs"]) for n, one in enumerate(out["programs"])
    )
    ids = {(one["name"], one["target"]): one["id"] for one in out["programs"]}
    assert all(one["id"] == ids[one["program"], one["target"]] for one in out["findings"]) and any(ids.values())
    code, said_of, _ = said("accept", "--pattern", pattern["id"], "--class", "structure")
    assert code == 0 and "2 accepted, 2 still pending" in said_of
    assert pending() == ["g/small/cpu", "h/cpu"], "what is new has no pattern"
    assert said("accept", "--class", "placement")[:2] == (0, "2 still pending; next: hlodiff review\n")
    assert pending() == ["g/small/cpu", "h/cpu"]


BOTH = EXP.replace("HloModule jit_f", "HloModule jit_f, input_output_alias={ {}: (0, {}, may-alias) }")


def test_a_narrow_window_cuts_no_pattern(changed: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    changed.answers["g", "large", "cpu"] = EXP
    monkeypatch.setenv("COLUMNS", "44")
    code, out, _ = said("check")
    told = re.findall(r"pattern\s+([0-9a-f]{8})\n", out)
    assert code == 1 and told
    assert said("accept", "--pattern", told[0])[0] == 0


def test_a_program_with_other_changes_is_left(changed: Compiler, said: Ask) -> None:
    changed.answers["g", "large", "cpu"] = BOTH
    out = json.loads(said("check", "--format", "json")[1])
    owners = {one["id"]: [out["programs"][n]["name"] for n in one["programs"]] for one in out["patterns"]}
    shared = next(own for own, names in owners.items() if "g/large" in names and "f" in names)
    code, text, _ = said("accept", "--pattern", shared)
    assert code == 0
    assert "left pending: g/large on cpu\n  has other changes too: pattern" in text
    assert "g/large/cpu" in pending()


# --- CI --------------------------------------------------------------------------------------------------------------


def test_ci_writes_only_when_told(changed: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    before = files()
    code, out, _ = said("check", "--pending", "captured")
    assert code == 1 and out.count("next: hlodiff update f g/small h\n") == 1
    for command in (("update",), ("accept", "--from", "captured"), ("review", "--from", "captured")):
        code, _, err = said(*command)
        assert code == 2 and "snapshots are not written in CI" in err and "--ci-write" in err
    assert files() == before
    assert said("accept", "--from", "captured", "--ci-write")[0] == 0
    monkeypatch.setenv("CI", "false")
    assert said("check")[0] == 0


def test_what_ci_captured_is_taken_elsewhere(changed: Compiler, said: Ask) -> None:
    said("check", "--pending", "captured")
    assert not PENDING.exists()
    shutil.copytree("captured", "downloaded")
    code, out, _ = said("accept", "--from", "downloaded")
    assert code == 0 and "4 accepted; next: git add snapshots" in out
    assert said("check")[0] == 0


def damage_fingerprint(folder: Path) -> None:
    path = folder / "f/cpu/compiled.hlo"
    path.write_text(path.read_text().replace("exponential", "cosine"))


def damage_counts(folder: Path) -> None:
    path = folder / "f/cpu/summary.yaml"
    path.write_text(path.read_text().replace("{exponential: 1}", "{add: 1}").replace("exponential: 1", "add: 1"))


def damage_comment(folder: Path) -> None:
    path = folder / "f/cpu/compiled.hlo"
    path.write_text("// \x1b[31m<script>\n" + path.read_text())


def damage_tag(folder: Path) -> None:
    path = folder / "f/cpu/summary.yaml"
    path.write_text("run: !!python/object/apply:os.system ['touch executed']\n" + path.read_text())


def damage_size(folder: Path) -> None:
    with (folder / "f/cpu/compiled.hlo").open("ab") as file:
        file.truncate(200 * 1024 * 1024)


def damage_link(folder: Path) -> None:
    secret = Path("secret")
    secret.write_text("key")
    (folder / "f/cpu/compiled.hlo").unlink()
    (folder / "f/cpu/compiled.hlo").symlink_to(secret.absolute())


def damage_name(folder: Path) -> None:
    path = folder / "f/cpu/summary.yaml"
    path.write_text(path.read_text().replace("function: f\n", "function: ../../f\n"))


def damage_note(folder: Path) -> None:
    (folder / "f/cpu/pending.json").write_text("[" * 4000)


def damage_missing_note(folder: Path) -> None:
    (folder / "f/cpu/pending.json").unlink()


def damage_missing_summary(folder: Path) -> None:
    (folder / "f/cpu/summary.yaml").unlink()


def damage_future(folder: Path) -> None:
    (folder / "f/cpu/pending.json").write_text('{"format_version": 2}')


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_fingerprint, "its fingerprints are not those of its programs"),
        (damage_counts, "its summary counts other operations than its programs have"),
        (damage_comment, "its compiled program is not as hlodiff writes programs"),
        (damage_tag, "tags (`!name`) are not allowed"),
        (damage_size, "bytes are more than hlodiff reads"),
        (damage_link, "is not a regular file"),
        (damage_name, "its summary is about"),
        (damage_note, "is not JSON"),
        (damage_missing_note, "what this was compared with is unknown"),
        (damage_missing_summary, "summary.yaml: is missing"),
        (damage_future, "was written by a newer hlodiff"),
    ],
)
def test_hostile_folders_are_refused(changed: Compiler, said: Ask, damage: object, words: str) -> None:
    said("check", "--pending", "captured")
    assert callable(damage)
    damage(Path("captured"))
    before = contents(Path("snapshots/f/cpu"))
    code, out, err = said("accept", "--from", "captured", "f")
    assert (code, err) == (2, "")
    assert "f  cpu          refused" in out and words in out and "\x1b" not in out
    assert "f  tpu-v5e-2x2  accepted" in out
    assert contents(Path("snapshots/f/cpu")) == before
    assert not Path("executed").exists()


def test_source_tables_are_written_anew(changed: Compiler, said: Ask) -> None:
    said("check", "--pending", "captured")
    path = Path("captured/f/cpu/source.json")
    table = json.loads(path.read_text())
    table["compiled"]["frames"].append(["/home/me/.ssh/id", 1, "<b>", -1])
    path.write_text(json.dumps(table | {"extra": "x" * 1000}))
    assert said("accept", "--from", "captured")[0] == 0
    written = Path("snapshots/f/cpu/source.json").read_text()
    assert "extra" not in written and "/home" not in written


def test_snapshots_are_not_written_through_links(changed: Compiler, said: Ask) -> None:
    said("check")
    outside = Path("outside")
    shutil.copytree("snapshots/f", outside)
    shutil.rmtree("snapshots/f")
    Path("snapshots/f").symlink_to(outside.absolute())
    before = contents(outside)
    code, _, err = said("accept", "f", "--target", "cpu")
    assert code == 2 and "is a link, and links are not followed" in err
    assert contents(outside) == before


def test_pending_says_what_it_was_compared_with(changed: Compiler, said: Ask) -> None:
    said("check")
    tree = FolderTree(PENDING)
    assert read_pending(tree, Key("h", "", "cpu")).base == ""
    assert len(read_pending(tree, Key("f", "", "cpu")).base) == 64


def test_a_pending_folder_that_cannot_be_written_is_a_note(changed: Compiler, said: Ask) -> None:
    Path(".hlodiff").write_text("in the way")
    code, out, err = said("check")
    assert (code, err) == (1, "")
    assert "note: not everything is left for `hlodiff accept`" in out
    assert out.count("next: hlodiff update f g/small h\n") == 1
