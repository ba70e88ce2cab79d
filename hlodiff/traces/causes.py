"""Why a call is not the one that JAX has seen: the differences of two calls, in the words of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hlodiff.traces.records import Call, Leaf


@dataclass(frozen=True, slots=True)
class Cause:
    """One difference between a call and an earlier one that made JAX trace or compile again.

    Args:
        kind: a short fixed name, see `ADVICE`.
        path: what differs: `model.activation`, `x`; "" for the function itself and what is around the call.
        what: one sentence, without its full stop.
        advice: what to do about it.

    Example:
        >>> Cause("shape", "x", "`x` is f32[3,64], before f32[64,64]", ADVICE["shape"]).kind
        'shape'
    """

    kind: str
    path: str
    what: str
    advice: str


ADVICE = {
    "function": "define and jit it once, where it is not made anew, and pass what differs as arguments",
    "closure": "pass what it closes over as an argument, and define and jit it once",
    "leaf": "create it once, outside of what runs again",
    "other": "expect one program for each function that is passed",
    "shape": "pad to one shape, or expect one program for each shape",
    "dtype": "convert it once, before the first call; see whether the function returns another type than it takes",
    "weak": "give it one type: jnp.asarray(value, dtype) for every call",
    "value": "if it varies, pass it as an array; static values cost a program each",
    "object": "create it once, or give its class `==` and a hash: @dataclass(frozen=True)",
    "static": "pass it the same way in every call: as an array, or always static",
    "tree": "pass the same containers with the same keys in every call",
    "field": "make every module with the same static fields, or expect one program for each",
    "sharding": "put it where it belongs before the first call: jax.device_put(value, sharding)",
    "config": "set it once, before the first call",
    "options": "jit the function once",
    "transformed": "nothing, if the derivative or the batch is meant to run by itself; else put jax.jit outside of it",
    "unknown": "look for jax.clear_caches(), or a function that is deleted and made again",
}
_MOST = 3  # leaves that changed in the same way and are told one by one


def causes(new: Call, old: Call) -> tuple[Cause, ...]:
    """What differs between a call and an earlier one of the same function.

    Args:
        new: the call that was traced or compiled again.
        old: an earlier one.

    Returns:
        the function first, then its arguments in order, then what is around the call; () where nothing differs.

    Example:
        >>> from hlodiff.traces.records import Function
        >>> f = Function("f", "a.py:1")
        >>> calls = [Call(f, "a.py:9", (Leaf("x", "array", text),)) for text in ("f32[3]", "f32[4]")]
        >>> [cause.what for cause in causes(*calls)]
        ['`x` is f32[3], before f32[4]']
    """
    found = [*_leaves(new, old), *_around(new, old)]
    return tuple(_gathered(found))


def closest(new: Call, earlier: Sequence[Call]) -> tuple[Cause, ...]:
    """What differs from that earlier call which is most like it, the latest of several.

    Args:
        new: the call that was traced or compiled again.
        earlier: calls of the same function before it, at least one.

    Returns:
        its causes; one of kind "unknown" where nothing differs.
    """
    nearest = min(reversed(earlier), key=lambda old: _distance(new, old))
    return causes(new, nearest) or (
        Cause("unknown", "", "nothing that hlodiff sees differs from an earlier call", ADVICE["unknown"]),
    )


def _distance(new: Call, old: Call) -> int:
    """How many parts of two calls differ."""
    before = {leaf.path: _compared(leaf) for leaf in old.leaves}
    after = {leaf.path: _compared(leaf) for leaf in new.leaves}
    apart = sum(len(_compared(leaf)) for leaf in old.leaves if leaf.path not in after)
    for path, what in after.items():
        apart += sum(a != b for a, b in zip(what, before[path], strict=True)) if path in before else len(what)
    return apart + sum(a != b for a, b in zip(new.context, old.context, strict=False)) + (new.options != old.options)


def _compared(leaf: Leaf) -> tuple[object, ...]:
    dtype, _, shape = leaf.text.partition("[") if leaf.kind == "array" else (leaf.text, "", "")
    return leaf.kind, dtype, shape, leaf.weak, leaf.sharding, leaf.same


def _leaves(new: Call, old: Call) -> Iterator[Cause]:
    before = {leaf.path: leaf for leaf in old.leaves}
    after = {leaf.path: leaf for leaf in new.leaves}
    told: list[str] = []
    for path, leaf in after.items():
        if path not in before:
            if not _under(path, told):
                told.append(path)
                what = f"`{path}` is {_words(leaf)}, before it was not {_there(path)}"
                kind = "value" if leaf.kind in ("value", "object") else "tree"
                yield Cause(kind, path, what, ADVICE[kind])
        elif leaf.kind != "node":
            yield from _leaf(leaf, before[path], new)
        elif leaf.text != before[path].text or before[path].kind != "node":
            told.append(path)
            what = f"`{path}` is {_words(leaf)}, before {_words(before[path])}"
            yield Cause("tree", path, what, ADVICE["tree"])
    for path, leaf in before.items():
        if path not in after and not _under(path, told):
            told.append(path)
            what = f"`{path}` is not {_there(path)}, before {_words(leaf)}"
            yield Cause("tree", path, what, ADVICE["tree"])
    yield from _nodes(after, before)


def _nodes(after: dict[str, Leaf], before: dict[str, Leaf]) -> Iterator[Cause]:
    """A container that differs in what is no leaf and no field of it: keys come and go as leaves, fields as fields."""
    if after.keys() != before.keys() or any(
        leaf.same != before[leaf.path].same for leaf in after.values() if leaf.kind == "field"
    ):
        return
    for leaf in after.values():
        old = before[leaf.path]
        if leaf.kind == old.kind == "node" and leaf.text == old.text and leaf.same != old.same:
            what = f"`{leaf.path}` is another pytree: a {leaf.text} whose static parts differ"
            yield Cause("tree", leaf.path, what, ADVICE["tree"])


def _there(path: str) -> str:
    return "there" if "." in path or "[" in path else "given"


def _under(path: str, told: Sequence[str]) -> bool:
    return any(path.startswith((f"{head}.", f"{head}[")) for head in told)


def _leaf(new: Leaf, old: Leaf, call: Call) -> Iterator[Cause]:
    if new.kind == "function" and old.kind == "function":
        yield from _function(new, old, call)
    elif new.kind != old.kind and "array" in (new.kind, old.kind) and "none" not in (new.kind, old.kind):
        what = f"`{new.path}` is {_words(new)}, before {_words(old)}"
        yield Cause("static", new.path, what, ADVICE["static"])
    elif {new.kind, old.kind} == {"value", "object"}:
        yield _static(new, old)
    elif new.kind != old.kind:
        yield Cause("tree", new.path, f"`{new.path}` is {_words(new)}, before {_words(old)}", ADVICE["tree"])
    elif new.kind == "array":
        yield from _array(new, old)
    elif new.same != old.same:
        yield _static(new, old)


def _function(new: Leaf, old: Leaf, call: Call) -> Iterator[Cause]:
    if new.same == old.same:
        return
    name = f"`{new.path or call.function.short}`"
    if new.code != old.code:
        what = f"{name} is `{new.text}` ({new.place}), before `{old.text}` ({old.place})"
        yield Cause("other", new.path, what, ADVICE["other"])
        return
    before = dict(old.inside)
    inside = [f"`{key}` {before[key]} -> {value}" for key, value in new.inside if before.get(key, value) != value]
    what = f"{name} is a new function object each time (same code, {new.place})"
    if inside:
        what += f" that closes over {', '.join(inside)}"
    function = call.function
    if not new.path and function.jitted:
        what += f", jitted again at {function.jitted}" + (f" in `{function.jitted_in}`" if function.jitted_in else "")
    kind = "closure" if inside else "leaf" if new.path else "function"
    yield Cause(kind, new.path, what, ADVICE[kind])


def _array(new: Leaf, old: Leaf) -> Iterator[Cause]:
    if (new.text, new.weak) != (old.text, old.weak):
        words, before = _words(new), _words(old)
        kind = "weak" if new.text == old.text else "shape" if _dtype(new) == _dtype(old) else "dtype"
        if kind == "dtype" and any(leaf.python.startswith("Python ") for leaf in (new, old)):
            kind = "weak"  # 3 in one call and 3.0 in another: no function returned that
        yield Cause(kind, new.path, f"`{new.path}` is {words}, before {before}", ADVICE[kind])
    if new.sharding != old.sharding:
        lies, lay = new.sharding or "wherever JAX puts it", old.sharding or "wherever JAX put it"
        what = f"`{new.path}` lies {_lies(lies)}, before {_lies(lay)}"
        yield Cause("sharding", new.path, what, ADVICE["sharding"])


def _static(new: Leaf, old: Leaf) -> Cause:
    if new.kind == "field":
        head, _, name = new.path.rpartition(".")
        what = f"`{head}` is another pytree because its static field `{name}` is {new.text}, before {old.text}"
        return Cause("field", new.path, what, ADVICE["field"])
    if new.text != old.text:
        what = f"static `{new.path}` is {new.text}, before {old.text}"
        return Cause("value", new.path, what, ADVICE["value"])
    why = "whose class compares by identity" if new.kind == "object" else "that is not equal to the one before"
    what = f"static `{new.path}` is a new {new.python} each time, {why}"
    return Cause("object", new.path, what, ADVICE["object"])


def _around(new: Call, old: Call) -> Iterator[Cause]:
    before = dict(old.context)
    for name, text in new.context:
        if before.get(name, text) != text:
            what = f"{name.removeprefix('jax_')} is {text or 'none'} around the call, before {before[name] or 'none'}"
            yield Cause("config", "", what, ADVICE["config"])
    told, earlier = dict(new.options), dict(old.options)
    for name in dict.fromkeys([*told, *earlier]):
        if told.get(name) != earlier.get(name):
            what = f"the function was jitted with {name} {told.get(name, 'none')}, before {earlier.get(name, 'none')}"
            yield Cause("options", "", what, ADVICE["options"])


def _gathered(found: list[Cause]) -> Iterator[Cause]:
    """Many leaves that changed in one way, as after a change of precision, become three of them and a count."""
    groups: dict[str, list[Cause]] = {}
    for cause in found:
        groups.setdefault(cause.kind, []).append(cause)
    for kind, group in groups.items():
        yield from group[:_MOST]
        if len(group) > _MOST:
            yield Cause(kind, group[_MOST].path, f"and {len(group) - _MOST} more like these", ADVICE[kind])


def _dtype(leaf: Leaf) -> str:
    return leaf.text.partition("[")[0]


def _lies(sharding: str) -> str:
    return sharding if sharding.startswith(("on ", "wherever")) else f"as {sharding}"


def _array_words(leaf: Leaf) -> str:
    if leaf.weak:
        return f"a weakly typed {leaf.text}" + (f" (a {leaf.python})" if leaf.python else "")
    return leaf.text


_WORDS: dict[str, Callable[[Leaf], str]] = {
    "array": _array_words,
    "function": lambda leaf: f"the function `{leaf.text}`",
    "value": lambda leaf: f"the static value {leaf.text}",
    "object": lambda leaf: f"the static value {leaf.text}",
    "field": lambda leaf: f"the static value {leaf.text}",
    "none": lambda leaf: "None",
    "node": lambda leaf: f"a {leaf.text}",
}


def _words(leaf: Leaf) -> str:
    return _WORDS[leaf.kind](leaf)
