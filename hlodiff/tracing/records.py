"""Plain records of calls, traces and programs: texts and numbers, without JAX objects and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

# Kinds of leaves in a call:
#   array     traced; `text` is its type, such as "f32[3,64]"
#   value     static, compared with == (a number, a string, a frozen dataclass)
#   object    static, compared by identity: its class defines no ==
#   function  static, compared by identity; `text` is its name, `place` its line
#   none      None, which is an empty pytree
#   node      a container; `text` is its type
#   field     a static field of a module, compared with ==
#   body      the jaxpr of a function passed to an operation such as `scan`; `text` is its name, `place` its
#             line; compared by identity: retracing a function gives a new one
#   transform the transformations under which a jitted function ran outside another one; `text` names them
Kind = Literal["array", "value", "object", "function", "none", "node", "field", "body", "transform"]

OBJECT = "an object: "
"""Prefix of the text of a captured value that is compared by identity: an array, or a user's object."""


@dataclass(frozen=True, slots=True)
class CapturedValue:
    """A value that a function captures: by closure, in a partial, as a default, or through the object it is bound to.

    Args:
        name: such as `rate` or `self.rate`.
        text: its text, the same in every process.
        object_id: values with the same id are equal.

    Example:
        >>> CapturedValue("rate", "0.1", 4).text
        '0.1'
    """

    name: str
    text: str
    object_id: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """One part of a call: a leaf of its arguments, at a path.

    Args:
        path: in the user's terms, such as `model.layers[0].activation`; "" for the function itself.
        kind: what it is, and how JAX compares it.
        text: its type, name or `stable_repr`, the same in every process.
        weak: whether an array is weakly typed, as a Python number is.
        python: the Python type if it adds to the text: "Python float", "NumPy array".
        sharding: sharding and device or memory of an array; "" for an uncommitted one.
        devices: the ids of its devices, in order.
        place: `file:line` of a function's definition, or of a class that is not at the top of its module.
        made: `file:line` in `function` where a wrapper of a function was made; "" if that was not observed.
        inside: what a function closes over.
        parts: parts of a static value, or of the static data of a container.
        keyword: whether the argument was given by keyword.
        object_id: leaves with the same id are equal for JAX. Ids have no other meaning.
        code_id: functions with the same id have the same code, containers or static values the same class.
        life_id: functions with the same id are one object.

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
    devices: str = ""
    place: str = ""
    made: str = ""
    inside: tuple[CapturedValue, ...] = ()
    parts: tuple[Leaf, ...] = ()
    keyword: bool = False
    object_id: int = -1
    code_id: int = -1
    life_id: int = -1


@dataclass(frozen=True, slots=True)
class Function:
    """A jitted function: the user's own, inside `eqx.filter_jit`, `jax.grad` or a partial.

    Args:
        name: its qualified name, such as `Trainer.__init__.<locals>.step`.
        place: `file:line` of its definition.
        jitted: `file:line` of the call of `jax.jit` that made it; "" if that was not observed.
        jitted_in: the function that contains this line; "" at module level.
        library: whether it is defined in an installed package.
        operation: whether it is a JAX operation that runs a function of the caller, such as `scan` outside `jax.jit`;
            `place` is then the location of the call. Also true for a program whose function is unknown.

    Example:
        >>> Function("Trainer.__init__.<locals>.step", "train.py:12").short
        'step'
    """

    name: str
    place: str
    jitted: str = ""
    jitted_in: str = ""
    library: bool = False
    operation: bool = False

    @property
    def short(self) -> str:
        """The name without its enclosing scopes; a lambda keeps them, because it has no other name."""
        if self.name.endswith("<lambda>"):
            return self.name.replace(".<locals>", "")
        head, bracket, inner = self.name.rpartition("(")  # grad(Model.loss) becomes grad(loss)
        return f"{head}{bracket}{inner.rpartition('.')[2]}"

    @property
    def plain(self) -> str:
        """The name of the function inside all wrappers, which JAX uses to name programs: `loss` of `grad(loss)`."""
        return self.name.rpartition("(")[2].rstrip(")").rpartition(".")[2]

    @property
    def key(self) -> tuple[str, str]:
        """Equal for all function objects of one definition."""
        return self.name, self.place


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a jitted function, as JAX compares it with earlier calls.

    Args:
        function: the called function.
        place: `file:line` in the user's code that called it.
        leaves: the function itself, then the arguments.
        options: relevant options of `jit`, such as donation, as (name, text) pairs.
        context: JAX's configuration and meshes during the call, as (name, text) pairs.
        emptied: where JAX's caches were last emptied before the call, with a number; "" if they were not.

    Example:
        >>> Call(Function("f", "a.py:1"), "a.py:9", (Leaf("x", "array", "f32[3]"),)).leaves[0].path
        'x'
    """

    function: Function
    place: str
    leaves: tuple[Leaf, ...]
    options: tuple[tuple[str, str], ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    emptied: tuple[int, str] = (0, "")


@dataclass(frozen=True, slots=True)
class Trace:
    """JAX ran a function's Python code to trace it.

    Args:
        order: 0, 1, ... over all observed traces and programs.
        call: the call that it was traced for.
        within: the function whose trace contains this one; "" for a top-level call.
        ahead: whether `.lower()` or `.trace()` caused it, not a call.
        seconds: how long it took.
        thread: the name of the thread.
        raised: the type of the exception that ended it, after which JAX discards the trace; "" if it succeeded.

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
    raised: str = ""

    @property
    def nested(self) -> bool:
        """Whether it is part of the trace, and of the program, of another function."""
        return bool(self.within)


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled program, without its text.

    Args:
        order: 0, 1, ... over all observed traces and programs.
        name: JAX's name, such as `jit_step`.
        function: its function; None for an eager operation.
        call: the call it was compiled for; None if there was none.
        traced: whether that call was traced again.
        fingerprint: hash of its normalized StableHLO; for an eager operation, of its text.
        platform: "cpu", "tpu" or "gpu".
        place: `file:line` in the user's code that made JAX compile it.
        failed: the type of the exception that compiling raised; "" if it succeeded.
        under: the run under `jax.vmap` or `jax.grad` that it was compiled for; None for a plain call.

    Example:
        >>> Compilation(1, "jit_f", None, None, False, "9f2c", "cpu").eager
        True
    """

    order: int
    name: str
    function: Function | None
    call: Call | None
    traced: bool
    fingerprint: str
    platform: str
    place: str = ""
    failed: str = ""
    under: Call | None = None

    @property
    def eager(self) -> bool:
        """Whether it is a single JAX operation, run by itself."""
        return self.function is None


# --- Calls as JSON, written in the process where they happened and read in another one.


def call_row(call: Call) -> list[Any]:
    """A call as rows of its fields; `dataclasses.asdict` takes ten times as long."""
    leaves = [_leaf_row(leaf) for leaf in call.leaves]
    return [row_of(call.function), call.place, leaves, call.options, call.context, call.emptied]


def call_of(row: list[Any]) -> Call:
    """The call from a row made by `call_row`."""
    function, place, leaves, *tables, (number, where) = row
    options, context = (tuple((str(name), str(text)) for name, text in table) for table in tables)
    return Call(Function(*function), place, tuple(map(_leaf_of, leaves)), options, context, (int(number), str(where)))


def row_of(record: Function | Leaf | CapturedValue) -> list[Any]:
    """The fields of a record in order."""
    return [getattr(record, name) for name in record.__slots__]


def _leaf_row(leaf: Leaf) -> list[Any]:
    row = dict(zip(leaf.__slots__, row_of(leaf), strict=True))
    row["inside"] = [row_of(one) for one in leaf.inside]
    row["parts"] = [_leaf_row(part) for part in leaf.parts]
    return list(row.values())


def _leaf_of(row: list[Any]) -> Leaf:
    fields = dict(zip(Leaf.__slots__, row, strict=True))
    fields["inside"] = tuple(
        CapturedValue(str(name), str(text), int(number)) for name, text, number in fields["inside"]
    )
    fields["parts"] = tuple(map(_leaf_of, fields["parts"]))
    return Leaf(**fields)
