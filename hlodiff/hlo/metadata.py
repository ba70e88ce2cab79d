"""Debug information of HLO text: the four tables before the first computation, and `metadata={...}`.

Both forms are read: tables with `stack_frame_id`, and the older inline `source_file=`/`source_line=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from hlodiff.hlo.grammar import STRING, unquote
from hlodiff.hlo.model import Frame, Instruction

_ROW = re.compile(r"(\d{1,18}) (.*)")
_PAIR = re.compile(rf'(?<!\w)([A-Za-z_]\w*+)=({STRING}|\{{[^{{}}]*\}}|[^\s{{}}"]+)')
_NUMBER = re.compile(r"(?<!\w)(\w++)=(\d{1,18})(?!\d)")
# Rows and metadata as XLA prints them today: matching every key and value takes twice as long.
_LOCATION = re.compile(
    r"\{file_name_id=(\d{1,18}) function_name_id=(\d{1,18}) line=(\d{1,18})"
    r"(?: (?:end_line|column|end_column)=\d{1,18})*+\}"
)
_FRAME = re.compile(r"\{file_location_id=(\d{1,18}) parent_frame_id=(\d{1,18})\}")
_SCOPE_AND_FRAME = re.compile(r'\{op_name="([^"\\]*+)"(?: stack_frame_id=(\d{1,18}))?\}')
_SCOPE_AND_PLACE = re.compile(
    r'\{op_name="([^"\\]*+)" source_file="([^"\\]++)" source_line=(\d{1,18})'
    r"((?: source_(?:end_line|column|end_column)=\d++)*+)\}"
)

REMATERIALISED = "rematted_computation"
"""In the scope of what a backward pass computes again, as `jax.checkpoint` tells it to."""


@dataclass
class FrameTable:
    """The tables `FileNames`, `FunctionNames`, `FileLocations` and `StackFrames`, filled as they are read."""

    names: dict[str, dict[int, str]] = field(default_factory=dict)
    numbers: dict[str, dict[int, dict[str, int]]] = field(default_factory=dict)
    inline: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, table: str, line: str) -> bool:
        """Add one row; returns False if the line is not a row."""
        row = _ROW.match(line)
        if row is None:
            return False
        if table in ("FileNames", "FunctionNames"):
            self.names.setdefault(table, {})[int(row[1])] = unquote(row[2].strip())
            return True
        if place := _LOCATION.fullmatch(row[2]):
            numbers = {"file_name_id": int(place[1]), "function_name_id": int(place[2]), "line": int(place[3])}
        elif frame := _FRAME.fullmatch(row[2]):
            numbers = {"file_location_id": int(frame[1]), "parent_frame_id": int(frame[2])}
        else:
            numbers = {key: int(value) for key, value in _NUMBER.findall(row[2])}
        self.numbers.setdefault(table, {})[int(row[1])] = numbers
        return True

    def frame_of_id(self, frame_id: int) -> int:
        """Index in `frames()` of a stack frame id; -1 if the table lacks it."""
        return self._stack[frame_id][0] if frame_id in self._stack else -1

    @cached_property
    def _stack(self) -> dict[int, tuple[int, int]]:
        """For each stack frame id its index in `frames()` and the id of its parent.

        XLA prints the parent's id plus one, so that 1 is "none" (seen in jaxlib 0.9 and 0.10: frame 1 has parent 1,
        frame 2 has parent 2). Where frame 1 has parent 0 or none the ids are plain. A place that calls itself is one
        frame: JAX 0.11 names a call of `scan` once more for what its body does.
        """
        rows = self.numbers.get("StackFrames", {})
        shift = int(any(key == row.get("parent_frame_id") for key, row in rows.items()))
        found: dict[int, tuple[int, int]] = {}
        for n, (key, row) in enumerate(rows.items()):
            parent = row.get("parent_frame_id", 0) - shift
            is_same = rows.get(parent, {}).get("file_location_id") == row.get("file_location_id")
            found[key] = (found[parent][0] if is_same and parent in found else n), parent
        return found

    def frame_of_place(self, file: str, line: int) -> int:
        """Index in `frames()` of an inline `source_file` and `source_line`."""
        first = len(self.numbers.get("StackFrames", {}))
        return self.inline.setdefault((file, line), first + len(self.inline))

    def frames(self) -> tuple[Frame, ...]:
        """All frames, those of the tables first."""
        files, functions = self.names.get("FileNames", {}), self.names.get("FunctionNames", {})
        places, frames = self.numbers.get("FileLocations", {}), []
        for key, row in self.numbers.get("StackFrames", {}).items():
            place = places.get(row.get("file_location_id", 0), {})
            file, function = (
                files.get(place.get("file_name_id", 0), ""),
                functions.get(place.get("function_name_id", 0), ""),
            )
            frames.append(Frame(file, place.get("line", 0), function, self.frame_of_id(self._stack[key][1])))
        return (*frames, *(Frame(file, line, "") for file, line in self.inline))


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 19


def read_metadata(text: str, table: FrameTable) -> tuple[str, int, str]:
    """Read `{op_name="..." stack_frame_id=5 ...}`: scope, frame index, and everything else verbatim."""
    if not text:
        return "", -1, ""
    plain = _SCOPE_AND_FRAME.fullmatch(text)
    if plain is not None:
        return plain[1], table.frame_of_id(int(plain[2])) if plain[2] else -1, ""
    placed = _SCOPE_AND_PLACE.fullmatch(text)
    if placed is not None:
        return placed[1], table.frame_of_place(placed[2], int(placed[3])), placed[4].lstrip()
    op_name, file, line, frame = "", "", 0, -1
    rest: list[str] = []
    for key, value in _PAIR.findall(text):
        if key == "op_name":
            op_name = unquote(value)
        elif key == "stack_frame_id" and _is_number(value):
            frame = table.frame_of_id(int(value))
        elif key == "source_file":
            file = unquote(value)
        elif key == "source_line" and _is_number(value):
            line = int(value)
        else:
            rest.append(f"{key}={value}")
    if frame < 0 and file:
        frame = table.frame_of_place(file, line)
    return op_name, frame, " ".join(rest)


# The path after one of these is the same on every machine. Programs from other machines and systems are read too.
_PACKAGES = re.compile(r".*?(?:^|[/\\])(?:site-packages|dist-packages)[/\\](?!.*[/\\](?:site|dist)-packages[/\\])")
_PYTHON = re.compile(r".*(?:^|[/\\])(?=python3\.\d+[/\\])")
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
# The portable prefix of an installed package's path.
INSTALLED = "site-packages/"


def portable_file(file: str, root: str = "") -> str:
    """A file path that does not depend on the machine: relative to the project or to site-packages, else the file name.

    Args:
        file: a path of this or another machine, or a portable path.
        root: the project folder; files below it become relative to it. "" if there is none.

    Returns:
        a path with `/`; in packages it starts with `site-packages/`, in Python's library with its version.

    Example:
        >>> portable_file("/srv/project/model.py", "/srv/project"), portable_file("/srv/other/model.py")
        ('model.py', 'model.py')
        >>> portable_file("/srv/project/.venv/lib/python3.11/site-packages/equinox/nn/_mlp.py", "/srv/project")
        'site-packages/equinox/nn/_mlp.py'
    """
    # Packages first: a virtual environment often lies inside the project, and below a folder of Python's name.
    for pattern, head in ((_PACKAGES, INSTALLED), (_PYTHON, "")):
        match = pattern.match(file)
        if match:
            return head + file[match.end() :].replace("\\", "/")
    plain, base = file.replace("\\", "/"), root.replace("\\", "/").rstrip("/") + "/"
    if root and plain.startswith(base):
        return plain[len(base) :]
    return plain.rpartition("/")[2] if _ABSOLUTE.match(file) else plain


@lru_cache(maxsize=10_000)
def shown_file(file: str, root: str = "") -> str:
    """A file as reports show it: for a package, the path begins with the package name.

    Example:
        >>> shown_file("/venv/lib/python3.11/site-packages/diffrax/_integrate.py")
        'diffrax/_integrate.py'
    """
    return portable_file(file, root).removeprefix(INSTALLED)


@lru_cache(maxsize=10_000)
def is_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python itself, rather than to the user.

    Example:
        >>> is_library("/usr/lib/python3/dist-packages/jax/a.py"), is_library("python3.11/functools.py")
        (True, True)
    """
    return bool(_PACKAGES.match(file) or _PYTHON.match(file)) or file.startswith("<")


def own_frame(source: Iterable[Frame]) -> Frame | None:
    """The innermost frame of the user's own code, or the innermost frame if all are in libraries.

    Args:
        source: a stack, innermost first. JAX traces a helper once, so the stack of a later call is that call's own
            frames followed by the whole stack of the first trace; then the lines of the later call count.

    Example:
        >>> own_frame((Frame("site-packages/jax/nn.py", 9, "gelu"), Frame("model.py", 31, "loss"))).file
        'model.py'
        >>> first, call = Frame("model.py", 13, "cell"), Frame("model.py", 14, "cell")
        >>> own_frame((first, Frame("model.py", 20, "turn"), call, Frame("model.py", 20, "turn"))).line
        14
        >>> norm, of_body = Frame("model.py", 25, "norm"), Frame("model.py", 55, "attention")
        >>> own_frames((norm, Frame("model.py", 96, "decoder"), norm, of_body)) == (norm, of_body)
        True
    """
    frames = tuple(source)
    return next(iter(own_frames(frames)), frames[0] if frames else None)


def own_place(source: Iterable[Frame]) -> tuple[str, int] | None:
    """File and line of `own_frame`; None for an empty stack."""
    frame = own_frame(source)
    return (frame.file, frame.line) if frame else None


def own_frames(source: Iterable[Frame]) -> tuple[Frame, ...]:
    """All frames of the user's own code, innermost first, without those of an earlier call.

    Example:
        >>> own_frames((Frame("site-packages/jax/nn.py", 9, "gelu"), Frame("model.py", 31, "loss")))[0].line
        31
    """
    return tuple(frame for frame in _of_this_call(tuple(source)) if not is_library(frame.file))


def package_frame(source: Iterable[Frame], packages: Sequence[str]) -> tuple[Frame | None, Frame | None]:
    """The innermost frame in the user's own code or in one of `packages`, and the user's frame that called it.

    Args:
        source: a stack, innermost first.
        packages: import names.

    Returns:
        the frame of `own_frame`, or a frame in one of the packages; then its caller, None if the first is the user's
        own code.

    Example:
        >>> at = (("site-packages/jax/a.py", 9), ("site-packages/optax/b.py", 3), ("net.py", 12))
        >>> stack = tuple(Frame(file, line, "f") for file, line in at)
        >>> [frame.file for frame in package_frame(stack, ["optax"])]
        ['site-packages/optax/b.py', 'net.py']
    """
    frames = _of_this_call(tuple(source)) if packages else ()
    heads = tuple(f"{INSTALLED}{package}/" for package in packages)
    for position, frame in enumerate(frames):
        if not is_library(frame.file):
            return frame, None
        if portable_file(frame.file).startswith(heads):
            return frame, next((one for one in frames[position:] if not is_library(one.file)), None)
    return own_frame(source), None


def _of_this_call(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Drop the part of a stack that repeats it, innermost first.

    A repetition begins where a frame occurs again, or where the outermost function or the one before it occurs with
    another line. From there on, lines of functions that follow in the same order as before are dropped. A function that
    calls itself once looks the same: its line is that of the call.

    The body of a scan has a stack of its own, which the first trace may not begin with. Where the user's innermost line
    was there before, everything since then is of the first trace.
    """
    known: list[Frame] = []  # outermost first
    lines: dict[tuple[str, str, int], int] = {}  # first position of each
    at = -1  # how far the repetition has advanced along `known`
    for frame in reversed(frames):
        function, line = (frame.file, frame.function), (frame.file, frame.function, frame.line)
        if line in lines:
            at = lines[line] + 1
        elif 0 <= at < len(known) and _function(known[at]) == function:
            at += 1
        elif known and at == len(known) and function == _function(known[-1]):  # it called itself before
            lines[line] = len(known)
            known.append(frame)
            at = -1
        elif known and function == _function(known[0]) and not _is_ambiguous(frame):
            at = 1
        elif known and at < 0 and function == _function(known[-1]) and not _is_ambiguous(frame):
            at = len(known)
        else:
            lines[line] = len(known)
            known.append(frame)
            at = -1
    inner = next((frame for frame in frames if not is_library(frame.file)), None)
    if inner is not None:
        first = lines.get((inner.file, inner.function, inner.line), len(known)) + 1
        later = next((n for n in range(first, len(known)) if not is_library(known[n].file)), len(known))
        del known[later:]
    known.reverse()
    return tuple(known)


def _is_ambiguous(frame: Frame) -> bool:
    """Whether several functions of a file may have this name: lambdas, and methods without their class."""
    name = frame.function
    return (name.endswith(">") and name != "<module>") or (name.startswith("__") and "." not in name)


def _function(frame: Frame) -> tuple[str, str]:
    return frame.file, frame.function


# --- The paths of arguments: JAX names each by its place in what the function takes, `params['w']`.

# A string up to its end or that of the name: searching again at each quote would take quadratic time.
QUOTED = re.compile(r"'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|$)|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|$)", re.DOTALL)
# Names of arguments inside `eqx.filter_jit`, donated or not.
_WRAPPED = re.compile(r"^dynamic_(?:no)?donate\['(\w+)'\]")


_CALLED = re.compile(r"\bjit\(([\w<>.]+)\)\)*$")


def called_function(op_name: str) -> str:
    """The jitted function that a call with this scope calls; "" if it is unknown.

    Example:
        >>> called_function("jit(step)/transpose(jvp(jit(silu)))"), called_function("jit(step)/jit(silu)/exp")
        ('silu', '')
    """
    found = _CALLED.search(op_name)
    return found[1] if found else ""


def path_of(it: Instruction) -> str:
    """The JAX path of an argument; "" if the instruction is not an argument or has no name.

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> path_of(Instruction("p", "parameter", Shape("f32"), op_name="params['a/b']"))
        "params['a/b']"
        >>> path_of(Instruction("p", "parameter", Shape("f32"), op_name="dynamic_donate['first'][6]"))
        'first[6]'
        >>> path_of(Instruction("p", "parameter", Shape("f32"), op_name="jit(f)/scan"))
        ''
    """
    return _WRAPPED.sub(r"\1", it.op_name) if it.opcode == "parameter" and is_path(it.op_name) else ""


def is_path(name: str) -> bool:
    """Whether a name is an argument's path and not a scope; keys of a path may contain slashes.

    Example:
        >>> is_path("params['a/b']"), is_path("jit(f)/scan"), is_path("")
        (True, False, False)
    """
    return bool(name) and "/" not in QUOTED.sub("", name)
