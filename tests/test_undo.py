"""Undoing a decision of a review: every file is what it was before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.errors import StoreError
from hlodiff.snapshots import FolderTree, Key, back_up, drop_record, holding, keep_record, read_record, restore
from hlodiff.workflows import Freshness, PendingReview, Selection, find_pending, load, pending_folder
from tests.test_cli_accept import changed, contents  # noqa: F401  # the fixture
from tests.test_cli_check import Ask, Compiler, compiler  # noqa: F401  # the fixture


@pytest.fixture
def review(changed: Compiler, said: Ask, tmp_path_factory: pytest.TempPathFactory) -> PendingReview:  # noqa: F811
    said("check")
    config = load(Path())
    copies = tmp_path_factory.mktemp("copies")
    return PendingReview(config, pending_folder(config), Freshness(config, False, False), copies)


def test_each_step_is_undone_byte_for_byte(review: PendingReview) -> None:
    moments = [contents(Path())]
    groups = review.groups(find_pending(review.config, review.root, Selection(everything=True)).programs)
    for (_, group), accepts in zip(groups, (True, False, True), strict=True):
        review.begin()
        if accepts:
            review.accept(group)
        else:
            review.reject((one.key, one.id) for one in group)
        moments.append(contents(Path()))
    assert len({tuple(moment.items()) for moment in moments}) == 4, "each step changed files"
    assert [one.status for one in review.decisions] == ["accepted", "accepted", "rejected", "accepted"]
    assert review.undo() == (Key("h", "", "cpu"),) and contents(Path()) == moments[2]
    assert not Path("snapshots/h").exists(), "it had no snapshot"
    assert review.undo() == (Key("g", "small", "cpu"),) and contents(Path()) == moments[1]
    assert len(review.undo()) == 2 and contents(Path()) == moments[0]
    assert review.decisions == []


def test_what_changed_since_is_not_overwritten(review: PendingReview) -> None:
    (_, group), *_ = review.groups(find_pending(review.config, review.root, Selection(("f",))).programs)
    review.begin()
    review.accept(group)
    summary = Path("snapshots/f/cpu/summary.yaml")
    summary.write_text(summary.read_text() + "# by hand\n")
    with pytest.raises(StoreError, match="has changed since it was decided on"):
        review.undo()
    assert summary.read_text().endswith("# by hand\n") and len(review.decisions) == 2


def test_records_and_links(tmp_path: Path) -> None:
    root, copies, key = tmp_path / "pending", tmp_path / "copies", Key("steps", "", "traces")
    copies.mkdir()
    empty = back_up(root, key, copies)
    keep_record(root, key, {"format_version": 1}, None)
    full, before = back_up(root, key, copies), contents(root)
    drop_record(root, key)
    assert not (root / "steps").exists()
    with holding(root):
        restore(full)
    assert contents(root) == before and read_record(FolderTree(root), key).base == ""
    with holding(root):
        restore(empty)
    assert not (root / "steps").exists()
    (root / "f/cpu").mkdir(parents=True)
    (root / "f/cpu/summary.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="holds a link"):
        back_up(root, Key("f", "", "cpu"), copies)
