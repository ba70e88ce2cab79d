"""The diff driver: the report that `git diff` shows in place of the lines of a snapshot's file."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path, PurePosixPath
from typing import Any

from hlodiff.config import process_environment
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.errors import HlodiffError, StoreError, expected_error, one_line
from hlodiff.hlo import read_text
from hlodiff.hlo.model import PROGRAM_NAMES, Instruction, Module
from hlodiff.hlo.traversal import KINDS, multiplicities
from hlodiff.report.lines import clip, printable
from hlodiff.report.wording import format_bytes, format_pair, many
from hlodiff.snapshots import RECORDS, Key, marked_stale
from hlodiff.snapshots.keys import PYTEST, is_safe
from hlodiff.snapshots.read import STALE, refuse_conflict
from hlodiff.snapshots.yaml_format import FORMAT_VERSION, SUMMARY_VERSION, load_yaml
from hlodiff.workflows import load_if_any

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a snapshots folder.

    Args:
        path: path in git, from the top of the work tree.
        name: function and case, or scenario.
        target: target; "" for records without one.
        known: whether the project's configuration confirms it, not only the folder names.
    """

    path: str
    name: str
    target: str
    known: bool

    @property
    def file(self) -> str:
        """Name of the file itself."""
        return self.path.rpartition("/")[2]

    @property
    def again(self) -> str:
        """The command that records it again."""
        if self.name.startswith(f"{PYTEST}/"):
            return "pytest --hlodiff-update"
        return f"hlodiff update {self.name}" if self.known else "hlodiff update"


def named_file(path: str) -> NamedFile:
    """Find the program that a file belongs to.

    Args:
        path: path below the top of the work tree, which is the current folder of every driver.

    Returns:
        its names; derived from folder names if there is no configuration.

    Example:
        >>> named_file("no such/snapshots/f/cpu/compiled.hlo").name
        'f'
    """
    file = PurePosixPath(path)
    folders, known = _below_snapshots(file)
    if file.name in RECORDS.values():
        return NamedFile(path, "/".join(folders if known else folders[-1:]), "", known and all(map(is_safe, folders)))
    name = "/".join(folders[:-1] if known else folders[-2:-1])
    return NamedFile(path, name, folders[-1] if folders else "", known and all(map(is_safe, folders)))


def _below_snapshots(file: PurePosixPath) -> tuple[tuple[str, ...], bool]:
    """The folders between the snapshots folder and the file, and whether the configuration names that folder."""
    # During a merge, pyproject.toml may not be valid TOML.
    with contextlib.suppress(HlodiffError, OSError):
        config = load_if_any(Path(file.parent))
        if config is not None:
            whole = Path(file.parent).resolve()
            snapshots = config.snapshots.resolve()
            if whole.is_relative_to(snapshots):
                return whole.relative_to(snapshots).parts, True
    return file.parent.parts, False


# Imports here run once per file of `git log -p`, so the store is imported only when needed. The size limit is what a
# user waits for in a pager; `hlodiff diff` reads more.
LARGEST = 32 * 1024 * 1024
_LARGEST_SOURCE = 64 * 1024 * 1024
_LINK = "120000"
_PATIENCE = 2.0  # seconds for finding the commit of a blob


@dataclass(frozen=True, slots=True)
class GitSide:
    """One side of a diff.

    Args:
        path: path in git: from the top of the work tree, which is the current folder, or below that (`--relative`).
        place: path from the top, as far as it is known.
        file: temporary location of the content.
        blob: object id; zeros for the work tree.
        mode: mode as written by git; "." if the side does not exist.
    """

    path: str
    place: str
    file: Path
    blob: str
    mode: str

    @property
    def exists(self) -> bool:
        """Whether the file exists on this side."""
        return self.mode != "."

    def content(self) -> bytes | None:
        """The content, decompressed; None if it does not exist.

        Raises:
            StoreError: a link, a file too large for interactive use, or invalid gzip.
        """
        if not self.exists:
            return None
        if self.mode == _LINK:
            raise StoreError("is a link, and links are not followed", where=self.path)
        size = self.file.stat().st_size
        if size > LARGEST:
            raise StoreError(f"{format_bytes(size)} are more than is compared here", where=self.path)
        content = self.file.read_bytes()
        if self.path.endswith(".gz"):
            from hlodiff.snapshots import unpack

            content = unpack(content, self.path, LARGEST)
        return content

    def module(self, content: bytes) -> Module:
        """The program, with its Python lines if they are known.

        Args:
            content: content of the file.

        Raises:
            ReadError: it is not a program.
        """
        from hlodiff.hlo import read_bytes
        from hlodiff.snapshots import attach_source

        module = read_bytes(content, path=self.path.removesuffix(".gz"))
        return attach_source(module, self.source()[0].get(module.stage))

    def source(self) -> tuple[Mapping[str, Any], str]:
        """The source.json recorded with this content, and why its lines are missing.

        Returns:
            the table, empty if there is none; the reason, "" if nothing is wrong.
        """
        beside = f"{self.place.rpartition('/')[0]}/source.json"
        try:
            text = _beside(beside) if not self.blob.strip("0") else _recorded_with(self.place, self.blob, beside)
            if len(text) > _LARGEST_SOURCE:
                return {}, f"{format_bytes(len(text))} are more than is read here"
            value = json.loads(text) if text else {}
        except subprocess.TimeoutExpired:
            return {}, f"git took more than {_PATIENCE:g} s to find what was recorded with it"
        except FileNotFoundError:
            return {}, ""
        except OSError as error:
            return {}, f"cannot be read: {error.strerror}"
        except (ValueError, RecursionError):
            return {}, "is damaged: it is not JSON"
        return (value, "") if isinstance(value, dict) else ({}, "is damaged: it is not a table")


def _beside(path: str) -> bytes:
    """A file of the work tree; links and pipes are not read, and a large file only up to just above the limit."""
    file = Path(path)
    if not stat.S_ISREG(file.lstat().st_mode):
        return b""
    with file.open("rb") as opened:
        return opened.read(_LARGEST_SOURCE + 1)


def _recorded_with(path: str, blob: str, beside: str) -> bytes:
    """The file beside a blob. Git gives no commit: try the index, HEAD, and the last commit that touched the blob."""
    for listing in _listings(path, blob, beside):
        objects: dict[str, str] = {}
        for row in listing.split(b"\0"):  # `ls-files -s`: mode, id, stage, path; `ls-tree`: mode, kind, id, path
            head, tab, name = row.partition(b"\t")
            if tab:
                words = head.decode().split()
                objects[name.decode("utf-8", "surrogateescape")] = words[2] if words[1] == "blob" else words[1]
        if objects.get(path) == blob and beside in objects:
            size = _ask("cat-file", "-s", objects[beside]).decode().strip()
            if size.isdecimal() and int(size) > _LARGEST_SOURCE:
                raise OSError(errno.EFBIG, f"{format_bytes(int(size))} are more than is read here")
            return _ask("cat-file", "blob", objects[beside])
    return b""


def _listings(path: str, blob: str, beside: str) -> Iterator[bytes]:
    both = ["--", path, beside]
    yield _ask("ls-files", "-s", "-z", *both)
    yield _ask("ls-tree", "-z", "HEAD", *both)
    commit = _ask("log", "--all", "-1", "--format=%H", f"--find-object={blob}", "--", path).decode().strip()
    for revision in (commit, f"{commit}^") if commit else ():
        yield _ask("ls-tree", "-z", revision, *both)


def _ask(*arguments: str) -> bytes:
    """Output of a git command; empty if it fails.

    Raises:
        TimeoutExpired: it takes longer than a user waits.
    """
    try:
        done = subprocess.run(
            ["git", "--literal-pathspecs", *arguments], capture_output=True, check=False, timeout=_PATIENCE
        )
    except OSError:
        return b""
    return done.stdout if done.returncode == 0 else b""


def sides_of(arguments: Sequence[str]) -> tuple[GitSide, GitSide]:
    """Parse git's arguments for an external diff into both sides.

    Args:
        arguments: path, then file, id and mode of the old and the new side; for a rename also the new path.
    """
    path, old_file, old_blob, old_mode, new_file, new_blob, new_mode = arguments[:7]
    new_path = arguments[7] if len(arguments) > 7 else path
    # For a file in the work tree, git gives its location from the top.
    below_top = (file for file in (new_file, old_file) if file.endswith(f"/{path}") and not Path(file).is_absolute())
    above = next((file.removesuffix(path) for file in below_top), "")
    old = GitSide(path, above + path, Path(old_file), old_blob, old_mode)
    return old, GitSide(new_path, above + new_path, Path(new_file), new_blob, new_mode)


_BOLD, _PLAIN = "\x1b[1m", "\x1b[m"
_ABBREVIATED = 9
_MOST_OPCODES = 8
_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class _Look:
    """Width of the terminal, and whether git uses colors."""

    width: int
    color: bool


def external_diff(arguments: Sequence[str], width: int = 160, color: bool = False) -> str:
    """The output of the external diff.

    Args:
        arguments: git's arguments: only the path of a file in conflict, else both sides.
        width: columns of the terminal.
        color: whether to use colors if git's settings leave it open.

    Returns:
        text for the pager, colored if git uses colors.

    Example:
        >>> print(external_diff(["snapshots/f/cpu/summary.yaml"]), end="")
        * in conflict: snapshots/f/cpu/summary.yaml
          the snapshot is stale; once the code is merged: hlodiff update f
    """
    if len(arguments) < 7:
        named = named_file(arguments[0])
        path = printable(arguments[0])
        return f"* in conflict: {path}\n  the snapshot is stale; once the code is merged: {named.again}\n"
    old, new = sides_of(arguments)
    look = _Look(width, _git_shows_colors(color))
    head = list(_head(old, new, arguments[8] if len(arguments) > 8 else ""))
    titles = "".join(f"{_BOLD}{line}{_PLAIN}\n" if look.color else f"{line}\n" for line in head)
    if old.exists and new.exists and old.blob == new.blob:
        return titles
    try:
        named, contents = named_file(new.place), (old.content(), new.content())
        if contents[0] == contents[1]:
            return titles  # git has no id for a file in the work tree: only its mode has changed
        if named.file.endswith(".yaml"):
            return titles + "".join(f"  {printable(line)}\n" for line in format_facts(named, *contents))
        return titles + _report(named, (old, contents[0]), (new, contents[1]), look)
    except Exception as error:
        known = expected_error(error)
        why = f"hlodiff cannot report this: {known.headline}"
        shown = "".join(f"{printable(line)}\n" for line in (why, *([f"hint: {known.hint}"] if known.hint else [])))
        return titles + shown + _plain_diff(old, new)


def _head(old: GitSide, new: GitSide, renamed: str) -> Iterator[str]:
    """The lines that git itself prints before a file's diff."""
    yield f"diff --git a/{printable(old.path)} b/{printable(new.path)}"
    if not old.exists:
        yield f"new file mode {new.mode}"
    elif not new.exists:
        yield f"deleted file mode {old.mode}"
    elif old.mode != new.mode:
        yield f"old mode {old.mode}"
        yield f"new mode {new.mode}"
    if renamed:
        yield from (printable(line) for line in renamed.splitlines() if line and not line.startswith("index "))
    if old.blob != new.blob:
        # With this line `git apply` refuses the report; without it, it would silently drop the file.
        yield f"index {_short(old)}..{_short(new)}"


def _short(side: GitSide) -> str:
    return (side.blob if side.exists else "0" * _ABBREVIATED)[:_ABBREVIATED]


def _report(named: NamedFile, old: tuple[GitSide, bytes | None], new: tuple[GitSide, bytes | None], look: _Look) -> str:
    """The report of one program in the form of `hlodiff diff`, without totals of a run."""
    from hlodiff.differ import diff
    from hlodiff.differ.comparison import ProgramComparison
    from hlodiff.differ.metrics import op_counts
    from hlodiff.report.report import Report
    from hlodiff.report.text import to_terminal

    before, after = (side.module(content) if content is not None else None for side, content in (old, new))
    lost = {word: side.source()[1] for word, (side, content) in (("old", old), ("new", new)) if content is not None}
    notes = "".join(
        f"  note: the Python lines of the {word} side are missing: source.json {printable(why)}\n"
        for word, why in lost.items()
        if why
    )
    only = after or before
    assert only is not None
    config = load_if_any(Path(named.path).parent)
    if before is None or after is None:
        return f"  {'new' if before is None else 'deleted'}: {printable(_counted(op_counts(only)))}\n"
    found = diff(before, after, limits=Limits(**dict(config.limits)) if config else DEFAULTS)
    if found.identical:
        return "  the same program, written in another way\n"
    compared = ProgramComparison(named.name, named.target or None, after.stage, "changed", found)
    report = Report("diff", "", "", (compared,), root=str(config.root) if config else "")
    return to_terminal(report, width=look.width, color=look.color, footer=False, legend=False) + notes


def _counted(counts: Mapping[str, int]) -> str:
    """Number of operations, and the most frequent ones."""
    most = sorted(counts.items(), key=lambda item: -item[1])
    words = [f"{name} {count:,}" for name, count in most[:_MOST_OPCODES]]
    words += [f"{len(most) - _MOST_OPCODES} more kinds"] if len(most) > _MOST_OPCODES else []
    return f"{many(sum(counts.values()), 'operation')}: {', '.join(words)}"


def _git_shows_colors(default: bool) -> bool:
    """Git's own settings and its pager decide; NO_COLOR turns colors off in any case."""
    if process_environment().get("NO_COLOR"):
        return False
    terminal = str(sys.stdout is not None and sys.stdout.isatty()).lower()
    try:
        asked = ["git", "config", "--get-colorbool", "color.diff", terminal]
        done = subprocess.run(asked, capture_output=True, check=False)
    except OSError:
        return default
    return done.stdout.strip() == b"true"


def _plain_diff(old: GitSide, new: GitSide) -> str:
    """The lines that git would show without the driver, up to a readable number, without the header already printed."""
    command = ["git", "--no-pager", "diff", "--no-index", "--no-ext-diff", "--no-textconv", "--color=never", "--"]
    done = subprocess.run([*command, str(old.file), str(new.file)], capture_output=True, check=False)
    text = done.stdout.decode("utf-8", "backslashreplace")
    if "@@ " not in text:
        return "binary files differ\n"
    lines = text[text.index("@@ ") :].splitlines()
    more = len(lines) - _MOST_LINES
    lines = [
        *lines[:_MOST_LINES],
        *([f"... {more:,} more lines: `git diff --no-ext-diff` shows them"] if more > 0 else []),
    ]
    return "".join(f"{printable(line)}\n" for line in lines)


# Derived from the programs, whose own report is printed too.
_FOLLOWING = (
    "turns", "op_counts", "fusions", "placement", "collectives", "custom_calls", "metrics", "donation", "fingerprints",
)  # fmt: skip
_NOTHING = "(nothing)"


def format_facts(named: NamedFile, old: bytes | None, new: bytes | None) -> Iterator[str]:
    """The changes in a summary.yaml, traces.yaml or growth.yaml.

    Args:
        named: the file.
        old, new: its content; None on a side where it does not exist.

    Returns:
        lines.

    Raises:
        StoreError: a side is not valid YAML of hlodiff, or contains conflict markers.
        ValueError: a record is malformed.
    """
    for content in (old, new):
        refuse_conflict(content or b"", named.path, named.again)
    newest = SUMMARY_VERSION if named.file == "summary.yaml" else FORMAT_VERSION
    sides = [load_yaml(content.decode(), named.path, newest) if content is not None else {} for content in (old, new)]
    before, after = sides
    if STALE in after:
        yield f"stale: both sides of a merge had changed it, and ours was kept; next: {named.again}"
    if named.file == "summary.yaml":
        yield from _summary(before, after)
    elif new is None:
        yield "deleted"
    else:
        from hlodiff.workflows.pending import record_summary

        kind = named.file.removesuffix(".yaml")
        function, _, case = named.name.partition("/")
        shown = record_summary(Key(function, case, kind), old.decode() if old is not None else None, new.decode())
        yield shown.headline
        yield from (f"  {line}" for line in shown.details)


def _summary(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = dict(_leaves(old)), dict(_leaves(new))
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not old or not new:
        yield f"{'new' if not old else 'deleted'}: {_toolchain(old or new)}"
        return
    versions = before.get("format_version"), after.get("format_version")
    if versions[0] != versions[1]:
        yield f"counted differently since here (format {format_pair(_shown(versions[0]), _shown(versions[1]))})"
    shown = [name for name in names if _section(name) not in (*_FOLLOWING, STALE, "format_version")]
    wide = max(map(len, shown), default=0)
    yield from (f"{name:<{wide}}  {format_pair(_shown(before.get(name)), _shown(after.get(name)))}" for name in shown)
    following = [name for name in names if _section(name) in _FOLLOWING]
    if following:
        sections = ", ".join(dict.fromkeys(_section(name).replace("_", " ") for name in following))
        yield f"{'and ' if shown else ''}{many(len(following), 'derived figure')} ({sections})"


def _toolchain(table: Mapping[str, Any]) -> str:
    found = table.get("toolchain")
    versions = (
        [f"{name} {found[name]}" for name in ("jax", "jaxlib", "plugin") if found.get(name)]
        if isinstance(found, dict)
        else []
    )
    return f"recorded with {', '.join(versions)}" if versions else "no toolchain is recorded"


def _section(name: str) -> str:
    return name.partition(".")[0]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """All values that are not mappings, named by their keys; rows of a list by their `path`, or by their number."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        for number, row in enumerate(value):
            rest = {key: inner for key, inner in row.items() if key != "path"}
            yield from _leaves(rest, f"{name}[{row.get('path', number)}]")
    else:
        yield name, value


def _shown(value: Any) -> str:
    if value is None or value == []:
        return _NOTHING
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def textconv(file: Path) -> str:
    """A program as lines that git can compare; for an invalid program the error and the text itself.

    Args:
        file: temporary file with the content, under its original name.

    Returns:
        text ending in a newline.

    Raises:
        OSError: the file cannot be read.
    """
    side = GitSide(file.name, file.name, file, "", "100644")
    try:
        text = (side.content() or b"").decode("utf-8").replace("\r\n", "\n")
        return program_listing(read_text(text, path=file.name.removesuffix(".gz")), text) if text else ""
    except HlodiffError as error:
        why = error.headline
    except (UnicodeDecodeError, RecursionError) as error:
        why = f"{file.name}: {type(error).__name__}"
    return f"hlodiff cannot list this program: {printable(why)}\n{_as_text(file)}"


def _as_text(file: Path) -> str:
    size = file.stat().st_size
    if size > LARGEST:
        with file.open("rb") as stream:
            return f"{size:,} bytes, sha256 {file_digest(stream, 'sha256').hexdigest()}\n"
    content = file.read_bytes()
    if b"\0" in content[:8000]:
        return f"binary, {size:,} bytes, sha256 {sha256(content).hexdigest()}\n"
    return printable(content.decode("utf-8", "backslashreplace"), lines=True)


_CONFLICT = 1
_LONGEST_NAME = 200


def merge(ours: Path, path: str) -> int:
    """Keep one side of a file that both sides of a merge have changed.

    Args:
        ours: the file that git takes the result from; it contains our side.
        path: path of the result.

    Returns:
        1: git treats it as a conflict and stops. With 0 it would silently commit a program that neither side nor the
            merged code compiles to.

    Raises:
        OSError: the file cannot be read or written.
    """
    if path.endswith(".yaml") and ours.stat().st_size <= LARGEST:  # a larger file is refused when it is read
        ours.write_bytes(marked_stale(ours.read_bytes()))
        named = named_file(path)
        what = f"{named.name} on {named.target}" if named.target else f"{named.file} of {named.name or 'this folder'}"
        message = "hlodiff: both sides changed %s: ours is kept, marked stale; once the code is merged: %s"
        _LOG.info(message, clip(one_line(what), _LONGEST_NAME), named.again)
    return _CONFLICT


# --- A program as a listing that git can compare line by line: its arguments and results, and counts of its operations.

_PLACES = {
    "entry": "operations of the entry",
    "fusion": "operations in fusions",
    "loop": "operations in loops",
    "branch": "operations in branches",
    "reduction": "operations of reductions",
    "other": "operations elsewhere",
}
# Attributes that distinguish operations with the same opcode and type for a reader, besides their operands.
_LISTED = ("kind", "custom_call_target", "call_target_name", "direction", "comparison_direction", "replica_groups",
         "source_target_pairs", "sharding")  # fmt: skip
_SHORT = 24  # characters of a constant's value: scalars, not tables
_WIDE = 160
_ONLY = "content  (if nothing else changes, operands or attributes did: see `git diff` or `git log -p --ext-diff`)"


def program_listing(module: Module, text: str) -> str:
    """The listing that `git log -p` compares in place of a program's text.

    Args:
        module: a program of either stage.
        text: the text of the program; its hash is the last line, so that every change shows.

    Returns:
        sections with titles in column 0 and sorted, indented rows; ends in a newline.

    Example:
        >>> from hlodiff.hlo import read_text
        >>> hlo = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT a = f32[2] add(p, p)\\n}"
        >>> print(program_listing(read_text(hlo), hlo).rpartition("content")[0], end="")
        compiled HLO
          2 instructions in 1 computation
        arguments and results
          argument 0   f32[2]
          result 0     f32[2]
        operations of the entry
          add f32[2]  x1
    """
    return "".join(f"{clip(printable(line), _WIDE)}\n" for line in _lines(module, text))


def _lines(module: Module, text: str) -> Iterator[str]:
    yield PROGRAM_NAMES[module.stage]
    computations = many(len(module.computations), "computation")
    yield f"  {many(module.instruction_count(), 'instruction')} in {computations}"
    yield "arguments and results"
    yield from _interface(module)
    for kind, counts in _by_place(module).items():
        yield _PLACES[kind]
        yield from (f"  {words}  x{count:,}" for words, count in sorted(counts.items()))
    yield _ONLY
    yield f"  {sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _interface(module: Module) -> Iterator[str]:
    entry = module.entry_computation
    for number, index in enumerate(entry.parameters):
        one = entry.instructions[index]
        yield f"  argument {number:<3} {' '.join([one.shape.text, *_details(one)])}"
    for number, shape in enumerate(module.result_shapes):
        yield f"  result {number:<5} {shape.text}"
    for name in ("input_output_alias", "num_partitions", "replica_count"):
        if module.attribute(name):
            yield f"  {name.replace('_', ' ')} {module.attribute(name)}"


def _by_place(module: Module) -> dict[str, Counter[str]]:
    """Rows by kind of computation, multiplied by how often the computation is called."""
    found: dict[str, Counter[str]] = {}
    for computation, weight in zip(module.computations, multiplicities(module), strict=True):
        rows = Counter(
            " ".join([one.opcode, one.shape.text, *_details(one)])
            for one in computation.instructions
            if one.opcode not in BOOKKEEPING
        )
        for kind in KINDS:
            for words, count in rows.items() if weight.kinds.get(kind) else ():
                found.setdefault(kind, Counter())[words] += count * weight.kinds[kind]
    return {kind: found[kind] for kind in KINDS if kind in found}


def _details(one: Instruction) -> list[str]:
    attributes = [f"{name}={value}" for name, value in one.attributes if name in _LISTED]
    is_value = one.opcode == "constant" and one.literal and len(one.literal) <= _SHORT
    return [f"({one.literal})", *attributes] if is_value else attributes
