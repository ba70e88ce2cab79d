"""The text of a program from a snapshot, a new capture or a file, with scopes and Python lines on request."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hlodiff.capture import CapturedProgram, NotChecked, Request
from hlodiff.config import Config
from hlodiff.errors import CaptureError, UsageError
from hlodiff.hlo.metadata import own_frame, shown_file
from hlodiff.hlo.model import Module
from hlodiff.report.wording import format_names
from hlodiff.snapshots import Key, attach_source, read_snapshot
from hlodiff.snapshots.trees import Tree
from hlodiff.workflows.build_snapshot import snapshot_of
from hlodiff.workflows.capture_side import capture_programs


def one_program(keys: Sequence[Key], name: str, command: str) -> Key:
    """The one program whose text is requested.

    Args:
        keys: programs that the user's words match.
        name: as typed; a program of exactly this name wins over other cases.
        command: the typed command, for the hint.

    Raises:
        UsageError: there are several; the message lists their targets or functions.
    """
    keys = [key for key in keys if key.name == name] or keys
    names = list(dict.fromkeys(key.name for key in keys))
    if len(names) > 1:
        what = f"--stage prints one program, and these match: {format_names(names, 8)}"
        raise UsageError(what, hint="name one of them")
    if len(keys) > 1:
        targets = ", ".join(key.target for key in keys)
        what = f"`{names[0]}` has a program for each of several targets: {targets}"
        raise UsageError(what, hint=f"{command} -t {keys[0].target}")
    return keys[0]


def stored_text(tree: Tree, key: Key, stage: str, scopes: bool, root: str) -> str:
    """The text of a snapshot as stored.

    Args:
        tree: a folder or a git revision.
        key: which one.
        stage: "stablehlo" or "compiled".
        scopes: whether to add the scope and Python line of each instruction.
        root: the folder that Python files are named relative to.

    Raises:
        StoreError: the snapshot cannot be read.
    """
    from hlodiff.hlo import read_text

    snapshot = read_snapshot(tree, key)
    text = snapshot.stablehlo if stage == "stablehlo" else snapshot.compiled
    if not scopes:
        return text
    module = read_text(text, path=f"{tree.where}/{key.folder}: {stage}")
    return annotated(text, attach_source(module, (snapshot.source or {}).get(stage)), root)


def fresh_text(config: Config, key: Key, stage: str, normalized: bool, scopes: bool) -> str:
    """The text of a program, captured now.

    Args:
        config: the project's.
        key: which one.
        stage: "stablehlo" or "compiled".
        normalized: whether to print it as stored in a snapshot instead of as JAX and XLA print it.
        scopes: as for `stored_text`.

    Raises:
        CaptureError: tracing, lowering or compiling failed.
    """
    lowered = stage == "stablehlo" and not normalized
    request = Request(key.function, key.case, key.target, lower_only=lowered)
    with closing(capture_programs(config, [request], 1)) as outcomes:
        captured = next((outcome for _, outcome in outcomes), None)
    if isinstance(captured, NotChecked):
        raise CaptureError(captured.reason, where=f"{key.name} on {key.target}", hint=captured.advice)
    if not isinstance(captured, CapturedProgram):
        what = getattr(captured, "what", "nothing came back")
        raise CaptureError(what, where=f"{key.name} on {key.target}")
    if normalized:
        return _normalized_text(config, captured, stage, scopes)
    return printed_text(captured.stablehlo if stage == "stablehlo" else captured.compiled or "", scopes, config)


def _normalized_text(config: Config, captured: CapturedProgram, stage: str, scopes: bool) -> str:
    from hlodiff.hlo import read_text

    snapshot = snapshot_of(captured, str(config.root), config.large_constants)
    text = snapshot.stablehlo if stage == "stablehlo" else snapshot.compiled
    if not scopes:
        return text
    source = (snapshot.source or {}).get(stage)
    return annotated(text, attach_source(read_text(text), source), str(config.root))


def printed_text(text: str, scopes: bool, config: Config | None = None) -> str:
    """Text as printed by JAX or XLA, StableHLO without locations.

    Args:
        text: StableHLO, with or without locations, or compiled HLO.
        scopes: as for `stored_text`.
        config: the project's; file paths are relative to its root.
    """
    from hlodiff.hlo import read_text

    root = str(config.root if config is not None else Path.cwd())
    if text.startswith("HloModule"):
        return annotated(text, read_text(text), root) if scopes else text
    from hlodiff.hlo.mlir import without_locations

    plain = without_locations(text)
    return annotated(plain, read_text(plain, trusted=True), root, read_text(text, trusted=True)) if scopes else plain


def annotated(text: str, module: Module, root: str, origin: Module | None = None) -> str:
    """A program's text with the scope and Python line of each instruction in a trailing comment.

    Args:
        text: text of the program.
        module: the module parsed from that text.
        root: the folder that Python files are named relative to.
        origin: the same program with scopes, if the text has none.

    Returns:
        the annotated text, which parses to the same program: both syntaxes have these comments.
    """
    lines = text.splitlines()
    known = origin or module
    for computation, source in zip(module.computations, known.computations, strict=True):
        for instruction, with_source in zip(computation.instructions, source.instructions, strict=True):
            frame = own_frame(known.stack(with_source.frame)) if with_source.frame >= 0 else None
            where = f"{shown_file(frame.file, root)}:{frame.line}" if frame is not None else ""
            comment = "  ".join(part for part in (with_source.op_name, where) if part)
            if comment and 0 < instruction.line <= len(lines) and "  // " not in lines[instruction.line - 1]:
                lines[instruction.line - 1] += f"  // {comment}"
    return "\n".join(lines) + "\n"
