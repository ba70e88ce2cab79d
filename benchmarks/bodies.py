"""Programs of many bodies: equal ones with a few edited, as in an unrolled loop, and programs of distinct ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

_OPCODES = ("tanh", "exponential", "add", "multiply", "negate", "subtract", "sine", "maximum", "abs", "cosine")
_BINARY = frozenset(["add", "multiply", "subtract", "maximum"])
_ARRAY, _TYPE = "f32[64,64]{1,0}", "f32[64,64]"
_ADDER = """%adder (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
"""


def body(name: str, size: int, edited: tuple[int, str] | None = None, inner: str = "", channel: int = 0) -> str:
    """Text of one computation with two parameters.

    Args:
        name: of the computation; its instructions are named after it.
        size: the number of instructions besides the parameters.
        edited: the position and the new opcode of one edited instruction.
        inner: a computation with two parameters that a fusion in the middle calls, "" for none.
        channel: the channel of an all-reduce in the middle, 0 for none.
    """
    lines = [f"%{name} (p: {_TYPE}, q: {_TYPE}) -> {_TYPE} {{"]
    lines += [f"  %{name}.{p} = {_ARRAY} parameter({n})" for n, p in enumerate("pq")]
    last, before = f"%{name}.p", f"%{name}.q"

    def write(short: str, made: str, root: str = "") -> None:
        nonlocal last, before
        scope = f'metadata={{op_name="jit(step)/{name}/{short}"}}'
        lines.append(f"  {root}%{name}.{short} = {_ARRAY} {made}, {scope}")
        before, last = last, f"%{name}.{short}"

    for n in range(size):
        opcode = edited[1] if edited and edited[0] == n else _OPCODES[(n * 7 + n // 10) % len(_OPCODES)]
        operands = f"{last}, {before}" if opcode in _BINARY else last
        write(f"v{n}", f"{opcode}({operands})", "ROOT " if n == size - 1 else "")
        if inner and n == size // 3:
            write("fused", f"fusion({last}, {before}), kind=kLoop, calls=%{inner}")
        if channel and n == size // 2:
            groups = "replica_groups={{0,1}}, use_global_device_ids=true"
            write("sum", f"all-reduce({last}), channel_id={channel}, {groups}, to_apply=%adder")
    return "\n".join([*lines, "}\n"])


Edits = Mapping[int, tuple[int, str]]
"""By the number of a body, the position and the new opcode of its edited instruction."""


def layers(
    count: int,
    size: int = 40,
    edits: Edits | None = None,
    *,
    opcode: str = "call",
    is_chain: bool = True,
    inner_size: int = 0,
    edits_inside: Edits | None = None,
    with_channels: bool = False,
) -> str:
    """A program that calls `count` equal bodies one after the other.

    Args:
        count, size: the number of bodies, and of instructions in each.
        edits: the edited instruction of each edited body.
        opcode: of the calls, "call" or "fusion".
        is_chain: whether each body gets the result of the one before it; if not, all get the same.
        inner_size: the number of instructions of a separate inner computation that each body calls; 0 for none.
        edits_inside: the edited instructions of these inner computations.
        with_channels: whether each body has a collective with its own channel.
    """
    parts = ["HloModule jit_step\n", *([_ADDER] if with_channels else [])]
    for n in range(count):
        if inner_size:
            parts.append(body(f"inner.{n}", inner_size, (edits_inside or {}).get(n)))
        inner = f"inner.{n}" if inner_size else ""
        parts.append(body(f"layer.{n}", size, (edits or {}).get(n), inner, n + 1 if with_channels else 0))
    calls = [
        _call(opcode, f"call.{n}", f"%call.{n - 1}" if n and is_chain else "%x", f"layer.{n}") for n in range(count)
    ]
    rows = [f"%x = {_ARRAY} parameter(0)", f"%w = {_ARRAY} parameter(1)", *calls[:-1], f"ROOT {calls[-1]}"]
    return "\n".join([*parts, _computation(f"ENTRY %main (x: {_TYPE}, w: {_TYPE}) -> {_TYPE}", rows)])


def _call(opcode: str, name: str, operand: str, callee: str, weights: str = "%w") -> str:
    how = "to_apply=" if opcode == "call" else "kind=kLoop, calls="
    return f"%{name} = {_ARRAY} {opcode}({operand}, {weights}), {how}%{callee}"


def _computation(head: str, rows: Sequence[str]) -> str:
    return "\n".join([f"{head} {{", *(f"  {row}" for row in rows), "}\n"])


def loops(count: int, size: int, edits: Mapping[tuple[int, int], tuple[int, str]], inner: int = 3) -> str:
    """A program of `count` loops one after the other, each calling `inner` equal bodies.

    Args:
        count, inner: the number of loops, and of bodies that each calls.
        size: the number of instructions of a body.
        edits: the edited instruction by loop and body.
    """
    carried = f"(s32[], {_ARRAY}, {_ARRAY})"
    parts = ["HloModule jit_step\n"]
    entry = [f"%x = {_ARRAY} parameter(0)", f"%w = {_ARRAY} parameter(1)", "%zero = s32[] constant(0)"]
    last = "%x"
    for n in range(count):
        parts += [body(f"layer.{n}.{k}", size, edits.get((n, k))) for k in range(inner)]
        rows = [f"%t.{n} = {carried} parameter(0)", f"%i.{n} = s32[] get-tuple-element(%t.{n}), index=0"]
        rows += [f"%{v}.{n} = {_ARRAY} get-tuple-element(%t.{n}), index={k}" for k, v in ((1, "x"), (2, "w"))]
        rows += [f"%one.{n} = s32[] constant(1)", f"%next.{n} = s32[] add(%i.{n}, %one.{n})"]
        for k in range(inner):
            operand = f"%c.{n}.{k - 1}" if k else f"%x.{n}"
            rows.append(_call("fusion", f"c.{n}.{k}", operand, f"layer.{n}.{k}", f"%w.{n}"))
        rows.append(f"ROOT %o.{n} = {carried} tuple(%next.{n}, %c.{n}.{inner - 1}, %w.{n})")
        parts.append(_computation(f"%turn.{n} (t: {carried}) -> {carried}", rows))
        rows = [f"%u.{n} = {carried} parameter(0)", f"%j.{n} = s32[] get-tuple-element(%u.{n}), index=0"]
        rows += [f"%most.{n} = s32[] constant(9)", f"ROOT %on.{n} = pred[] compare(%j.{n}, %most.{n}), direction=LT"]
        parts.append(_computation(f"%asks.{n} (t: {carried}) -> pred[]", rows))
        entry += [
            f"%start.{n} = {carried} tuple(%zero, {last}, %w)",
            f"%while.{n} = {carried} while(%start.{n}), condition=%asks.{n}, body=%turn.{n}",
            f"%after.{n} = {_ARRAY} get-tuple-element(%while.{n}), index=1",
        ]
        last = f"%after.{n}"
    entry[-1] = f"ROOT {entry[-1]}"
    return "\n".join([*parts, _computation(f"ENTRY %main (x: {_TYPE}, w: {_TYPE}) -> {_TYPE}", entry)])


_STEPS = ("tanh", "exponential", "negate", "sine", "abs", "cosine", "add", "multiply", "subtract", "maximum")


def unlike_fusions(count: int, seed: int) -> str:
    """A program of `count` small, distinct fusions, all made of the same few opcodes.

    Programs of two seeds share every opcode and type but no body.

    Args:
        count: the number of fusions, of nine instructions each.
        seed: of the random program.
    """
    chance = Random(seed)
    parts, entry, last = ["HloModule jit_step\n"], [f"%x = {_ARRAY} parameter(0)"], "%x"
    for n in range(count):
        rows = [
            f"%p.{n} = {_ARRAY} parameter(0)",
            f"%c.{n} = f32[] constant({chance.randrange(1000)})",
            f"%b.{n} = {_ARRAY} broadcast(%c.{n}), dimensions={{}}",
        ]
        made = [f"%p.{n}", f"%b.{n}"]
        for k in range(6):
            opcode = chance.choice(_STEPS)
            operands = f"{made[-1]}, {chance.choice(made)}" if opcode in _BINARY else chance.choice(made[-2:])
            rows.append(f"%v.{n}.{k} = {_ARRAY} {opcode}({operands})")
            made.append(f"%v.{n}.{k}")
        rows[-1] = f"ROOT {rows[-1]}"
        parts.append(_computation(f"%fused.{n} (p: {_TYPE}) -> {_TYPE}", rows))
        entry.append(f"%f.{n} = {_ARRAY} fusion({chance.choice(('%x', last))}), kind=kLoop, calls=%fused.{n}")
        last = f"%f.{n}"
    types = ", ".join([_TYPE] * count)
    operands = ", ".join(f"%f.{n}" for n in range(count))
    entry.append(f"ROOT %all = ({', '.join([_ARRAY] * count)}) tuple({operands})")
    return "\n".join([*parts, _computation(f"ENTRY %main (x: {_TYPE}) -> ({types})", entry)])
