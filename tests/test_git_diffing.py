"""What `git diff`, `git log -p`, `git show` and their like print of snapshots once drivers are installed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import yaml

from hlodiff.integrations.git.setup import settings
from tests.git_projects import HLO, Project, project

pytestmark = pytest.mark.slow  # each test starts processes

REPORT = """\
diff --git a/snapshots/f/cpu/compiled.hlo b/snapshots/f/cpu/compiled.hlo
index {}
f  = same cost on cpu; tanh -> sine
  changed on cpu: structure
  compiled (executed numbers)
    cpu  no executed number changed
    changed tanh -> sine  (8 flops, 64 B)
structure: other operations, results may differ
"""
FACTS = """\
diff --git a/snapshots/f/cpu/summary.yaml b/snapshots/f/cpu/summary.yaml
index {}
  memory.temp  64 -> 4,096
  and 4 derived figures (op counts)
"""
LISTING = """\
@@ -4,6 +4,6 @@ arguments and results
   argument 0   f32[8]{0}
   result 0     f32[8]{0}
 operations of the entry
-  tanh f32[8]{0}  x1
+  sine f32[8]{0}  x1
 content  (if nothing else changes, operands or attributes did: see `git diff` or `git log -p --ext-diff`)
"""
COMPILED = "snapshots/f/cpu/compiled.hlo"


@pytest.fixture
def made(tmp_path: Path) -> Project:
    """A repository with drivers, and one change in the work tree."""
    found = project(tmp_path)
    found.hlodiff("git", "install")
    found.commit("drivers")
    found.record("f", "sine", 4096)
    return found


def blocks(text: str) -> dict[str, str]:
    """What stands of each file, by its name."""
    parts = text.split("diff --git a/")[1:]
    return {part.partition(" ")[0].rpartition("/")[2]: f"diff --git a/{part}" for part in parts}


def test_git_diff_is_our_report(made: Project) -> None:
    found = blocks(made.git("diff"))
    assert list(found) == ["compiled.hlo", "stablehlo.mlir", "summary.yaml"]
    blob = made.git("rev-parse", f"HEAD:{COMPILED}")[:9]
    assert found["compiled.hlo"] == REPORT.format(f"{blob}..000000000")
    assert "  StableHLO\n    changed tanh -> sine  (8 flops)\n" in found["stablehlo.mlir"]
    summary = made.git("rev-parse", "HEAD:snapshots/f/cpu/summary.yaml")[:9]
    assert found["summary.yaml"] == FACTS.format(f"{summary}..000000000")


def test_git_log_lists_and_reports_where_it_is_asked_to(made: Project) -> None:
    made.commit("sine")
    listed = blocks(made.git("log", "-p", "-1"))
    assert LISTING in listed["compiled.hlo"]
    assert "-  temp: 64\n+  temp: 4096\n" in listed["summary.yaml"]
    assert blocks(made.git("show", "--format=", "--", COMPILED)) == {"compiled.hlo": listed["compiled.hlo"]}
    reported = blocks(made.git("log", "-p", "-1", "--ext-diff", "--", COMPILED))
    old, new = (made.git("rev-parse", f"{revision}:{COMPILED}")[:9] for revision in ("HEAD~1", "HEAD"))
    assert reported["compiled.hlo"] == REPORT.format(f"{old}..{new}")


def test_lines_of_python_are_no_noise(made: Project) -> None:
    """source.json only helps reports: `git diff` is silent about it, lists say one line of a new one."""
    made.record("f", "cosine", line=3)
    made.git("add", "-A")
    assert "source.json" not in made.git("diff", "--cached")
    made.commit("a line")
    one = "+(Python lines of the programs beside it)\n"
    assert blocks(made.git("show"))["source.json"].endswith(f"@@ -0,0 +1 @@\n{one}")
    made.record("f", "sine", line=4)
    made.commit("another")
    for command in (["show"], ["log", "-p", "-1"], ["show", "--ext-diff"], ["diff", "HEAD~1"]):
        assert "source.json" not in made.git(*command)
    assert "snapshots/f/cpu/source.json" in made.git("diff", "HEAD~1", "--name-only")
    assert '+{"compiled":' in made.git("format-patch", "--stdout", "-1")


def test_what_has_to_be_exact_is_git_s_own(made: Project) -> None:
    """Patches can be applied and hunks be staged; a report that somebody takes for a patch is refused aloud."""
    assert " snapshots/f/cpu/compiled.hlo   | 2 +-\n" in made.git("diff", "--stat")
    report = made.git("diff")
    made.git("stash", "-q")
    assert "-  ROOT %n = f32[8]{0} tanh(%p)\n+  ROOT %n = f32[8]{0} sine(%p)\n" in made.git("stash", "show", "-p")
    made.git("stash", "pop", "-q")
    made.commit("sine")
    patch = made.top.parent / "sine.patch"
    patch.write_text(made.git("format-patch", "-1", "--stdout"))
    made.git("reset", "-q", "--hard", "HEAD~1")
    made.git("apply", str(patch))
    assert "sine" in (made.top / COMPILED).read_text()
    made.git("checkout", "-q", ".")
    patch.write_text(report)
    assert "patch with only garbage" in made.git("apply", str(patch), code=128)


def test_colours_are_there_where_git_has_them(made: Project) -> None:
    made.git("config", "color.diff", "always")
    assert "\x1b[1mdiff --git a/snapshots" in made.git("diff", "--", COMPILED)
    assert "\x1b[" not in made.git("diff", "--", COMPILED, NO_COLOR="1").partition("index")[2]
    made.git("config", "color.diff", "auto")
    assert "\x1b[" not in made.git("diff", "--", COMPILED)
    assert "\x1b[1mdiff" in made.git("diff", "--", COMPILED, GIT_PAGER_IN_USE="true", TERM="xterm")


def test_new_deleted_renamed_and_mode(made: Project) -> None:
    made.git("checkout", "-q", ".")
    made.record("g", "sine")
    made.git("add", "-N", ".")
    assert blocks(made.git("diff"))["compiled.hlo"] == (
        "diff --git a/snapshots/g/cpu/compiled.hlo b/snapshots/g/cpu/compiled.hlo\n"
        "new file mode 100644\nindex 000000000..000000000\n  new: 1 operation: sine 1\n"
    )
    made.commit("g")
    made.git("mv", "snapshots/g", "snapshots/h")
    assert "rename from snapshots/g/cpu/compiled.hlo\nrename to snapshots/h/cpu/compiled.hlo\n" in made.git(
        "diff", "-M", "HEAD"
    )
    (made.top / "snapshots/h/cpu/compiled.hlo").write_text(HLO)
    made.git("add", ".")
    found = made.git("diff", "-M10", "HEAD", "--", "snapshots")
    assert "rename to snapshots/h/cpu/compiled.hlo\n" in found
    assert "h  = same cost on cpu; " in found
    made.git("reset", "-q", "--hard")
    (made.top / COMPILED).chmod(0o755)
    (made.top / "snapshots/g/cpu/compiled.hlo").unlink()
    found = made.git("diff")
    assert "old mode 100644\nnew mode 100755\n" in found
    assert "changed" not in found
    assert "  deleted: 1 operation: sine 1\n" in found


def test_files_that_are_no_programs_are_told_and_nothing_stops(made: Project) -> None:
    path = made.top / COMPILED
    path.write_text("<<<<<<< ours\nHloModule \x1b[31mm\n=======\n>>>>>>> theirs\n")
    found = made.git("diff")
    assert "hlodiff cannot report this: snapshots/f/cpu/compiled.hlo" in found
    assert "+HloModule \\x1b[31mm\n" in found
    assert "stablehlo.mlir" in found, "the others are still told"
    made.commit("markers")
    assert "+hlodiff cannot list this program: compiled.hlo" in made.git("log", "-p", "-1", "--", COMPILED)
    path.write_bytes(b"\0\1" * 5000)
    assert "binary files differ\n" in made.git("diff", "--", COMPILED)
    made.commit("binary")
    assert "+binary, 10,000 bytes, sha256 " in made.git("show")
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert "is a link, and links are not followed" in made.git("diff")


def test_a_file_of_any_size_is_no_trap(made: Project) -> None:
    path = made.top / COMPILED
    path.write_bytes(b"")
    with path.open("r+b") as stream:
        stream.truncate(40 * 1024 * 1024)
    assert "40.0 MiB are more than is compared here" in made.git("diff", "--", COMPILED)


def test_a_compressed_program_is_a_report_too(made: Project) -> None:
    made.git("checkout", "-q", ".")
    path = made.top / f"{COMPILED}.gz"
    path.write_bytes(gzip.compress(HLO.encode()))
    made.commit("packed")
    path.write_bytes(gzip.compress(HLO.replace("tanh", "sine").encode()))
    assert "changed tanh -> sine" in made.git("diff")
    made.commit("sine")
    assert LISTING in made.git("show")


def test_without_our_python_git_shows_what_it_shows_without_us(made: Project) -> None:
    for setting in settings("/gone/python"):
        made.git("config", setting.key, setting.value)
    said = made.git("diff")
    assert "+  ROOT %n = f32[8]{0} sine(%p)\n" in said
    assert "hlodiff is not where it was any more: run hlodiff git install" in said
    made.commit("sine")
    assert "+  ROOT %n = f32[8]{0} sine(%p)\n" in made.git("log", "-p", "-1")


def test_a_module_of_the_repository_is_not_run(made: Project) -> None:
    for name in ("yaml", "click", "json", "hlodiff"):
        (made.top / f"{name}.py").write_text("raise SystemExit('taken over')\n")
    assert "changed tanh -> sine" in made.git("diff", "--", COMPILED)


def test_records_are_told_in_words(made: Project) -> None:
    root = made.snapshots
    (root / "s").mkdir()
    functions = {"step": {"defined": "a.py:1", "traces": 1, "compiles": 1, "programs": ["9f2c"]}}
    record = {"format_version": 1, "scenario": "s", "jax": "0.10.2", "functions": functions}
    (root / "s/traces.yaml").write_text(yaml.safe_dump(record, sort_keys=False))
    made.commit("records")
    functions["step"]["traces"] = 2
    (root / "s/traces.yaml").write_text(yaml.safe_dump(record, sort_keys=False))
    assert "`step` is traced 2 times, before 1 time" in made.git("diff")


def test_a_report_names_lines_of_python_from_wherever_it_is_asked(made: Project) -> None:
    """Provenance lies beside the program; of an old one git does not say in which commit."""
    for opcode, line in (("cosine", 3), ("logistic", 5), ("tanh", 7)):
        made.record("f", opcode, line=line)
        made.commit(opcode)
    made.record("f", "sine", line=9)
    report = "changed {} -> {}  (8 flops, 64 B)  model.py:{} (step)\n"
    assert report.format("tanh", "sine", 9) in made.git("diff", "--", COMPILED)
    assert report.format("tanh", "sine", 9) in made.git(
        "diff", "--relative", "--", "f/cpu/compiled.hlo", at=made.snapshots
    )
    assert report.format("tanh", "logistic", 5) in made.git("diff", "HEAD", "HEAD~1", "--", COMPILED)
    assert report.format("logistic", "cosine", 3) in made.git("diff", "HEAD~1", "HEAD~2", "--", COMPILED)


def test_lines_that_are_lost_are_no_secret(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report without Python lines looks as if there were none: it says so where they could not be read."""
    made.record("f", "sine", line=12)
    made.commit("lines")
    made.record("f", "cosine", line=13)
    (made.snapshots / "f/cpu/source.json").write_text("<<<<<<< HEAD\n")
    assert "note: the Python lines of the new side are missing: source.json is damaged: it is not JSON" in made.git(
        "diff"
    )
