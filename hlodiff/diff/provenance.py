"""Where an instruction came from: its own scope and frames, or those of the call that leads to it.

In StableHLO what stands inside a jitted function of JAX (`silu`) has no Python frame; the call has.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hlodiff.ir.model import Frame, Instruction, Module


@dataclass(slots=True)
class Origins:
    """Scopes and frames of one module's instructions; call sites are found once, when first asked for."""

    module: Module
    _callers: dict[int, tuple[int, int]] | None = field(default=None)
    _stacks: dict[int, tuple[Frame, ...]] = field(default_factory=dict)

    def stack(self, computation: int, instruction: int) -> tuple[Frame, ...]:
        """Python frames, innermost first: the instruction's own, else those of the nearest caller that has any."""
        own = self._own(computation, instruction)
        if own < 0:
            own = next((it.frame for it in self._chain(computation, instruction) if it.frame >= 0), -1)
        if own not in self._stacks:
            self._stacks[own] = self.module.stack(own)
        return self._stacks[own]

    def _own(self, computation: int, instruction: int) -> int:
        """The frame of an instruction. JAX makes a literal once for all of its users, so theirs says more than its own.

        A literal that a loop or a call was handed names the line of that; its user's stack goes on from there.
        """
        instructions = self.module.computations[computation].instructions
        own = instructions[instruction]
        if own.opcode != "constant":
            return own.frame
        users = (one.frame for one in instructions if instruction in one.operands and one.frame >= 0)
        user = next(users, -1)
        inner, outer = self.module.stack(user), self.module.stack(own.frame)
        return user if inner[len(inner) - len(outer) :] == outer else own.frame

    def op_name(self, computation: int, instruction: int) -> str:
        """JAX's scope; inside a StableHLO function behind the scope of the call: `jit(f)/jit(silu)/neg`."""
        own = self.module.computations[computation].instructions[instruction]
        if self.module.stage == "compiled" or own.op_name.startswith("jit("):
            return own.op_name
        _, *callers = self._chain(computation, instruction)
        outer = next((it.op_name for it in callers if it.op_name), "")
        return f"{outer}/{own.op_name}" if outer and own.op_name else own.op_name or outer

    def _chain(self, computation: int, instruction: int) -> list[Instruction]:
        """The instruction and the calls that lead to it, nearest first."""
        if self._callers is None:
            self._callers = _first_callers(self.module)
        chain = [self.module.computations[computation].instructions[instruction]]
        seen = {computation}
        while (caller := self._callers.get(computation)) is not None and caller[0] not in seen:
            computation = caller[0]
            seen.add(computation)
            chain.append(self.module.computations[computation].instructions[caller[1]])
        return chain


@dataclass(slots=True)
class Printed:
    """A program as it was read: instructions by name, which stay when noise is taken off; indices may not."""

    module: Module
    _computations: dict[str, int] | None = None
    _instructions: dict[int, dict[str, Instruction]] = field(default_factory=dict)

    def find(self, computation: str, name: str) -> Instruction | None:
        """The instruction of that name, None where there is none."""
        if self._computations is None:
            self._computations = {c.name: index for index, c in enumerate(self.module.computations)}
        index = self._computations.get(computation)
        if index is None:
            return None
        if index not in self._instructions:
            self._instructions[index] = {it.name: it for it in self.module.computations[index].instructions}
        return self._instructions[index].get(name)


def _first_callers(module: Module) -> dict[int, tuple[int, int]]:
    callers: dict[int, tuple[int, int]] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            for callee in it.called if it.calls else ():
                callers.setdefault(callee, (index, position))
    return callers
