"""The report of `hlodiff inspect origin`: where an instruction comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.differ.passes.origin import InstructionOrigin, PassTouch, pass_words
from hlodiff.differ.result import Site
from hlodiff.hlo.model import Frame
from hlodiff.report.edits import format_field_change
from hlodiff.report.lines import Line, clip, code, escape_markdown, json_text, lay_out
from hlodiff.report.wording import place, shown_stack

_LONGEST, _LONGEST_LINE = 120, 240
_UNTOLD = frozenset(["computation", "attribute:root"])


@dataclass(frozen=True, slots=True)
class OriginView:
    """Where one instruction of one program comes from.

    Args:
        name, target: which program; no target for a folder.
        asked: the instruction that was asked for.
        origin: the answer; None where there is none.
        stablehlo: the operation of StableHLO, printed; "" where none is known for certain.
        problem: why there is no answer; then `advice` is what helps.
        broken: whether something is wrong, rather than missing here.
    """

    name: str
    target: str | None
    asked: str
    origin: InstructionOrigin | None = None
    stablehlo: str = ""
    problem: str = ""
    advice: str = ""
    broken: bool = False

    @property
    def label(self) -> str:
        """What the program is called: `train_step on cpu`."""
        return f"{self.name} on {self.target}" if self.target else self.name


def headline(origin: InstructionOrigin) -> str:
    """One sentence: `%copy.3: added by copy-insertion (pass 17)`."""
    who = f"%{origin.site.name}"
    copied = [touch for touch in origin.touches if touch.kind == "copied"]
    more = f"; one more like it written by {pass_words(copied[-1].step)}" if copied else ""
    if origin.made:
        return f"{who}: added by {pass_words(origin.made.step)}{more}"
    was = origin.first
    if was is None:
        return f"{who}: not followed to the first text"
    before = f" as {was.opcode} %{was.name}" if (was.name, was.opcode) != (origin.site.name, origin.site.opcode) else ""
    return f"{who}: in the program before all passes{before}{more}"


def touch_words(touch: PassTouch) -> str:
    """What one pass did: `layout: {1,0} -> {0,1}`."""
    renamed = f" (it was %{touch.was})" if touch.was and touch.was != touch.name else ""
    if touch.kind == "added":
        return f"adds it as {touch.opcode} %{touch.name}"
    if touch.kind == "copied":
        return f"writes one more like %{touch.was}"
    words = [clip(format_field_change(change), _LONGEST) for change in touch.changes if change.field not in _UNTOLD]
    moved = next((change for change in touch.changes if change.field == "computation"), None)
    if touch.kind == "moved":
        words.insert(0, f"moved from %{moved.old} to %{moved.new}" if moved else "moved to another computation")
    if not words:
        words = ["returned in the place of another one"]
    return "; ".join(words) + renamed


def place_words(op_name: str, source: Sequence[Frame], root: str) -> str:
    """JAX's scope and the user's line: `jit(f)/tanh, model.py:12 (loss)`."""
    return ", ".join(filter(None, (op_name, place(tuple(source), root))))


def origin_lines(view: OriginView, root: str, stacks: bool) -> Iterator[Line]:
    """The answer for a terminal."""
    if view.origin is None:
        yield Line(0, f"{view.label}: {view.problem}", style="bold", wrap=True)
        if view.advice:
            yield Line(2, view.advice, wrap=True)
        return
    found = view.origin
    yield Line(0, f"{view.label}", style="bold")
    yield Line(2, headline(found), style="bold", wrap=True)
    for reason in found.reasons:
        yield Line(4, reason, wrap=True)
    for title, words in rows(view, root):
        yield Line(2, words, title=title, wrap=True)
    if stacks:
        for frame in shown_stack(found.source, root):
            yield Line(15, f"at {frame}")
    yield Line(0, "")


def rows(view: OriginView, root: str) -> Iterator[tuple[str, str]]:
    """Titles and words: the instruction, its line of Python, StableHLO, each pass."""
    found = view.origin
    assert found is not None
    yield "instruction", f"{clip(found.site.text, _LONGEST_LINE)}, in %{found.site.computation_name}"
    scope = place_words(found.op_name, found.source, root)
    if scope:
        yield "comes from", scope
    elif found.near:
        site, op_name, source = found.near
        words = place_words(op_name, source, root)
        yield "comes from", f"no line of its own; its operand %{site.name} ({site.opcode}) comes from {words}"
    else:
        yield "comes from", "XLA noted no line of Python"
    if view.stablehlo:
        yield "StableHLO", view.stablehlo
    elif found.first:
        yield "first text", found.first.text
    for touch in found.touches:
        number = touch.step.stage.number
        yield "pass" if number is None else f"pass {number}", f"{touch.step.passed.label}: {touch_words(touch)}"
    if found.now and found.now.name != found.site.name:
        yield "later", f"%{found.now.name}, in %{found.now.computation_name}"
    if found.fate:
        yield "removed by", pass_words(found.fate)
    if found.repeats:
        yield "note", f"{found.repeats} more of that name are in that text"


def origins_text(views: Sequence[OriginView], root: str, stacks: bool, width: int, color: bool) -> str:
    """The report for a terminal."""
    return lay_out([line for view in views for line in origin_lines(view, root, stacks)], width=width, color=color)


def origins_markdown(views: Sequence[OriginView], root: str) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    lines = ["### hlodiff: origin", ""]
    for view in views:
        if view.origin is None:
            lines += [
                f"{code(view.label)}: {escape_markdown(view.problem)} {escape_markdown(view.advice)}".rstrip(),
                "",
            ]
            continue
        lines += [f"{code(view.label)}: **{escape_markdown(headline(view.origin))}**", ""]
        lines += [f"- {escape_markdown(reason)}" for reason in view.origin.reasons]
        lines += [f"- {title}: {escape_markdown(words)}" for title, words in rows(view, root)] + [""]
    return "\n".join(lines).rstrip("\n") + "\n"


def origins_json(views: Sequence[OriginView]) -> str:
    """Everything as JSON text."""
    value = {"format_version": "1.0", "command": "inspect origin", "programs": [_json(view) for view in views]}
    return json_text(value)


def _json(view: OriginView) -> dict[str, Any]:
    head: dict[str, Any] = {"name": view.name, "target": view.target, "asked": view.asked}
    if view.origin is None:
        return {**head, "status": "not_found", "reason": view.problem, "advice": view.advice}
    return {**head, "status": "found", **origin_json(view.origin), "stablehlo": view.stablehlo or None}


def origin_json(found: InstructionOrigin) -> dict[str, Any]:
    """One answer as plain values."""
    return {
        "instruction": found.site.to_json(),
        "file": found.stage.file,
        "headline": headline(found),
        "first": _site_json(found.first),
        "op_name": found.op_name or None,
        "source": [_frame(frame) for frame in found.source],
        "near": None
        if found.near is None
        else {
            "operand": found.near[0].to_json(),
            "op_name": found.near[1],
            "source": [_frame(frame) for frame in found.near[2]],
        },
        "reasons": list(found.reasons),
        "passes": [
            {
                "number": touch.step.stage.number,
                "pipeline": touch.step.passed.pipeline or None,
                "pass": touch.step.passed.name or None,
                "step": touch.step.passed.step or None,
                "file": touch.step.stage.file,
                "kind": touch.kind,
                "name": touch.name,
                "was": touch.was or None,
                "opcode": touch.opcode,
                "changes": [{"field": c.field, "old": c.old, "new": c.new} for c in touch.changes],
            }
            for touch in found.touches
        ],
        "later": _site_json(found.now),
        "removed_by": None if found.fate is None else pass_words(found.fate),
        "repeats": found.repeats,
    }


def _site_json(site: Site | None) -> dict[str, str] | None:
    return site.to_json() if site else None


def _frame(frame: Frame) -> dict[str, Any]:
    return {"file": frame.file, "line": frame.line, "function": frame.function}
