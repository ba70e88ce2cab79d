"""Checking a revision out beside the work tree: what is there, what git says, and that nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hlodiff.errors import UsageError
from hlodiff.workflows.revision import checked_out

Git = Callable[..., str]


def git(folder: Path, *arguments: str) -> str:
    options = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "init.defaultBranch=main",
    ]
    done = subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits in a folder whose name has a space; temporary folders of the command lie beside it."""
    folder = tmp_path / "a repository"
    folder.mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    git(folder, "init", "-q")
    commit(folder, "sub/a.txt", "one")
    commit(folder, "sub/a.txt", "two")
    return folder


def nothing_stays(repository: Path) -> None:
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not (repository / ".git/worktrees").exists() or not list((repository / ".git/worktrees").iterdir())
    assert list((repository.parent / "temporary").iterdir()) == []
    assert git(repository, "stash", "list") == ""


def test_a_revision_is_there_and_goes(repository: Path) -> None:
    (repository / "untracked.txt").write_text("mine")
    (repository / "sub/a.txt").write_text("edited")
    with checked_out("HEAD~1", repository / "sub") as checkout:
        assert (checkout.folder / "sub/a.txt").read_text() == "one"
        assert not (checkout.folder / "untracked.txt").exists()
        assert checkout.counterpart(repository / "sub") == checkout.folder / "sub"
        assert checkout.label == f"HEAD~1 ({checkout.commit[:7]})"
        assert checkout.notes == ()
    assert (repository / "sub/a.txt").read_text() == "edited"
    nothing_stays(repository)


def test_a_detached_head_and_a_hook(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    hook = repository / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    with checked_out("main", repository) as checkout:
        assert (checkout.folder / "sub/a.txt").read_text() == "two"
    assert not (tmp_path / "ran").exists()
    nothing_stays(repository)


def test_inside_a_hook_of_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = repository / ".git/index"
    before = index.read_bytes()
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    monkeypatch.setenv("GIT_WORK_TREE", str(repository))
    with checked_out("HEAD~1", repository) as checkout:
        assert (checkout.folder / "sub/a.txt").read_text() == "one"
    assert index.read_bytes() == before
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name)
    nothing_stays(repository)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_put_everything_away(repository: Path, number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), checked_out("HEAD", repository) as checkout:
        assert checkout.folder.is_dir()
        os.kill(os.getpid(), number)
        signal.pause()
    nothing_stays(repository)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_read_only_file_and_a_new_one_in_the_checkout(repository: Path) -> None:
    with checked_out("HEAD", repository) as checkout:
        (checkout.folder / "sub/made.txt").write_text("by an import")
        (checkout.folder / "sub/a.txt").chmod(0o400)
    nothing_stays(repository)


def test_where_this_branch_left(repository: Path) -> None:
    base = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qb", "mine")
    commit(repository, "b.txt", "mine")
    git(repository, "checkout", "-q", "main")
    commit(repository, "c.txt", "theirs")
    git(repository, "checkout", "-q", "mine")
    with checked_out("main...", repository) as checkout:
        assert checkout.commit == base


def test_submodules_are_filled(repository: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    commit(library, "code.py", "first")
    git(repository, "submodule", "add", "-q", str(library), "lib")
    git(repository, "commit", "-qm", "with a submodule")
    commit(library, "code.py", "second")
    git(repository / "lib", "pull", "-q", "origin", "main")
    git(repository, "commit", "-qam", "a later submodule")
    with checked_out("HEAD~1", repository) as checkout:
        assert (checkout.folder / "lib/code.py").read_text() == "first"
        assert checkout.notes == ()
    assert (repository / "lib/code.py").read_text() == "second"
    assert git(repository, "status", "--short") == "" and git(repository / "lib", "status", "--short") == ""
    git(repository, "submodule", "deinit", "-q", "--force", "lib")
    with checked_out("HEAD", repository) as checkout:
        assert checkout.notes == ("submodule lib of HEAD is not here: `git submodule update --init --recursive`",)
    nothing_stays(repository)


@pytest.mark.parametrize("spec", ["nowhere", "--help", "", "-x", "nowhere..."])
def test_no_such_revision(repository: Path, spec: str) -> None:
    with pytest.raises(UsageError, match="no git revision is called"), checked_out(spec, repository):
        pass
    nothing_stays(repository)


def test_a_shallow_clone(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", str(clone))
    words = "no git revision is called 'HEAD~1' here"
    with pytest.raises(UsageError, match=words) as caught, checked_out("HEAD~1", clone):
        pass
    assert "this clone is shallow" in caught.value.hint
    with checked_out("HEAD", clone) as checkout:
        assert (checkout.folder / "sub/a.txt").read_text() == "two"


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is not a git repository"), checked_out("HEAD", tmp_path):
        pass
