"""The picture of one program as a page: what runs where, how often, with how many bytes, the largest first.

Each computation that is worth it has a drawing of its largest instructions; fusions, loops, branches and calls open the
drawing of what is in them. However large a program is, a drawing holds a bounded number of them, and says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from hlodiff.differ.metrics import BOOKKEEPING, executed
from hlodiff.differ.placement import placements, platform_of
from hlodiff.differ.program_analysis import PartCost, ProgramParts, part_costs
from hlodiff.hlo.collectives import family
from hlodiff.hlo.model import STAGE_NAMES, Instruction, Module, Stage
from hlodiff.hlo.printer import print_instruction
from hlodiff.hlo.traversal import preorder
from hlodiff.report.addresses import program_address
from hlodiff.report.html.bodies import stored
from hlodiff.report.html.drawing import format_shape_of, opcode_of, operands_first, place_words
from hlodiff.report.html.layers import layered_layout
from hlodiff.report.html.page import page_of, script_of
from hlodiff.report.lines import clip, printable
from hlodiff.report.wording import format_bytes, format_count, format_names, many, place

_SCRIPTS = ("dom", "tokens", "drawing", "picture")
_CHARACTER, _LINE, _PAD, _WIDEST = 6.7, 15, 12, 34
_LONGEST = 600
_CALLS_BODY = frozenset(["while", "conditional", "case", "if", "call", "func.call", "async-start"])
# They hold or hand on values for others: drawn only where everything is.
_HANDING_ON = frozenset(["tuple", "get-tuple-element", "bitcast", "constant", "iota", "parameter"])


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """Bounds of a picture.

    Args:
        drawn: instructions in one drawing.
        computations: drawings of one program.
        largest: rows of the table of one program.
        page_bytes: of all programs together, packed.
    """

    drawn: int = 40
    computations: int = 150
    largest: int = 100
    page_bytes: int = 9_000_000


PICTURE_LIMITS = PictureLimits()


@dataclass(frozen=True, slots=True)
class PicturedProgram:
    """A program to draw.

    Args:
        name: function and case, or the name of a file.
        target: None where it is not known.
        module: the program.
        memory: XLA's bytes by kind (`temp`, `peak`), where a snapshot has them.
    """

    name: str
    target: str | None
    module: Module
    memory: Mapping[str, int] = field(default_factory=dict)

    @property
    def stage(self) -> Stage:
        """Of the module."""
        return self.module.stage


def to_picture(programs: Sequence[PicturedProgram], root: str = "", limits: PictureLimits = PICTURE_LIMITS) -> str:
    """Programs as one HTML file that needs no other, no network and no server.

    Args:
        programs: each one a choice at the top of the page.
        root: the project's folder, which files are named relative to.
        limits: how much is drawn; the page says what is not.

    Returns:
        HTML; the same bytes for the same programs.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> module = read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2] parameter(0)\\n}")
        >>> to_picture([PicturedProgram("a.hlo", None, module)]).startswith("<!DOCTYPE html>")
        True
    """
    bodies, links, room = [], [], limits.page_bytes
    for program in programs:
        body = stored(_text(_Picture(program, root, limits).value()))
        if len(body.text) > room:
            body = stored(_text({"facts": [], "levels": [], "largest": [], "notes": [_NO_ROOM]}))
        room -= len(body.text)
        bodies.append((body.type, Markup(body.text)))
        address = program_address(program.name, program.target, program.stage)
        links.append({"name": program.name, "target": program.target or "", "address": address,
                      "stage": STAGE_NAMES[program.stage]})  # fmt: skip
    title = format_names([printable(name) for name in dict.fromkeys(program.name for program in programs)])
    return page_of("picture.html.jinja", script_of(_SCRIPTS), bodies=bodies, programs=links, title=title)


_MEMORIES = {"device": "device memory", "host": "host memory"}
_NO_ROOM = "This program is not drawn: it does not fit into the page. Show it alone."


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Picture:
    """One program: its facts, its drawings, and its largest instructions."""

    def __init__(self, program: PicturedProgram, root: str, limits: PictureLimits) -> None:
        self.program, self.module, self.root, self.limits = program, program.module, root, limits
        self.costs: ProgramParts = part_costs(program.module)
        self.platform = platform_of(program.module)
        self.is_compiled = program.stage == "compiled"
        self.all = max(self.total(program.module.entry), 1) if program.module.computations else 1
        self.levels = self.chosen_levels()
        self.level_of = {index: number for number, index in enumerate(self.levels)}

    def value(self) -> dict[str, Any]:
        """Everything as plain values."""
        levels = [self.level(index) for index in self.levels]
        reached = self.reached()
        notes = []
        if len(self.levels) < len(reached):
            notes.append(f"{len(self.levels):,} of {many(len(reached), 'computation')} are drawn: the costliest.")
        return {
            "facts": list(self.facts()),
            "by": "bytes" if self.is_compiled else "flops",
            "levels": levels,
            "largest": self.largest(),
            "notes": notes,
            "size": self.module.instruction_count(),
        }

    # --- numbers ------------------------------------------------------------------------------------------------------

    def total(self, index: int) -> int:
        """What a computation costs with all that it calls: bytes of a compiled program, else operations."""
        return (self.costs.bytes if self.is_compiled else self.costs.flops)[index]

    def weight(self, index: int, position: int) -> int:
        """The same of one instruction, with what it calls."""
        it, cost = self.module.computations[index].instructions[position], self.costs.parts[index][position]
        own = (cost.bytes if self.is_compiled and index not in self.costs.fused else cost.flops) * cost.times
        bodies = [c for c in it.called if c not in self.costs.applied] if it.calls else []
        if it.opcode in _CALLS_BODY or not self.is_compiled:
            return own + sum(self.total(c) for c in bodies)
        return own

    def flops(self, index: int, position: int) -> int:
        """Operations of one run, with those of what is fused."""
        it, cost = self.module.computations[index].instructions[position], self.costs.parts[index][position]
        inside = [c for c in it.called if c in self.costs.fused and c not in self.costs.applied] if it.calls else []
        return cost.flops + sum(one.flops for c in inside for one in self.costs.parts[c])

    def reached(self) -> list[int]:
        """Computations that the entry calls, itself first; without what is applied to elements."""
        computations, applied = self.module.computations, self.costs.applied
        start = [self.module.entry] if computations else []
        return preorder(start, lambda index: [n for n in computations[index].callees if n not in applied])

    def chosen_levels(self) -> list[int]:
        """The entry, then what costs most; of fused computations as much as their fusions move."""
        moved: Counter[int] = Counter()
        for index, parts in enumerate(self.costs.parts):
            for position, it in enumerate(self.module.computations[index].instructions):
                for callee in it.called if it.calls else ():
                    moved[callee] += parts[position].bytes * parts[position].times
        reached = self.reached()
        ranked = sorted(reached[1:], key=lambda c: (-max(self.total(c), moved[c]), -self.costs.flops[c], c))
        return [*reached[:1], *ranked[: self.limits.computations - 1]]

    def facts(self) -> Iterator[list[str]]:
        """What runs, where, and what it costs in one call, as label and words."""
        found = executed(self.module)
        rows = (
            ("bytes accessed", "bytes_accessed", format_bytes), ("flops", "flops", format_count),
            ("launches", "launches", format_count), ("copies", "copies", format_count),
            ("host transfers", "host_transfers", format_count), ("host callbacks", "host_callbacks", format_count),
        )  # fmt: skip
        for label, name, show in rows:
            if name in found and (found[name].bounds != (0, 0) or name in ("bytes_accessed", "flops")):
                yield [label, printable(found[name].words(show, self.root))]
        for name, count in found.items():
            if name.startswith("collectives."):
                size = found.get(f"collective_bytes.{name.removeprefix('collectives.')}")
                words = count.words(format_count, self.root) + (f" ({size.words(format_bytes)})" if size else "")
                yield [printable(name.removeprefix("collectives.")), printable(words)]
        where = placements(self.module)
        for runs_on, number in where.get("compute", {}).items():
            yield [f"runs on {printable(runs_on)}", many(number, "operation")]
        for space, row in where.get("memory", {}).items():
            words = f"{many(row['values'], 'value')}, {format_bytes(row['bytes'])}"
            yield [f"in {_MEMORIES.get(space, printable(space))}", words]
        for kind, number in self.program.memory.items():
            if number:
                yield [f"memory: {printable(kind.replace('_', ' '))}", format_bytes(number)]

    # --- drawings -----------------------------------------------------------------------------------------------------

    def level(self, index: int) -> dict[str, Any]:
        """One computation: its largest instructions and how values flow between them."""
        body = self.module.computations[index]
        shown = self.shown(index)
        nodes = [self.node(index, position) for position in shown]
        near, far = self.links(index, shown)
        order = operands_first(len(shown), [*near, *far])
        nodes, at = [nodes[n] for n in order], {n: number for number, n in enumerate(order)}
        links = [(at[a], at[b]) for a, b in (*near, *far)]
        sizes = [_size(node) for node in nodes]
        found = layered_layout(sizes, links)
        for node, center, size in zip(nodes, found.centers, sizes, strict=True):
            node |= {"x": round(center[0] - size[0] / 2), "y": round(center[1] - size[1] / 2),
                     "w": round(size[0]), "h": round(size[1])}  # fmt: skip
        return {
            "name": printable(body.name),
            "entry": index == self.module.entry,
            "fused": index in self.costs.fused,
            "size": len(body.instructions),
            "runs": self.runs(self.costs.parts[index][0]) if body.instructions else "",
            "total": self.amount(self.total(index)),
            "callers": [[self.level_of[c], printable(self.module.computations[c].name)]
                        for c in dict.fromkeys(c for c, _ in self.costs.callers[index]) if c in self.level_of][:6],
            "nodes": nodes,
            "edges": [[[round(x), round(y)] for x, y in path] for path in found.edges],
            "only": list(range(len(near), len(links))),
            "w": round(found.width),
            "h": round(found.height),
        }  # fmt: skip

    def shown(self, index: int) -> list[int]:
        """Everything where that is little; else what costs most, with the result and the largest arguments."""
        instructions, most = self.module.computations[index].instructions, self.limits.drawn
        if len(instructions) <= most:
            return list(range(len(instructions)))
        own = [n for n, it in enumerate(instructions) if it.opcode not in _HANDING_ON and it.opcode not in BOOKKEEPING]
        ranked = sorted(own, key=lambda n: (-self.weight(index, n), -instructions[n].shape.bytes, n))
        chosen = dict.fromkeys([len(instructions) - 1, *ranked[: most * 3 // 4]])
        arguments = {o for n in chosen for o in instructions[n].operands if instructions[o].opcode == "parameter"}
        more = sorted(arguments, key=lambda n: (-instructions[n].shape.bytes, n))
        for n in (*more, *ranked):
            if len(chosen) < most:
                chosen[n] = None
        return sorted(chosen)

    def links(self, index: int, shown: Sequence[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Edges between what is drawn: direct ones, and those through what is not where no other way leads there."""
        instructions = self.module.computations[index].instructions
        at = {n: number for number, n in enumerate(shown)}
        nearest, before = [0] * len(instructions), [0] * len(shown)
        near: dict[tuple[int, int], None] = {}
        far: dict[tuple[int, int], None] = {}
        for n, it in enumerate(instructions):
            if n not in at:
                for operand in it.operands:
                    nearest[n] |= nearest[operand]
                continue
            own, through = at[n], 0
            direct = {at[o] for o in it.operands if o in at}
            for operand in it.operands:
                through |= 0 if operand in at else nearest[operand]
            parents = direct | set(_bits(through))
            for one in parents:
                before[own] |= before[one] | (1 << one)
            implied = 0
            for one in parents:
                implied |= before[one]
            near.update({(one, own): None for one in sorted(direct)})
            far.update({(one, own): None for one in _bits(through & ~implied) if one not in direct})
            nearest[n] = 1 << own
        return list(near), list(far)

    def node(self, index: int, position: int) -> dict[str, Any]:
        """One instruction: what it is, what it moves, how often it runs, and where."""
        body = self.module.computations[index]
        it, cost = body.instructions[position], self.costs.parts[index][position]
        words = place_words(body, it, self.platform)
        weight = self.weight(index, position)
        lines = [*words[:2], *self.lines(index, position, it, cost)]
        bodies = [c for c in it.called if c in self.level_of] if it.calls else []
        opens = self.level_of[max(bodies, key=self.total)] if bodies else -1
        return {
            "op": clip(printable(_title(it)), _WIDEST),
            "shape": clip(printable(format_shape_of(it.shape)), _WIDEST),
            "places": len(words[:2]),
            "lines": [clip(line, _WIDEST + 6) for line in lines],
            "kind": _kind(it, words),
            "share": round(weight / self.all, 4),
            "key": f"{index}.{position}",
            "opens": opens,
            "root": position == len(body.instructions) - 1,
            "where": clip(printable(place(self.module.stack(it.frame), self.root)), 200) if it.frame >= 0 else "",
            "scope": clip(printable(it.op_name or ""), 200),
            "text": clip(printable(print_instruction(self.module, index, position)), _LONGEST),
        }

    def lines(self, index: int, position: int, it: Instruction, cost: PartCost) -> Iterator[str]:
        """What stands below the shape: bytes and runs, and what is inside."""
        runs = self.runs(cost)
        if it.opcode in _CALLS_BODY and it.calls:
            inside = [c for c in it.called if c not in self.costs.applied]
            if inside:
                yield f"inside: {self.amount(sum(self.total(c) for c in inside))}"
                yield f"its body runs {self.runs(self.costs.parts[inside[-1]][0])}" if it.opcode == "while" else runs
        elif cost.bytes:
            yield f"{format_bytes(cost.bytes)} \u00d7 {runs}" if runs != "once" else format_bytes(cost.bytes)
        flops = self.flops(index, position)
        if flops and it.opcode not in _CALLS_BODY:
            yield f"{format_count(flops)} flops" + ("" if cost.bytes or runs == "once" else f" \u00d7 {runs}")
        fused = [c for c in it.called if c in self.costs.fused and c not in self.costs.applied] if it.calls else []
        if fused:
            ops = Counter(one.opcode for one in self.module.computations[fused[0]].instructions
                          if one.opcode not in BOOKKEEPING and one.opcode not in _HANDING_ON)  # fmt: skip
            yield printable(
                format_names([f"{count} {name}" if count > 1 else name for name, count in ops.most_common()])
            )

    def runs(self, cost: PartCost) -> str:
        """`once`, `12`, `at most 12`, `1 + 2 per turn of the loop at model.py:12`."""
        words = printable(cost.runs.words(format_count, self.root))
        return "once" if words == "1" else words

    def amount(self, number: int) -> str:
        """Bytes of a compiled program, operations of StableHLO."""
        return format_bytes(number) if self.is_compiled else f"{format_count(number)} flops"

    # --- the largest --------------------------------------------------------------------------------------------------

    def largest(self) -> list[list[Any]]:
        """Rows of the table: instruction, where it is, runs, bytes or flops of a run, in all, share, place, line."""
        reached = [c for c in self.reached() if not self.is_compiled or c not in self.costs.fused]
        ranked = sorted(
            ((self.own(index, n), index, n) for index in reached
             for n in range(len(self.module.computations[index].instructions)) if self.own(index, n)),
            key=lambda row: (-row[0], row[1], row[2]),
        )  # fmt: skip
        rows: list[list[Any]] = []
        for total, index, n in ranked[: self.limits.largest]:
            body = self.module.computations[index]
            it, cost = body.instructions[n], self.costs.parts[index][n]
            one_run = cost.bytes if self.is_compiled else cost.flops
            rows.append([
                clip(printable(f"{_title(it)} {format_shape_of(it.shape)}"), 100),
                clip(printable(body.name), 60), self.level_of.get(index, -1), f"{index}.{n}", self.runs(cost),
                self.amount(one_run), self.amount(total), _share(total / self.all),
                ", ".join(place_words(body, it, self.platform)),
                clip(printable(place(self.module.stack(it.frame), self.root)), 120) if it.frame >= 0 else "",
                _kind(it, place_words(body, it, self.platform)),
            ])  # fmt: skip
        return rows

    def own(self, index: int, position: int) -> int:
        """What an instruction costs itself in one call of the program."""
        cost = self.costs.parts[index][position]
        return (cost.bytes if self.is_compiled else cost.flops) * cost.times


def _share(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "under 0.1 %"


def _title(it: Instruction) -> str:
    target = it.attribute("custom_call_target") or ""
    kind = (it.attribute("kind") or "").removeprefix("k").lower()
    more = target.strip('"') if it.opcode == "custom-call" else kind if it.opcode == "fusion" else ""
    return opcode_of(it) + (f" {more}" if more else "")


def _kind(it: Instruction, words: Sequence[str]) -> str:
    """What it is drawn as."""
    if any("host" in word for word in words) or it.opcode in ("send", "recv", "infeed", "outfeed"):
        return "host"
    if family(it.opcode):
        return "collective"
    if it.opcode in _CALLS_BODY:
        return "body"
    if it.opcode in ("fusion", "fusion-start"):
        return "fusion"
    if it.opcode in ("copy", "copy-start", "transpose"):
        return "copy"
    return "argument" if it.opcode == "parameter" else "plain"


def _size(node: Mapping[str, Any]) -> tuple[float, float]:
    words = [node["op"] + "     " * (node["opens"] >= 0), node["shape"], *node["lines"]]
    return max(map(len, words)) * _CHARACTER + 2 * _PAD + 8, _LINE * (2 + len(node["lines"])) + 14


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
