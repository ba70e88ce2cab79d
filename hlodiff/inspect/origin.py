"""The origin of an instruction: found by name in XLA's text or a snapshot, and followed through all passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.differ.edits import text_of
from hlodiff.differ.grouping import Origins
from hlodiff.differ.limits import Limits
from hlodiff.differ.passes.origin import InstructionOrigin, PassHistory, PassTouch, origin_of, pass_words
from hlodiff.differ.passes.steps import followed
from hlodiff.differ.result import Site
from hlodiff.errors import expected_error
from hlodiff.hlo import read_text
from hlodiff.hlo.model import Frame, Instruction, Module, Place, at
from hlodiff.normalizer import normalize, to_text
from hlodiff.report.edits import format_field_change
from hlodiff.report.lines import Line, clip, code, escape_markdown, json_text, lay_out
from hlodiff.report.wording import place, shown_stack
from hlodiff.workflows.passes import DumpedProgram
from hlodiff.workflows.sides import SideFailure

_MOST = 5
_MOST_NAMES = 8
# StableHLO operations with a different name in HLO; all others differ only in `_` and `-`.
_IN_HLO = {
    "dot_general": "dot",
    "broadcast_in_dim": "broadcast",
    "real_dynamic_slice": "dynamic-slice",
    "chlo.erf": "erf",
    "case": "conditional",
    "if": "conditional",
}


def origin_views(
    name: str, target: str | None, found: DumpedProgram | SideFailure, asked: str, limits: Limits
) -> list[OriginView]:
    """The origins of the instructions with one name in one program.

    Args:
        name, target: the program.
        found: its dump, or why there is none.
        asked: the instruction's name, in any text of the dump or in a snapshot; with or without `%`.
        limits: limits on the work for each pass.
    """
    if isinstance(found, SideFailure):
        return [OriginView(name, target, asked, problem=found.reason, advice=found.advice, broken=found.broken)]
    try:
        history = PassHistory.of(found.dump, limits)
        state, places = _found(history, asked)
        if not places:
            return [OriginView(name, target, asked, problem=f"holds no instruction `{asked}`", advice=_near(history))]
        operations = _Operations(read_text(found.stablehlo)) if found.stablehlo else None
        origins = [origin_of(history, state, place, max(len(places) - _MOST, 0)) for place in places[:_MOST]]
    except Exception as error:
        known = expected_error(error)
        return [OriginView(name, target, asked, problem=str(known), advice=known.hint, broken=True)]
    return [
        OriginView(name, target, asked, one, operations.of(history.modules[0], one) if operations else "")
        for one in origins
    ]


def _found(history: PassHistory, asked: str) -> tuple[int, list[Place]]:
    """The instructions with a name: in the last text that has one, or as a snapshot of the last text names them."""
    state, places = history.find(asked)
    if places:
        return state, places
    module = history.modules[-1]
    stored = read_text(to_text(normalize(module)))
    wanted = asked.removeprefix("%")
    named = {
        (c, n)
        for c, body in enumerate(stored.computations)
        for n, it in enumerate(body.instructions)
        if it.name == wanted
    }
    if not named:
        return -1, []
    _, mapping, _ = followed(module, stored)
    return len(history.steps), sorted(old for old, new in mapping.items() if new in named)


def _near(history: PassHistory) -> str:
    """Existing names that the user most likely meant."""
    body = history.modules[-1].entry_computation.instructions
    names = [f"%{it.name}" for it in body if it.opcode not in ("parameter", "constant", "tuple", "bitcast")]
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"its entry holds {', '.join(names[:_MOST_NAMES])}{more}; `--all` of `inspect passes` lists every text"


class _Operations:
    """The operations of a StableHLO program, by the properties that the first text of a dump shows too."""

    def __init__(self, module: Module) -> None:
        self.module = module
        origins = Origins(module)
        self.found: dict[tuple[object, ...], list[Place]] = {}
        for c, body in enumerate(module.computations):
            for n, it in enumerate(body.instructions):
                opcode = _IN_HLO.get(it.opcode, it.opcode.replace("_", "-"))
                self.found.setdefault((opcode, _line(module.stack(it.frame)), _last(origins.op_name(c, n))), []).append(
                    (c, n)
                )

    def of(self, first: Module, origin: InstructionOrigin) -> str:
        """The operation that an instruction of the first text was made from; "" if it is ambiguous."""
        if origin.first is None:
            return ""
        places = Counter(_key(first, it) for body in first.computations for it in body.instructions)
        it = at(first, (origin.first.computation, origin.first.instruction))
        key = _key(first, it)
        found = self.found.get(key, [])
        if len(found) != places[key] or not found:
            return ""
        same = [one for body in first.computations for one in body.instructions if _key(first, one) == key]
        number = next(n for n, one in enumerate(same) if one is it)
        return text_of(self.module, found[number]) if len(found) == 1 or len(first.computations) == 1 else ""


def _key(module: Module, it: Instruction) -> tuple[object, ...]:
    return it.opcode, _line(module.stack(it.frame)), _last(it.op_name)


def _line(frames: tuple[Frame, ...]) -> tuple[str, int] | None:
    return (frames[0].file, frames[0].line) if frames else None


def _last(op_name: str) -> str:
    return op_name.rpartition("/")[2]


# --- The report of `hlodiff inspect origin`.

_LONGEST, _LONGEST_LINE = 120, 240
_UNTOLD = frozenset(["computation", "attribute:root"])


@dataclass(frozen=True, slots=True)
class OriginView:
    """The origin of one instruction of one program.

    Args:
        name, target: the program; no target for a folder.
        asked: the requested instruction.
        origin: the answer; None if there is none.
        stablehlo: the StableHLO operation, printed; "" if it is not known for certain.
        problem: why there is no answer; `advice` is then a hint.
        broken: whether something is wrong, rather than missing on this machine.
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
        """Display name of the program: `train_step on cpu`."""
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
    """The effect of one pass: `layout: {1,0} -> {0,1}`."""
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
        words = ["returned instead of another one"]
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
    """Titles and texts: the instruction, its line of Python, StableHLO, each pass."""
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
