"""Traces and growth that `check` leaves for `accept`, `reject` and `review`, around a stand-in for the worker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hlodiff.capture import DiscoveredFunction, Discovery, GrowthResult, ScenarioRun, SizedProgram
from hlodiff.differ import QUANTITIES, Growth, growth_series
from hlodiff.snapshots import Key
from tests.test_cli_review import review
from tests.test_cli_scenarios import (
    Ask,  # the fixture
    Runner,  # the fixture
    events,  # the fixture
    recorded,  # the fixture
    runner,  # noqa: F401  # the fixture
)

PENDING = Path(".hlodiff/pending")


def pending(folder: Path = PENDING) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.yaml"))


@pytest.fixture
def changed(runner: Runner, said: Ask) -> Runner:  # noqa: F811
    """Both scenarios are recorded, then one is traced more often."""
    said("update")
    runner.now("one", 3, 5)
    return runner


def own_id(said: Ask) -> str:
    value = json.loads(said("check", "--format", "json")[1])
    (finding,) = value["findings"]
    assert finding["advice"] == f"hlodiff accept {finding['id']}"
    known = {one["name"]: one["id"] for one in value["scenarios"]}
    assert {own for own in known.values() if own} <= {finding["id"]}
    return str(finding["id"])


def test_check_leaves_the_traces_that_update_would_write(changed: Runner, said: Ask) -> None:
    before = recorded().read_bytes()
    code, out, _ = said("check")
    assert code == 1 and out.endswith("scenarios: 1 changed, 1 unchanged; next: hlodiff accept one\n")
    own = own_id(said)
    assert f"  hint: hlodiff accept {own}\n" in out and len(own) == 8
    assert recorded().read_bytes() == before, "check records nothing"
    assert pending() == ["one/traces.yaml"]
    assert said("accept", own[:5]) == (0, "one  traces  accepted (changed)\n1 accepted; next: git add snapshots\n", "")
    assert pending() == [] and said("check")[0] == 0
    accepted = recorded().read_bytes()
    recorded().unlink()
    said("update", "one")
    assert recorded().read_bytes() == accepted != before


def test_new_scenarios_are_accepted_all_at_once(runner: Runner, said: Ask) -> None:  # noqa: F811
    assert said("check")[1].endswith("next: hlodiff accept one two\n")
    code, _, err = said("accept")
    assert code == 2 and "2 records pending, and none was named" in err and "one, two" in err
    assert "one  traces  accepted (new)\n" in said("accept", "--everything")[1]
    assert said("check")[0] == 0


def test_names_classes_and_targets(runner: Runner, said: Ask) -> None:  # noqa: F811
    said("check")
    assert said("accept", "--class", "structure")[1] == "2 still pending; next: hlodiff review\n"
    code, _, err = said("accept", "--class", "trace")
    assert code == 2 and "did you mean `traces`?" in err
    assert "nothing is pending for target `tpu-v5e-2x2`" in said("accept", "--target", "tpu-v5e-2x2")[2]
    result = json.loads(said("review", "--reject", "o*", "--target", "cpu", "--format", "json")[1])
    assert [(p["name"], p["target"], p["status"]) for p in result["programs"]] == [("one", "traces", "rejected")]
    assert result["totals"]["pending"] == 1 and pending() == ["two/traces.yaml"]
    assert "1 accepted" in said("accept", "--class", "traces")[1]
    assert not recorded("one").exists() and recorded("two").exists()


def test_what_is_settled_is_pending_no_more(changed: Runner, said: Ask) -> None:
    said("check")
    changed.now("one", 3)
    said("check", "two")
    assert pending() == ["one/traces.yaml"], "not looked at"
    said("check")
    assert pending() == []
    changed.now("one", 3, 5)
    said("check")
    said("update")
    assert pending() == []
    changed.now("one", 3, 6)
    said("check")
    del changed.outcomes["one"]
    said("check")
    assert pending() == [], "no longer registered"


def test_another_jax_is_recorded_along(runner: Runner, said: Ask) -> None:  # noqa: F811
    said("update")
    runner.outcomes = {name: ScenarioRun(name, events(3), "0.11.0") for name in ("one", "two")}
    assert said("check")[0] == 0
    assert pending() == ["one/traces.yaml", "two/traces.yaml"]
    assert "one  traces  accepted (same, with other figures or paths)" in said("accept", "--class", "identical")[1]
    assert "jax: 0.11.0" in recorded().read_text()


def test_a_stale_record_is_refused(changed: Runner, said: Ask) -> None:
    said("check", "--pending", "captured")
    changed.now("one", 3, 7)
    said("update")
    before = recorded().read_bytes()
    code, out, _ = said("accept", "--from", "captured")
    assert code == 2 and recorded().read_bytes() == before
    assert out.startswith(
        "one  traces  refused\n  its record has changed since this was found\n  hint: hlodiff check one\n"
    )
    changed.now("one", 3, 5)
    said("update")
    assert "one  traces  recorded already" in said("accept", "--from", "captured")[1]
    recorded().write_text("functions: [\n")
    assert "one  traces  refused" in said("accept", "--from", "captured")[1]


def test_ci_records_only_when_told(changed: Runner, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    before = recorded().read_bytes()
    code, out, _ = said("check", "--pending", "captured")
    assert code == 1 and "  hint: hlodiff update one\n" in out and out.endswith("next: hlodiff update one\n")
    (finding,) = json.loads(said("check", "--format", "json", "--pending", "captured")[1])["findings"]
    assert len(finding["id"]) == 8 and finding["advice"] == "hlodiff update one"
    code, _, err = said("accept", "--from", "captured")
    assert code == 2 and "snapshots are not written in CI" in err and recorded().read_bytes() == before
    assert said("accept", "--from", "captured", "--ci-write")[0] == 0
    assert said("check")[0] == 0
    assert pending(Path("captured")) == ["one/traces.yaml"], "what was given stays as it is"


def text(old: str, new: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(file.read_text().replace(old, new))


def link(file: Path) -> None:
    Path("secret").write_text("key")
    file.unlink()
    file.symlink_to(Path("secret").absolute())


def large(file: Path) -> None:
    with file.open("ab") as opened:
        opened.truncate(200 * 1024 * 1024)


def note(content: str) -> Callable[[Path], object]:
    return lambda file: file.with_name("traces.pending.json").write_text(content)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            text("jax:", "run: !!python/object/apply:os.system ['touch executed']\njax:"),
            "tags (`!name`) are not allowed",
        ),
        (text("scenario: one", "scenario: ../one"), "they are about another scenario, or have"),
        (text("jax:", "more: 1\njax:"), "they are about another scenario, or have"),
        (text("traces: 2", "traces: .inf"), "`step` cannot be read: OverflowError"),
        (text("traces: 2", "traces: '2'"), "have missing or unknown fields"),
        (text("jax:", "# \x1b[31m<script>\njax:"), "YAML"),
        (text("jax:", "# <script>\njax:"), "is not as hlodiff writes it"),
        (text("format_version: 1", "format_version: 2"), "newer than this hlodiff reads"),
        (link, "is not a regular file"),
        (large, "bytes are more than hlodiff reads"),
        (note("[" * 4000), "is not JSON"),
        (note('{"format_version": 2}'), "was written by a newer hlodiff"),
        (lambda file: file.with_name("traces.pending.json").unlink(), "what this was compared with is unknown"),
    ],
)
def test_hostile_records_are_refused(changed: Runner, said: Ask, damage: Callable[[Path], object], words: str) -> None:
    changed.now("two", 4)
    said("check", "--pending", "captured")
    damage(Path("captured/one/traces.yaml"))
    before = recorded().read_bytes()
    code, out, err = said("accept", "--from", "captured")
    assert (code, err) == (2, "")
    assert "one  traces  refused" in out and words in out and "\x1b" not in out
    assert "two  traces  accepted" in out and recorded().read_bytes() == before
    assert not Path("executed").exists()


def test_records_are_not_written_through_links(changed: Runner, said: Ask) -> None:
    said("check")
    shutil.copytree("snapshots/one", "outside")
    shutil.rmtree("snapshots/one")
    Path("snapshots/one").symlink_to(Path("outside").absolute())
    before = Path("outside/traces.yaml").read_bytes()
    code, _, err = said("accept", "one")
    assert code == 2 and "is a link, and links are not followed" in err
    assert Path("outside/traces.yaml").read_bytes() == before


def test_review_shows_what_changed(changed: Runner, said: Ask) -> None:
    changed.now("two", 4)
    said("check")
    code, out = review("mar")
    assert code == 0, out
    assert "[1/2] one  traces (" in out and "`step` is traced 2 times, before 1 time" in out
    assert out.count("`x` is f32[5], before f32[3]") == 2, "m shows it once more"
    assert "one (traces): a accept" in out and "[2/2] two  traces (" in out
    assert out.rstrip().endswith("1 accepted, 1 rejected; next: git add snapshots")
    assert pending() == []


# --- growth ----------------------------------------------------------------------------------------------------------


class Grower:
    """Answers for the workers that lower a case at its sizes."""

    def __init__(self) -> None:
        self.counts = (50, 50, 50)

    def lowered(self, *_: object) -> Iterator[tuple[Key, GrowthResult]]:
        yield Key("walk", "", "cpu"), GrowthResult("walk", "", "cpu", (SizedProgram("n", ()),), {})

    def growth(self, *_: object) -> Growth:
        at = [dict.fromkeys(QUANTITIES, 100) | {"instructions": count} for count in self.counts]
        return Growth("walk", "cpu", "n", (8, 16, 32), growth_series((8, 16, 32), at))


@pytest.fixture
def grower(runner: Runner, said: Ask, monkeypatch: pytest.MonkeyPatch) -> Grower:  # noqa: F811
    """The growth of one case is recorded; there are no scenarios."""
    stand_in, found = Grower(), DiscoveredFunction("walk", "m", "m.py", 5, (), grown=("",))
    runner.outcomes = {}
    for name in ("check", "update"):
        monkeypatch.setattr(f"hlodiff.workflows.{name}.discover", lambda config: Discovery((found,)))
    monkeypatch.setattr("hlodiff.workflows.growth.capture_programs", stand_in.lowered)
    monkeypatch.setattr("hlodiff.workflows.growth.growth_of", stand_in.growth)
    for name in ("growth", "update"):
        monkeypatch.setattr(f"hlodiff.workflows.{name}.growing_keys", lambda *_: (Key("walk", "", "cpu"),))
    said("update")
    assert Path("snapshots/walk/growth.yaml").is_file()
    return stand_in


def test_growth_waits_and_is_accepted_as_update_would_write_it(grower: Grower, said: Ask) -> None:
    grower.counts = (50, 90, 170)
    code, out, _ = said("check")
    own = own_id(said)
    assert code == 1 and f"  hint: hlodiff accept {own}\n" in out and out.endswith("next: hlodiff accept walk\n")
    assert pending() == ["walk/growth.yaml"]
    code, shown = review("s", "walk")
    assert code == 0 and f"[1/1] walk  growth ({own}): with `n`: instructions linear, recorded as constant" in shown
    assert "  instructions: 50, 90, 170 (recorded: 50, 50, 50)" in shown
    assert said("accept", own)[1].startswith("walk  growth  accepted (changed)\n")
    assert said("check")[0] == 0 and pending() == []
    accepted = Path("snapshots/walk/growth.yaml").read_bytes()
    Path("snapshots/walk/growth.yaml").unlink()
    said("update")
    assert Path("snapshots/walk/growth.yaml").read_bytes() == accepted


def test_other_counts_of_the_same_class_pass_and_can_be_recorded(grower: Grower, said: Ask) -> None:
    grower.counts = (60, 60, 60)
    assert said("check")[0] == 0 and pending() == ["walk/growth.yaml"]
    assert "walk  growth  accepted (same, with other figures or paths)" in said("accept", "--class", "growth")[1]
    assert "values: [60, 60, 60]" in Path("snapshots/walk/growth.yaml").read_text()


def test_new_growth_is_rejected_by_name(grower: Grower, said: Ask) -> None:
    shutil.rmtree("snapshots")
    assert said("check")[1].endswith("next: hlodiff accept walk\n")
    assert "walk  growth  rejected" in said("review", "--reject", "walk")[1] and pending() == []
    assert not Path("snapshots/walk").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("function: walk", "function: ../walk", "they are about '../walk'"),
        ("class: linear", "class: cubic", "instructions have missing or unknown fields"),
        ("[50, 90, 170]", "[50, 90]", "instructions have missing or unknown fields"),
        ("[8, 16, 32]", "[8, 16, yes]", "is not as hlodiff writes it"),
        ("target: cpu", "target: cpu\nmore: 1", "they have missing or unknown fields"),
        ("class: linear", "class: linear\n      <b>: 1", "instructions have missing or unknown fields"),
    ],
)
def test_hostile_growth_is_refused(grower: Grower, said: Ask, old: str, new: str, words: str) -> None:
    grower.counts = (50, 90, 170)
    said("check", "--pending", "captured")
    text(old, new)(Path("captured/walk/growth.yaml"))
    before = Path("snapshots/walk/growth.yaml").read_bytes()
    code, out, err = said("accept", "--from", "captured")
    assert (code, err) == (2, "") and "walk  growth  refused" in out and words in out
    assert Path("snapshots/walk/growth.yaml").read_bytes() == before
