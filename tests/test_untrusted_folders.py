"""What a pull request can bring, folders, links and names: nothing outside of the project is touched by it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hlodiff.errors import StoreError, UsageError
from hlodiff.snapshots import (
    Key,
    RecordedTraces,
    drop_record,
    keep_record,
    open_revision,
    remove_growth,
    remove_snapshot,
    remove_traces,
    write_growth,
    write_snapshot,
    write_traces,
    writing,
)
from hlodiff.tracing import TraceCounts
from hlodiff.workflows.record_run import INDEX, replacing
from hlodiff.workflows.revision import checked_out
from tests.test_cli_accept import (
    changed,  # noqa: F401  # the fixture
    contents,  # the fixture
)
from tests.test_cli_check import (
    EXP,  # the fixture
    Ask,  # the fixture
    Compiler,  # the fixture
    compiler,  # noqa: F401  # the fixture
)
from tests.test_cli_review import review
from tests.test_store import KEY, NEW, OLD, snapshot

pytestmark = pytest.mark.slow  # each test starts processes

COMMANDS: dict[str, Callable[[Ask], object]] = {
    "check": lambda said: said("check"),
    "check --pending": lambda said: said("check", "--pending", "elsewhere"),
    "update": lambda said: said("update"),
    "update --prune": lambda said: said("update", "--prune"),
    "accept": lambda said: said("accept", "--everything"),
    "accept --from": lambda said: said("accept", "--from", "captured"),
    "review": lambda said: review("aaa"),
    "reject": lambda said: said("review", "--reject", "--all"),
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder beside the project, laid out so that a snapshot, a pending program and a record would fit into it."""
    folder = tmp_path.parent / f"victim of {tmp_path.name}"
    for name in ("precious", "cpu/summary.yaml", "f/cpu/summary.yaml", "f/cpu/pending.json", "pending/f/cpu/mine"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    for name in ("growth.yaml", "f/growth.yaml", "f/traces.yaml", "f/traces.pending.json", "traces.pending.json"):
        (folder / name).write_text("mine")
    return folder


@pytest.fixture
def project(changed: Compiler, said: Ask) -> Compiler:  # noqa: F811
    """A project in git with something pending here and something that another machine has captured."""
    subprocess.run(["git", "init", "-q"], check=True)
    said("check")
    shutil.copytree(".hlodiff/pending", "captured")
    return changed


def brought(name: str) -> None:
    """An unfinished installation as a killed run would leave it, but out of a pull request."""
    folder = Path("snapshots/.partial", name)
    folder.mkdir(parents=True)
    for file in ("summary.yaml", "compiled.hlo", "precious", "evil"):
        (folder / file).write_text("evil")


@pytest.mark.parametrize("command", COMMANDS)
def test_unfinished_folders_out_of_a_pull_request_are_not_installed(
    project: Compiler, said: Ask, victim: Path, command: str
) -> None:
    before = contents(victim)
    for name in (f"..+..+{victim.name}.ready", f"f+..+..+..+{victim.name}.ready", f"{victim}.ready".replace("/", "+")):
        brought(name)
    brought("f+cpu.ready")
    Path("snapshots/.partial/g+small+cpu.ready").symlink_to(victim)
    COMMANDS[command](said)
    assert contents(victim) == before
    assert not any(
        content == b"evil" for name, content in contents(Path("snapshots")).items() if ".partial" not in name
    )
    assert not any(name.endswith("cpu/precious") for name in contents(Path("snapshots")))


LINKS = (
    "snapshots", "snapshots/f", "snapshots/f/cpu", "snapshots/.partial", ".hlodiff", ".hlodiff/pending",
    ".hlodiff/pending/f", ".hlodiff/pending/.partial", ".hlodiff/pending/.gitignore", "elsewhere", "elsewhere/f",
)  # fmt: skip


@pytest.mark.parametrize(
    ("link", "command"),
    [(link, command) for link in LINKS for command in COMMANDS if command != "review"]
    + [("snapshots/f", "review"), (".hlodiff", "review"), (".hlodiff/pending/f", "review")],
)
def test_nothing_is_written_or_deleted_through_links(
    project: Compiler, said: Ask, victim: Path, link: str, command: str
) -> None:
    before = contents(victim)
    place = Path(link)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(victim / "made" if place.name == ".gitignore" else victim)
    COMMANDS[command](said)
    assert contents(victim) == before
    assert sorted(path.name for path in victim.iterdir() if path.is_dir()) == ["cpu", "f", "pending"]


def test_a_link_on_the_way_is_said(project: Compiler, said: Ask, victim: Path) -> None:
    shutil.rmtree("snapshots")
    Path("snapshots").symlink_to(victim)
    for command in (("update",), ("accept", "--everything")):
        code, out, err = said(*command)
        assert (code, out) == (2, "")
        assert err == "error: snapshots: is a link, and links are not followed\nhint: git rm snapshots\n"


@pytest.mark.parametrize("link", ["snapshots/f", "snapshots/f/cpu"])
def test_check_advises_to_remove_a_link(project: Compiler, said: Ask, victim: Path, link: str) -> None:
    """Recording the function again writes through no link either."""
    shutil.rmtree(link)
    Path(link).symlink_to(victim)
    code, out, _ = said("check")
    assert code == 2 and f"{link}: is a link, and links are not followed\n  hint: git rm {link}\n" in out
    assert "hlodiff update" not in out
    Path(link).unlink()
    assert said("check")[0] == 1


@pytest.mark.parametrize("name", ["", "..", "/etc", "a\0b", "../../victim", "a//b", "a/../b", ".partial/x", "-x"])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    root = tmp_path / "a/snapshots"
    calls: list[Callable[[], object]] = [
        lambda: write_snapshot(root, snapshot().__class__(name, "", "cpu", {})),
        lambda: write_snapshot(root, snapshot().__class__("f", "", name, {})),
        lambda: remove_snapshot(root, Key("f", "c", name)),
        lambda: write_traces(root, RecordedTraces(name, "", TraceCounts(()))),
        lambda: write_growth(root, name, "", {"format_version": 1}),
        lambda: keep_record(root, Key(name, "", "traces"), {"format_version": 1}, None),
        lambda: drop_record(root, Key(name, "", "growth")),
        lambda: remove_traces(root, name),
        lambda: remove_growth(root, name, ""),
    ]
    for call in calls:
        with pytest.raises(StoreError):
            call()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".gitignore"] == []


def test_a_killed_run_is_finished_from_the_directory_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be exchanged, what the next run installs lies where no pull request can put anything."""
    module = sys.modules[writing.__wrapped__.__module__]  # type: ignore[attr-defined]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    root = tmp_path / "snapshots"
    write_snapshot(root, OLD)
    monkeypatch.setattr(module, "_exchange", lambda one, other: False)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_install_files", killed)
    with pytest.raises(KeyboardInterrupt), writing(root):
        write_snapshot(root, NEW)
    monkeypatch.undo()
    (ready,) = (tmp_path / ".git/hlodiff").rglob("*.ready")
    (ready / "evil").write_text("evil")
    (ready.with_name("..+..+victim.ready")).mkdir()
    with writing(root):
        pass
    assert not (root / ".partial").exists()
    written = contents(root)
    assert sorted(written) == [f"step/cpu/{name}" for name in ("compiled.hlo", "stablehlo.mlir", "summary.yaml")]
    assert b"round: new" in written["step/cpu/summary.yaml"]
    assert not list((tmp_path / ".git/hlodiff").iterdir())
    assert KEY.folder == "step/cpu"


@pytest.mark.slow
def test_the_pytest_plugin_installs_nothing_that_was_brought(tmp_path: Path) -> None:
    project, victim = tmp_path / "project", tmp_path / "victim"
    (project / "snapshots/pytest/.partial/..+..+..+victim.ready").mkdir(parents=True)
    (project / "snapshots/pytest/.partial/..+..+..+victim.ready/evil").write_text("evil")
    victim.mkdir()
    (victim / "precious").write_text("mine")
    (project / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m.py"]\n')
    (project / "test_it.py").write_text(
        "import hlodiff\n\ndef test_it(hlodiff_case):\n"
        "    hlodiff_case(hlodiff.Case(lambda x: x + 1, hlodiff.abstract((2,), 'float32')))\n"
    )
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for arguments in (["--hlodiff-update"], [], ["--hlodiff-update", "--hlodiff-prune"]):
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert contents(victim) == {"precious": b"mine"}
    assert any(name.endswith("compiled.hlo") for name in contents(project / "snapshots/pytest"))


@pytest.mark.parametrize("place", ["../victim", "..", "a/../../victim", "/tmp", ".git", ".git/hooks", "a/.GIT/x"])
@pytest.mark.parametrize("command", ["check", "update", "accept", "accept --from", "reject"])
def test_snapshots_outside_of_the_repository_are_refused(
    project: Compiler, said: Ask, victim: Path, place: str, command: str
) -> None:
    """The configuration is of the pull request too."""
    before, mine = contents(victim), contents(Path())
    Path("pyproject.toml").write_text(f'[tool.hlodiff]\nmodules = ["m.py"]\nsnapshots = "{place}"\n')
    result = COMMANDS[command](said)
    hint = "hint: name a folder inside it\n"
    assert result == (2, "", f"error: pyproject.toml: `snapshots` leads out of the repository\n{hint}")
    assert contents(victim) == before
    assert contents(Path()).keys() == mine.keys()


# --- what is written once: init, git install, record -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "arguments"),
    [
        ("pyproject.toml", ()),
        ("hlodiff_programs.py", ()),
        (".gitattributes", ()),
        (".github", ("--ci", "github")),
        (".github/workflows", ("--ci", "github")),
        (".github/workflows/hlodiff.yml", ("--ci", "github")),
        (".gitlab", ("--ci", "gitlab")),
        (".gitlab-ci.yml", ("--ci", "gitlab")),
    ],
)
def test_init_writes_nothing_through_links(
    link: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Ask
) -> None:
    project, victim = tmp_path / "project", tmp_path / "victim"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (victim / "workflows").mkdir(parents=True)
    (victim / "precious").write_text("[a]\n")
    before = contents(victim)
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(victim / ("made" if "." in Path(link).name[1:] else "."))
    monkeypatch.chdir(project)
    mine = contents(project)
    code, out, err = said("init", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {link}: is a link, and links are not followed\n")
    assert (contents(victim), contents(project)) == (before, mine), "nothing half done"


def test_init_opens_no_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Ask) -> None:
    """The name of its work in progress was the number of the process: a pull request can bring all of them."""
    project, victim = tmp_path / "project", tmp_path / "victim"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    victim.write_text("mine")
    for name in ("pyproject.toml", "hlodiff_programs.py", ".gitattributes"):
        (project / f".{name}.{os.getpid()}.part").symlink_to(victim)
    monkeypatch.chdir(project)
    assert said("init")[0] == 0
    assert victim.read_text() == "mine"


def test_init_keeps_the_mode_of_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Ask) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("[project]\nname = 'a'\n")
    Path("pyproject.toml").chmod(0o640)
    assert said("init")[0] == 0
    assert stat.S_IMODE(Path("pyproject.toml").stat().st_mode) == 0o640
    assert sorted(path.name for path in Path().iterdir()) == [".gitattributes", "hlodiff_programs.py", "pyproject.toml"]


def test_git_drivers_are_installed_through_no_link(project: Compiler, said: Ask, victim: Path) -> None:
    before = contents(victim)
    Path(".gitattributes").symlink_to(victim / "made")
    assert said("git", "install")[0] == 2
    Path(".gitattributes").unlink()
    shutil.rmtree("snapshots")
    Path("snapshots").symlink_to(victim)
    said("git", "install")
    said("git", "uninstall")
    assert contents(victim) == before


def test_a_recording_replaces_nothing_behind_a_link_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Ask
) -> None:
    """The default folder is one that nobody has named."""
    project, victim = tmp_path / "project", tmp_path / "victim"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    victim.mkdir()
    (victim / INDEX).write_text("{}")
    (victim / "precious").write_text("mine")
    (project / "recording").symlink_to(victim)
    monkeypatch.chdir(project)
    code, _, err = said("record", "--", "true")
    assert (code, err) == (2, "error: recording: is a link, and links are not followed\nhint: git rm recording\n")
    assert sorted(contents(victim)) == ["precious", INDEX]
    assert [path.name for path in tmp_path.iterdir()] != [] and not list(tmp_path.glob(".*.part"))


def test_a_folder_that_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    """Git takes a folder with the right files for a bare repository, and does what its configuration says."""
    inner = tmp_path / "project"
    subprocess.run(["git", "init", "-q", "--bare", str(inner)], check=True)
    found = subprocess.run(["git", "-C", str(inner), "rev-parse", "--git-dir"], capture_output=True, check=False)
    assert found.stdout == b".\n", "git still does that"
    with pytest.raises(StoreError, match="cannot use bare repository"):
        open_revision(inner, "HEAD", inner / "snapshots")
    with pytest.raises(UsageError), checked_out("HEAD", inner):
        pass


# --- what the user names: -o and --report ----------------------------------------------------------------------------


@pytest.fixture
def recorded(compiler: Compiler, said: Ask) -> Compiler:  # noqa: F811
    said("update")
    compiler.answers["g", "small", "cpu"] = EXP
    return compiler


WRITERS: dict[str, tuple[str, ...]] = {
    "check -o": ("check", "-o"),
    "check --report": ("check", "--report"),
    "list -o": ("list", "-o"),
    "accept -o": ("accept", "g*", "-o"),
}


def write(said: Ask, writer: str, file: str) -> tuple[int, str, str]:
    command = WRITERS[writer]
    if writer.startswith("accept"):
        said("check")
    return said(*command, f"text={file}" if command[-1] == "--report" else file)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_pipe_stays_a_pipe(recorded: Compiler, said: Ask, writer: str) -> None:
    os.mkfifo("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    write(said, writer, "pipe")
    reader.join(timeout=60)
    assert read and read[0].endswith(b"\n")
    assert stat.S_ISFIFO(os.lstat("pipe").st_mode)


@pytest.mark.parametrize("writer", WRITERS)
def test_links_are_followed_and_modes_kept(recorded: Compiler, said: Ask, writer: str) -> None:
    Path("folder").mkdir()
    target = Path("folder/target")
    target.write_text("an older and longer text\n" * 1000)
    target.chmod(0o640)
    owner = target.stat().st_ino
    Path("link").symlink_to(target)
    Path("second").symlink_to("link")
    assert write(said, writer, "second")[0] in (0, 1)
    assert Path("second").is_symlink() and Path("link").is_symlink()
    assert "older" not in target.read_text() and target.read_text().endswith("\n")
    assert (target.stat().st_mode & 0o777, target.stat().st_ino) == (0o640, owner)
    assert [path.name for path in Path().iterdir() if ".part" in path.name] == []


def test_a_link_to_nothing_makes_what_it_names(recorded: Compiler, said: Ask) -> None:
    Path("folder").mkdir()
    Path("dangling").symlink_to("folder/new")
    said("list", "-o", "dangling")
    assert Path("dangling").is_symlink() and Path("folder/new").is_file()


def test_what_is_open_already_goes_on_where_it_is(recorded: Compiler) -> None:
    # Never /dev/stdout here: what is tested for did replace it, for everybody on the machine, where root ran it.
    command = [sys.executable, "-m", "hlodiff", "diff", "snapshots", "snapshots"]
    script = (
        'echo first > log; { echo before; "$@" -o /proc/self/fd/1; echo after; } >> log; "$@" -o /dev/fd/7 7> seven'
    )
    done = subprocess.run(["sh", "-c", script, "sh", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = Path("log").read_text().splitlines()
    assert lines[:2] == ["first", "before"] and lines[-1] == "after" and len(lines) > 3
    assert Path("seven").read_text() == "\n".join(lines[2:-1]) + "\n"


def test_a_recording_behind_a_link_is_replaced_there(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    with replacing(link) as part:
        (part / INDEX).write_text("{}")
    assert link.is_symlink() and (folder / INDEX).is_file()


FULL = """
import resource, sys
from hlodiff.cli import run
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))  # as if the disk were full there
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("old", [None, "mine"])
def test_a_result_that_does_not_fit_leaves_what_is_there(recorded: Compiler, old: str | None) -> None:
    if old is not None:
        Path("file").write_text(old)
    command = [sys.executable, "-c", FULL, "10", "diff", "snapshots", "snapshots", "-o", "file"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    error = "error: file: cannot be written: File too large\nhint: make room on the disk, then try again\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", error)
    assert (Path("file").read_text() if Path("file").exists() else None) == old


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("/dev/full", "No space left on device"),
        ("snapshots", "Is a directory"),
        ("no/file", "No such file or directory"),
    ],
)
def test_where_no_result_can_be_written(recorded: Compiler, said: Ask, file: str, why: str) -> None:
    for writer in WRITERS:
        code, _, err = write(said, writer, file)
        assert code == 2
        if (writer, file) == ("check --report", "no/file"):
            assert "'--report': the folder of no/file does not exist" in err
            continue
        assert err.splitlines()[-2] == f"error: {file}: cannot be written: {why}"


def test_a_device_stays_a_device(recorded: Compiler, said: Ask) -> None:
    """A node of its own: what is tested for did replace /dev/null, for everybody, where root ran it."""
    try:
        os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    for writer in WRITERS:
        write(said, writer, "null")
    assert stat.S_ISCHR(os.lstat("null").st_mode)


def test_every_command_with_an_output_writes_it_the_same_way() -> None:
    """No file of the command line opens one by itself, but the one that knows how."""
    folder = Path(sys.modules["hlodiff"].__file__ or "").parent / "cli"
    opening = re.compile(r"\.write_text\(|\.write_bytes\(|open\(")
    found = [file.name for file in folder.glob("*.py") if opening.search(file.read_text())]
    # The first opens streams that were closed, the last the null device; neither opens a file.
    assert sorted(found) == ["__init__.py", "output.py", "review_command.py"]
