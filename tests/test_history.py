"""Histories read from git: rows, renames, merges, what cannot be read, and where history ends."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hlodiff.cli import run
from hlodiff.errors import StoreError, UsageError
from hlodiff.integrations.history import (
    History,
    HistoryRequest,
    ShownHistory,
    by_size,
    changes,
    crossings,
    find,
    history_csv,
    history_json,
    history_markdown,
    history_text,
    reading_of,
    values_on,
)
from hlodiff.integrations.history.commits import literally, objects, open_repository, revisions_of, touching
from hlodiff.snapshots import SUMMARY_VERSION, Key, marked_stale
from tests.past import Past


def history(past: Past, name: str, *metrics: str, target: str = "cpu", revision: str = "HEAD") -> History:
    asked = HistoryRequest(name, (target,), metrics, "compiled", revision)
    (found,) = find(asked, past.project, past.project / "snapshots").histories
    return found


def told(past: Past, one: History, metric: str = "temp_bytes") -> list[tuple[str, float | None, str]]:
    """Subject, value and notes of each commit, newest first."""
    (found,) = json.loads(history_json([ShownHistory(one, (metric,), "compiled")], "HEAD"))["histories"]
    commits = found["commits"]
    return [(one["subject"], one["new"][metric], past.named("; ".join(one["notes"]))) for one in commits]


def summary(one: History, metric: str) -> str:
    """A metric over the whole history, as the head of the report has it: `2 -> 3 (+50 %)`."""
    lines = history_text([ShownHistory(one, (metric,), "compiled")], width=200).splitlines()
    (shown,) = (line for line in lines if line.startswith(f"  {metric} "))
    return shown.split("  ")[-1]


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path / "a repository")


def test_values_before_and_after_each_commit(past: Past) -> None:
    past.record("step", "sine", temp=100)
    past.commit("one")
    (past.project / "README").write_text("text")
    past.commit("touches no snapshot")
    past.record("step", "sine", "copy", temp=300)
    past.commit("two")
    one = history(past, "step")
    assert told(past, one) == [("two", 300, ""), ("one", 100, "history begins here")]
    assert [(row.old_value("copies"), row.value("copies")) for row in one.rows] == [(0, 1), (None, 0)]
    assert [row.other_programs() for row in one.rows] == [("compiled",), ()]


def test_a_renamed_function_is_followed(past: Past) -> None:
    past.record("old_name", "sine", temp=100)
    past.commit("one")
    past.record("old_name", "cosine", temp=200)
    past.commit("two")
    shutil.rmtree(past.project / "snapshots/old_name")
    past.record("new_name", "cosine", temp=200)
    past.commit("rename")
    past.record("new_name", "tanh", temp=250)
    past.commit("three")
    assert told(past, history(past, "new_name")) == [
        ("three", 250, ""),
        ("rename", 200, "renamed from old_name"),
        ("two", 200, ""),
        ("one", 100, "history begins here"),
    ]
    assert told(past, history(past, "old_name"))[0] == ("rename", None, "renamed: continues as new_name")


def test_a_function_that_becomes_a_case_and_moves_is_followed(past: Past) -> None:
    past.record("step", "sine", temp=100)
    past.git("add", "-A")
    past.git("mv", "snapshots", "recorded")
    past.commit("one")
    past.git("mv", "recorded", "snapshots")
    past.commit("folder moved")
    shutil.rmtree(past.project / "snapshots/step")
    past.record("step/small", "sine", temp=100)
    past.commit("now a case")
    assert told(past, history(past, "step/small")) == [
        ("now a case", 100, "renamed from step"),
        ("folder moved", 100, "renamed from recorded"),
        ("one", 100, "history begins here"),
    ]


def test_another_program_under_another_name_is_not_followed(past: Past) -> None:
    past.record("first", "sine")
    past.commit("one")
    shutil.rmtree(past.project / "snapshots/first")
    past.record("second", "tanh")
    past.commit("replaced")
    said = "history begins here; the same commit removed first, another program"
    assert told(past, history(past, "second"), "fusions") == [("replaced", 2, said)]


def test_removed_and_recorded_again(past: Past) -> None:
    past.record("step", "sine", temp=100)
    past.commit("one")
    shutil.rmtree(past.project / "snapshots/step")
    past.commit("gone")
    past.record("step", "tanh", temp=300)
    past.commit("back")
    one = history(past, "step")
    assert told(past, one) == [
        ("back", 300, "recorded again"),
        ("gone", None, "removed"),
        ("one", 100, "history begins here"),
    ]
    assert [(old, new) for _, old, new in values_on(one, "temp_bytes")] == [(None, 100), (100, 300)]


def test_versions_that_cannot_be_read_are_rows(past: Past) -> None:
    folder = past.record("step", "sine", temp=100)
    past.commit("one")
    file = folder / "summary.yaml"
    whole = file.read_text()
    for subject, text in (
        ("conflict", f"<<<<<<< ours\n{whole}=======\n{whole}>>>>>>> theirs\n"),
        ("future", whole.replace("format_version: 1", "format_version: 7")),
        ("broken", "a: [\n"),
        ("stale", marked_stale(whole.encode()).decode()),
        ("tag", "!!python/object/apply:os.system [exit]\n"),
        ("bytes", "\udcff\n"),
    ):
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        past.commit(subject)
    file.unlink()
    file.symlink_to("../../../pyproject.toml")
    past.commit("link")
    file.unlink()
    file.write_text(whole)
    past.record("step", "tanh", temp=300)
    past.commit("healed")
    rows = {subject: (value, notes) for subject, value, notes in told(past, history(past, "step"))}
    assert rows["conflict"] == (
        None,
        "summary.yaml holds git conflict markers: it is neither side, so the snapshot is stale",
    )
    assert rows["future"] == (
        None,
        "summary.yaml cannot be read: format version 7 is newer than this hlodiff reads (up to 3)",
    )
    assert rows["stale"][1] == "summary.yaml is stale: both sides of a merge had changed it, and ours was kept"
    assert rows["broken"][1].startswith("summary.yaml cannot be read: broken YAML")
    assert rows["tag"][1].startswith("summary.yaml cannot be read: tags (`!name`) are not allowed")
    assert rows["bytes"][1] == "summary.yaml is not UTF-8 text: byte 0"
    assert rows["link"] == (None, "removed")
    assert rows["healed"] == (300, "recorded again")


def test_a_value_is_compared_with_the_newest_that_can_be_read(past: Past) -> None:
    folder = past.record("step", "sine", temp=100)
    past.commit("one")
    (folder / "summary.yaml").write_text("format_version: 7\n")
    past.commit("broken")
    (folder / "summary.yaml").unlink()
    past.record("step", "sine", temp=300)
    past.commit("healed")
    one = history(past, "step")
    assert told(past, one)[0] == ("healed", 300, "compared with c000000, the newest before it that can be read")
    assert [(c.old, c.new) for c in changes(one, "temp_bytes")] == [(100, 300)]


def test_another_toolchain_is_told_with_who_did_it(past: Past) -> None:
    past.record("step", "sine", jax="0.9.2")
    past.commit("one")
    past.record("step", "sine", "copy", jax="0.10.2")
    past.commit("upgrade")
    past.record("step", "sine", "copy", jax="0.10.3")
    past.commit("upgrade that changes nothing")
    past.record("step", "tanh", jax="0.11.0")
    past.commit("both")
    assert [notes for _, _, notes in told(past, history(past, "step"), "instructions")] == [
        "toolchain: jax 0.10.3 -> 0.11.0",
        "toolchain: jax 0.10.2 -> 0.10.3 (the same programs)",
        "toolchain: jax 0.9.2 -> 0.10.2 (StableHLO is the same, so the compiler did this)",
        "history begins here",
    ]


def test_what_changed_where_no_number_did(past: Past) -> None:
    past.record("step", "sine")
    past.commit("one")
    past.record("step", "tanh")
    past.commit("two")
    said = "these numbers are the same; StableHLO and compiled changed"
    assert told(past, history(past, "step"), "instructions")[0][2] == said


def test_a_number_that_is_recorded_from_now_on(past: Past) -> None:
    folder = past.record("step", "sine")
    past.commit("one")
    file = folder / "summary.yaml"
    file.write_text(file.read_text().replace("memory:\n", "memory:\n  peak: 7000\n"))
    past.commit("two")
    one = history(past, "step")
    assert told(past, one)[0] == ("two", 4096, "the same programs, recorded with peak_bytes")


def test_of_equal_changes_what_grew_comes_first(past: Past) -> None:
    for temp in (100, 200, 100):
        past.record("step", "sine", temp=temp)
        past.commit(f"temp {temp}")
    assert [change.new for change in by_size(changes(history(past, "step"), "temp_bytes"))] == [200, 100]


def merged(past: Past) -> None:
    past.record("step", "sine", temp=100)
    past.record("step", "sine", temp=100, target="cpu-2")
    past.commit("base")
    past.git("checkout", "-q", "-b", "side")
    past.record("step", "cosine", temp=200)
    past.commit("on the side")
    past.git("checkout", "-q", "main")


def test_a_merge_that_takes_a_branch_is_no_row(past: Past) -> None:
    merged(past)
    past.record("step", "tanh", temp=150, target="cpu-2")
    past.commit("meanwhile, another target")
    past.git("merge", "-q", "-m", "merge", "side")
    assert [row[:2] for row in told(past, history(past, "step"))] == [("on the side", 200), ("base", 100)]
    other = history(past, "step", target="cpu-2")
    assert [row[:2] for row in told(past, other)] == [("meanwhile, another target", 150), ("base", 100)]


def test_a_merge_with_a_version_of_its_own(past: Past) -> None:
    merged(past)
    past.record("step", "tanh", temp=150)
    past.commit("on main")
    past.git("merge", "-q", "side", check=False)
    past.record("step", "tanh", "copy", temp=260)
    past.commit("merge")
    one = history(past, "step")
    assert sorted(told(past, one)) == [
        ("base", 100, "history begins here"),
        ("merge", 260, "merge: neither parent's version"),
        ("on main", 150, ""),
        ("on the side", 200, "on a side branch: the merge has another version"),
    ]
    assert [(c.row.commit.subject, c.old, c.new) for c in changes(one, "temp_bytes")] == [
        ("on main", 100, 150),
        ("merge", 150, 260),
    ]


def test_a_shallow_clone_says_where_it_ends(past: Past, tmp_path: Path) -> None:
    for temp in (100, 200, 300, 400):
        past.record("step", "sine", temp=temp)
        past.commit(f"temp {temp}")
    past.git("clone", "-q", "--depth", "2", past.top.as_uri(), str(tmp_path / "shallow"))
    asked = HistoryRequest("step", (), (), "compiled", "HEAD")
    (one,) = find(asked, tmp_path / "shallow", tmp_path / "shallow/snapshots").histories
    ends = "history ends here: this clone is shallow; `git fetch --unshallow` brings the rest"
    assert told(past, one) == [("temp 400", 400, ""), ("temp 300", 300, ends)]
    with pytest.raises(StoreError, match="HEAD~3: no git revision or range") as error:
        find(HistoryRequest("step", (), (), "compiled", "HEAD~3"), tmp_path / "shallow", tmp_path / "shallow/snapshots")
    assert "git fetch --unshallow" in error.value.hint


def test_a_range_ends_without_a_beginning(past: Past) -> None:
    for temp in (100, 200, 300):
        past.record("step", "sine", temp=temp)
        past.commit(f"temp {temp}")
    one = history(past, "step", revision="HEAD~2..HEAD~1")
    assert told(past, one) == [("temp 200", 200, "")]
    assert one.rows[0].old_value("temp_bytes") == 100
    assert one.rows[0].ends == "range"


def test_metrics_that_no_summary_keeps_are_counted_in_the_programs(past: Past) -> None:
    past.record("step", "sine")
    past.commit("one")
    past.record("step", "sine", "copy", "copy")
    past.commit("two")
    one = history(past, "step", "entry.copies")
    assert [(row.old_value("entry.copies"), row.value("entry.copies")) for row in one.rows] == [(0, 2), (None, 0)]


def test_unknown_names_metrics_and_targets_say_what_there_is(past: Past) -> None:
    past.record("train_step", "sine")
    past.commit("one")
    for name, target, metrics, words in (
        ("train_stp", "cpu", (), "did you mean `train_step`"),
        ("train_step", "tpu*", (), "it is recorded on cpu"),
        ("train_step", "cpu", ("temp_byte",), "did you mean `temp_bytes`"),
        ("train_step", "cpu", ("op.sin",), "did you mean `op.sine`"),
        ("train_step", "cpu", ("lop.copies",), "there are instructions, ops"),
    ):
        with pytest.raises(UsageError) as error:
            history(past, name, *metrics, target=target)
        assert words in error.value.hint
    past.record("fresh", "sine")
    with pytest.raises(UsageError, match="the snapshot of fresh was never committed"):
        history(past, "fresh")


@pytest.mark.parametrize("revision", ["--all", "-n1", "no-such", "HEAD..no-such", "", "HEAD:snapshots"])
def test_revisions_that_are_none(past: Past, revision: str) -> None:
    past.commit("one")
    repository = open_repository(past.top, past.top / "snapshots")
    with pytest.raises(StoreError, match="no git revision or range"):
        revisions_of(repository, revision)


def test_settings_of_the_user_change_nothing(past: Past) -> None:
    past.record("step", "sine", temp=100)
    past.commit("one")
    plain = told(past, history(past, "step"))
    for setting in (
        "log.showRoot=false", "log.showSignature=true", "color.ui=always", "diff.relative=true", "diff.renames=copies",
        "log.follow=true", "core.quotePath=true", "log.decorate=full", "diff.noprefix=true", "format.pretty=raw",
        "log.date=relative", "diff.external=false", "log.diffMerges=separate",
    ):  # fmt: skip
        past.git("config", *setting.split("=", 1))
    assert told(past, history(past, "step")) == plain


def test_hostile_heads_are_no_rows(past: Past) -> None:
    past.record("step", "sine", temp=100)
    subject = "\x01" + "f" * 40 + " :100644 100644 \x1b[31m snapshots/step/cpu/summary.yaml"
    past.commit(subject)
    repository = open_repository(past.top, past.top / "snapshots")
    (touch,) = touching(repository, ["HEAD"], [literally("snapshots/step")])
    assert touch.commit.subject == subject
    assert len(touch.changes) == 4


def test_objects_that_are_not_there(past: Past) -> None:
    past.record("step", "sine")
    past.commit("one")
    repository = open_repository(past.top, past.top / "snapshots")
    names = ["HEAD:no such file", "0" * 40, "HEAD:snapshots", "HEAD:pyproject.toml"]
    found = objects(repository, [*names, *names], 1000)
    assert [type(found[name]) for name in names] == [str, str, str, bytes]
    assert objects(repository, ["HEAD:pyproject.toml"], 3)["HEAD:pyproject.toml"] == (
        "41 bytes are more than hlodiff reads (3)"
    )


def test_numbers_of_a_summary() -> None:
    summary = {
        "metrics": {"compiled": {"ops": 5, "ops.loop": 2}, "stablehlo": {"functions": 3}},
        "op_counts": {"compiled": {"copy": 1}},
        "fusions": {"kLoop": 2, "kInput": 1},
        "collectives": {"all-gather": {"count": 2, "bytes": 64, "async": 1}},
        "memory": {"temp": 8, "odd": float("nan")},
        "cost": {"flops": True},
    }
    content = yaml.safe_dump({"format_version": SUMMARY_VERSION, **summary}).encode()
    compiled = reading_of(content, "program", Key("f", "", "cpu"), "compiled").values
    wanted = {"ops": 5, "loop.ops": 2, "op.copy": 1, "fusions": 3, "fusions.kLoop": 2, "collectives.all-gather": 2,
              "collectives.all-gather.bytes": 64, "collective_bytes": 64, "async_collectives": 1, "temp_bytes": 8,
              "copies": 0}  # fmt: skip
    assert {name: compiled[name] for name in wanted} == wanted
    assert "flops" not in compiled
    assert reading_of(content, "program", Key("f", "", "cpu"), "stablehlo").values["lowered_functions"] == 3
    assert "fusions" not in reading_of(content, "program", Key("f", "", "cpu"), "stablehlo").values


def test_crossings_are_those_commits_that_crossed(past: Past) -> None:
    for temp in (100, 300, 150, 400, 500):
        past.record("step", "sine", temp=temp)
        past.commit(f"temp {temp}")
    found = changes(history(past, "step"), "temp_bytes")
    assert [c.new for c in crossings(found, 200, above=True)] == [400, 300]
    assert [c.new for c in crossings(found, 200, above=False)] == [150]


def test_words(past: Past) -> None:
    for name, sizes, words in (
        ("less", (1500000, 5000), "1.4 MiB -> 4.9 KiB (-99.7 %)"),
        ("more", (5000, 1500000), "4.9 KiB -> 1.4 MiB (300 times)"),
        ("from_none", (0, 3), "0 B -> 3 B"),
        ("little", (655360, 655424), "640.0 KiB -> 640.1 KiB (+64 B)"),
    ):
        for opcode, size in zip(("sine", "cosine"), sizes, strict=True):
            past.record(name, opcode, temp=size)
            past.commit(f"{name} {size}")
        one = history(past, name)
        assert summary(one, "temp_bytes") == words
    assert "640.1 KiB +64 B " in history_text([ShownHistory(one, ("temp_bytes",), "compiled")])
    assert reading_of(b"\xff", "scenario", Key("f", "", ""), "compiled").problem.startswith("is not a record of traces")


def test_where_a_shallow_clone_ends_in_a_branch_nothing_is_recorded_again(past: Past, tmp_path: Path) -> None:
    past.record("step", "sine", temp=100)
    past.commit("one")
    past.git("checkout", "-q", "-b", "side")
    past.record("step", "sine", "copy", temp=200)
    past.commit("on the side")
    past.git("checkout", "-q", "main")
    past.record("step", "cosine", temp=300)
    past.commit("on main")
    past.git("merge", "-q", "side", check=False)
    past.record("step", "cosine", "copy", temp=400)
    past.commit("merged")
    past.git("clone", "-q", "--depth", "2", past.top.as_uri(), str(tmp_path / "shallow"))
    asked = HistoryRequest("step", (), (), "compiled", "HEAD")
    (one,) = find(asked, tmp_path / "shallow", tmp_path / "shallow/snapshots").histories
    assert {row.commit.subject: row.again for row in one.rows} == {
        "merged": False, "on the side": False, "on main": False,
    }  # fmt: skip


def test_as_many_processes_for_many_commits_as_for_two(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    actual = subprocess.run

    def counted(command: object, **more: Any) -> object:
        started.append(command)
        return actual(command, **more)  # type: ignore[call-overload]

    counts = []
    for number in range(12):
        past.record("step", "sine", temp=100 + number)
        past.commit(f"commit {number}")
        if number in (1, 11):
            with monkeypatch.context() as patch:
                patch.setattr(subprocess, "run", counted)
                assert len(history(past, "step").rows) == number + 1
            counts.append(len(started))
            started.clear()
    assert counts[0] == counts[1] <= 14


STRANGE = ["3", "[1, {a: 2}]", "{a: 2026-01-01, 5: .nan, b: [x, {}]}", "{compiled: {ops: x}}", "null"]
TABLES = ("toolchain", "metrics", "fusions", "collectives", "memory", "op_counts", "fingerprints")


@pytest.mark.parametrize("value", STRANGE)
def test_summaries_of_strange_hands_are_told_in_every_form(past: Past, value: str) -> None:
    folder = past.record("step", "sine")
    past.commit("one")
    table = yaml.safe_load((folder / "summary.yaml").read_text())
    for key in TABLES:
        text = "".join(yaml.safe_dump({name: one}) for name, one in table.items() if name != key)
        (folder / "summary.yaml").write_text(f"{text}{key}: {value}\n")
        past.commit(f"strange {key}")
    shown = [ShownHistory(history(past, "step"), ("ops", "temp_bytes", "fusions", "op.sine"), "compiled")]
    assert len(json.loads(history_json(shown, "HEAD"))["histories"][0]["commits"]) == 1 + len(TABLES)
    for form in (history_text, history_markdown, history_csv):
        assert form(shown).count("strange ") == len(TABLES)


def recounted(past: Past) -> None:
    """The same programs as ever; a new hlodiff counts fusions differently, and one commit later a program changes."""
    past.record("step", "sine", fusions=13, temp=100)
    past.commit("one")
    past.record("step", "sine", "copy", fusions=12, temp=100)
    past.commit("two")
    past.record("step", "sine", "copy", fusions=2, temp=100, version=2)
    past.commit("Rewrite the summaries")
    past.record("step", "sine", "copy", "copy", fusions=3, temp=300, version=2)
    past.commit("four")


def test_where_counting_changed_no_change_of_a_number_is_reported(past: Past) -> None:
    recounted(past)
    one = history(past, "step", "fusions", "temp_bytes")
    assert [(row.old_value("fusions"), row.value("fusions")) for row in one.rows] == [
        (2, 3), (None, 2), (13, 12), (None, 13)
    ]  # fmt: skip
    assert [(row.old_value("temp_bytes"), row.value("temp_bytes")) for row in one.rows] == [
        (100, 300), (100, 100), (100, 100), (None, 100)
    ]  # fmt: skip
    assert [row.recounted for row in one.rows] == [False, True, False, False]
    assert [change.row.commit.subject for change in changes(one, "fusions")] == ["two", "four"]
    said = "counted differently since here (format 1 -> 2); numbers before are not comparable; the same programs"
    assert [notes for _, _, notes in told(past, one, "fusions")] == ["", said, "", "history begins here"]
    assert summary(one, "fusions") == "2 -> 3 (+50 %)"
    assert summary(one, "temp_bytes") == "100 B -> 300 B (+200 %)"
    shown = [ShownHistory(one, ("fusions",), "compiled")]
    for form in (history_text, history_markdown, history_csv):
        assert form(shown).count("counted differently since here") == 1
    commits = json.loads(history_json(shown, "HEAD"))["histories"][0]["commits"]
    assert [one["counted_differently"] for one in commits] == [False, True, False, False]


def test_what_is_counted_in_the_programs_now_is_counted_alike(past: Past) -> None:
    recounted(past)
    one = history(past, "step", "entry.copies")
    assert [(row.old_value("entry.copies"), row.value("entry.copies")) for row in one.rows] == [
        (1, 2), (1, 1), (0, 1), (None, 0)
    ]  # fmt: skip


def test_bisect_finds_no_commit_where_counting_changed(
    past: Past, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recounted(past)
    monkeypatch.chdir(past.project)

    def bisect(*arguments: str) -> str:
        run(["log", "step", "fusions", *arguments])
        return capsys.readouterr().out

    largest = bisect()
    assert "four" in largest and "Rewrite" not in largest
    below = bisect("--below", "5")
    assert "was below 5 since it is counted as it is now" in below
    assert "Rewrite" not in bisect("--change", "1%")
