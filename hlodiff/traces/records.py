"""Plain records of calls, traces and programs: texts and numbers, no JAX, no object and no address in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What stands at a path of a call:
#   array     traced; `text` is its type, such as "f32[3,64]"
#   value     static, compared with == (a number, a string, a frozen dataclass)
#   object    static, compared by identity: its class defines no ==
#   function  static, compared by identity; `text` is its name, `place` its line
#   none      None, which is an empty pytree
#   node      a container; `text` is its type
#   field     a static field of a module, compared with ==
Kind = Literal["array", "value", "object", "function", "none", "node", "field"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One part of a call: what stands at a path of its arguments.

    Args:
        path: in the words of the user, such as `model.layers[0].activation`; "" for the function itself.
        kind: how JAX compares it with that of another call.
        text: what it is, in words that are the same in every process.
        weak: whether an array is weakly typed, as a Python number is.
        python: the Python type where it tells more than the text: "Python float", "NumPy array".
        sharding: how an array is spread and where it lies, "" for an ordinary one.
        place: `file:line` of a function's definition.
        inside: what a function closes over that can be told in words, as (name, value) pairs.
        same: two leaves with one number are equal for JAX. Counts up in order of appearance, and means nothing else.
        code: two functions with one number have the same code.

    Example:
        >>> Leaf("x", "array", "f32[3,64]").text
        'f32[3,64]'
    """

    path: str
    kind: Kind
    text: str
    weak: bool = False
    python: str = ""
    sharding: str = ""
    place: str = ""
    inside: tuple[tuple[str, str], ...] = ()
    same: int = -1
    code: int = -1


@dataclass(frozen=True, slots=True)
class Function:
    """A jitted function: the user's, also where `eqx.filter_jit`, `jax.grad` or a partial is wrapped around it.

    Args:
        name: its qualified name, such as `Trainer.__init__.<locals>.step`.
        place: `file:line` of its definition.
        jitted: `file:line` of the call of `jax.jit` that made it, "" where that was not seen.
        jitted_in: the function which that line is in, "" at the top of a module.
        library: whether it is defined in an installed package.

    Example:
        >>> Function("Trainer.__init__.<locals>.step", "train.py:12").short
        'step'
    """

    name: str
    place: str
    jitted: str = ""
    jitted_in: str = ""
    library: bool = False

    @property
    def short(self) -> str:
        """The name without what it is defined in, but for a lambda, which has no other name."""
        if self.name.endswith("<lambda>"):
            return self.name.replace(".<locals>", "")
        head, bracket, inner = self.name.rpartition("(")  # grad(Model.loss) is grad(loss)
        return f"{head}{bracket}{inner.rpartition('.')[2]}"

    @property
    def plain(self) -> str:
        """The bare name of the function inside all wrappers, by which JAX names programs: `loss` of `grad(loss)`."""
        return self.name.rpartition("(")[2].rstrip(")").rpartition(".")[2]

    @property
    def key(self) -> tuple[str, str]:
        """What all objects of one definition share."""
        return self.name, self.place


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a jitted function as JAX compares it with those that it has seen.

    Args:
        function: what was called.
        place: `file:line` in the user's code that called it.
        leaves: what it was called with, the function itself first.
        options: what was given to `jit` that matters, such as donation, as (name, text) pairs.
        context: JAX's configuration and meshes around the call, as (name, text) pairs.

    Example:
        >>> Call(Function("f", "a.py:1"), "a.py:9", (Leaf("x", "array", "f32[3]"),)).leaves[0].path
        'x'
    """

    function: Function
    place: str
    leaves: tuple[Leaf, ...]
    options: tuple[tuple[str, str], ...] = ()
    context: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """JAX ran a function's Python code to see what it computes.

    Args:
        order: 0, 1, ... over all traces and programs that were observed.
        call: the call that it was traced for.
        within: the name of the function inside whose trace it was traced, "" for a call from outside.
        ahead: whether `.lower()` or `.trace()` asked for it, not a call.
        seconds: how long it took.
        thread: the name of the thread.

    Example:
        >>> Trace(0, Call(Function("f", "a.py:1"), "a.py:9", ()), "", False, 0.1, "MainThread").nested
        False
    """

    order: int
    call: Call
    within: str
    ahead: bool
    seconds: float
    thread: str

    @property
    def nested(self) -> bool:
        """Whether it belongs to the trace of another function, and to that one's program."""
        return bool(self.within)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program was compiled, told without its text.

    Args:
        order: 0, 1, ... over all traces and programs that were observed.
        name: JAX's name of it, such as `jit_step`.
        function: the function it is of; None for an eager operation.
        call: the call it was compiled for; None where it was compiled outside of any.
        traced: whether that call was traced anew.
        fingerprint: of its normalized StableHLO.
        platform: "cpu", "tpu" or "gpu".

    Example:
        >>> Compiled(1, "jit_f", None, None, False, "9f2c", "cpu").eager
        True
    """

    order: int
    name: str
    function: Function | None
    call: Call | None
    traced: bool
    fingerprint: str
    platform: str

    @property
    def eager(self) -> bool:
        """Whether it is one of JAX's own operations, run by itself."""
        return self.function is None
