"""Why JAX traced or compiled a function again: the differences between two calls, in the user's terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hlodiff.tracing.records import Call, Leaf


@dataclass(frozen=True, slots=True)
class Cause:
    """One difference between a call and an earlier one that made JAX trace or compile again.

    Args:
        kind: a key of `ADVICE`.
        path: what differs: `model.activation`, `x`; "" for the function itself and for configuration around the call.
        what: one sentence, without a full stop.
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
    "body": "jit what calls it, or define the function once, outside of what runs again;"
    " if it is still traced again, JAX_EXPLAIN_CACHE_MISSES=1 shows more",
    "raised": "find out why it raises: JAX traces it again in each call until one trace succeeds",
    "failed": "find out why XLA refuses it: JAX compiles it again in each call until one compile succeeds",
    "unjitted": "put jax.jit around the shard_map",
    "shapes": "give it the same shapes each time, or put it inside of a jitted function",
    "compiled": "JAX_LOG_COMPILES=1 shows the types and shardings of each compile;"
    " outside of jax.jit, jax.grad and jax.vmap compile programs of their own",
    "unknown": "JAX_EXPLAIN_CACHE_MISSES=1 shows what JAX looked for in its cache",
}
NOT_KNOWN = Cause("unknown", "", "nothing that hlodiff sees differs from an earlier call", ADVICE["unknown"])
NOT_KNOWN_COMPILE = Cause(
    "compiled", "", "it was not traced again, and why JAX compiled it again is not known", ADVICE["compiled"]
)
_MOST = 3  # leaves that changed in the same way and are listed one by one


def causes(new: Call, old: Call) -> tuple[Cause, ...]:
    """What differs between a call and an earlier one of the same function.

    Args:
        new: the call that was traced or compiled again.
        old: an earlier one.

    Returns:
        the function first, then its arguments in order, then the configuration; () where nothing differs.

    Example:
        >>> from hlodiff.tracing.records import Function
        >>> f = Function("f", "a.py:1")
        >>> calls = [Call(f, "a.py:9", (Leaf("x", "array", text),)) for text in ("f32[3]", "f32[4]")]
        >>> [cause.what for cause in causes(*calls)]
        ['`x` is f32[3], before f32[4]']
    """
    found = [*_leaves(new, old), *_context(new, old)]
    if any(cause.kind != "body" for cause in found):  # a body is traced again for other types, so it is an effect
        found = [cause for cause in found if cause.kind != "body"]
    return tuple(_grouped(found))


def closest(new: Call, earlier: Sequence[Call]) -> tuple[Cause, ...]:
    """What differs from the most similar earlier call, the latest of several equally similar ones.

    Args:
        new: the call that was traced or compiled again.
        earlier: calls of the same function before it, at least one.

    Returns:
        its causes; one of kind "unknown" where nothing differs.
    """
    nearest = min(reversed(earlier), key=lambda old: _distance(new, old))
    return causes(new, nearest) or (NOT_KNOWN,)


def _distance(new: Call, old: Call) -> int:
    """How many parts of two calls differ."""
    before = {leaf.path: _key(leaf) for leaf in old.leaves}
    after = {leaf.path: _key(leaf) for leaf in new.leaves}
    apart = sum(len(_key(leaf)) for leaf in old.leaves if leaf.path not in after)
    for path, what in after.items():
        apart += sum(a != b for a, b in zip(what, before[path], strict=True)) if path in before else len(what)
    return apart + sum(a != b for a, b in zip(new.context, old.context, strict=False)) + (new.options != old.options)


def _key(leaf: Leaf) -> tuple[object, ...]:
    dtype, _, shape = leaf.text.partition("[") if leaf.kind == "array" else (leaf.text, "", "")
    return leaf.kind, dtype, shape, leaf.weak, leaf.sharding, leaf.object_id


def _leaves(new: Call, old: Call) -> Iterator[Cause]:
    before = {leaf.path: leaf for leaf in old.leaves}
    after = {leaf.path: leaf for leaf in new.leaves}
    reported: list[str] = []
    for path, leaf in after.items():
        if path not in before:
            if not _under(path, reported):
                reported.append(path)
                what = f"`{path}` is {_format_leaf(leaf)}, before it was not {_there(path)}"
                kind = "value" if leaf.kind in ("value", "object") else "tree"
                yield Cause(kind, path, what, ADVICE[kind])
        elif leaf.kind != "node":
            yield from _leaf(leaf, before[path], new)
        elif leaf.text != before[path].text or before[path].kind != "node":
            reported.append(path)
            what = f"`{path}` is {_format_leaf(leaf)}, before {_format_leaf(before[path])}"
            yield Cause("tree", path, what, ADVICE["tree"])
    for path, leaf in before.items():
        if path not in after and not _under(path, reported):
            reported.append(path)
            what = f"`{path}` is not {_there(path)}, before {_format_leaf(leaf)}"
            yield Cause("tree", path, what, ADVICE["tree"])
    yield from _nodes(after, before)


def _nodes(after: dict[str, Leaf], before: dict[str, Leaf]) -> Iterator[Cause]:
    """Containers whose static parts differ; keys and fields that differ are already reported as leaves and fields."""
    if after.keys() != before.keys() or any(
        leaf.object_id != before[leaf.path].object_id for leaf in after.values() if leaf.kind == "field"
    ):
        return
    for leaf in after.values():
        old = before[leaf.path]
        if leaf.kind == old.kind == "node" and leaf.text == old.text and leaf.object_id != old.object_id:
            what = f"`{leaf.path}` is another pytree: a {leaf.text} whose static parts differ"
            yield Cause("tree", leaf.path, what, ADVICE["tree"])


def _there(path: str) -> str:
    return "there" if "." in path or "[" in path else "given"


def _under(path: str, heads: Sequence[str]) -> bool:
    return any(path.startswith((f"{head}.", f"{head}[")) for head in heads)


def _leaf(new: Leaf, old: Leaf, call: Call) -> Iterator[Cause]:
    if new.kind == "function" and old.kind == "function":
        yield from _function(new, old, call)
    elif new.kind == "body" and old.kind == "body":
        yield from _body(new, old)
    elif new.kind != old.kind and "array" in (new.kind, old.kind) and "none" not in (new.kind, old.kind):
        what = f"`{new.path}` is {_format_leaf(new)}, before {_format_leaf(old)}"
        yield Cause("static", new.path, what, ADVICE["static"])
    elif {new.kind, old.kind} == {"value", "object"}:
        yield _static(new, old)
    elif new.kind != old.kind:
        yield Cause(
            "tree", new.path, f"`{new.path}` is {_format_leaf(new)}, before {_format_leaf(old)}", ADVICE["tree"]
        )
    elif new.kind == "array":
        yield from _array(new, old)
    elif new.object_id != old.object_id:
        yield _static(new, old)


def _function(new: Leaf, old: Leaf, call: Call) -> Iterator[Cause]:
    if new.object_id == old.object_id:
        return
    name = f"`{new.path or call.function.short}`"
    if new.code_id != old.code_id:
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


def _body(new: Leaf, old: Leaf) -> Iterator[Cause]:
    if new.object_id == old.object_id:
        return
    name, before = (f"`{leaf.text}`" + (f" ({leaf.place})" if leaf.place else "") for leaf in (new, old))
    if new.code_id != old.code_id:
        yield Cause("other", new.path, f"its function is {name}, before {before}", ADVICE["other"])
    else:
        yield Cause("body", new.path, f"its function {name} was traced again", ADVICE["body"])


def _array(new: Leaf, old: Leaf) -> Iterator[Cause]:
    if (new.text, new.weak) != (old.text, old.weak):
        text, before = _format_leaf(new), _format_leaf(old)
        kind = "weak" if new.text == old.text else "shape" if _dtype(new) == _dtype(old) else "dtype"
        if kind == "dtype" and any(leaf.python.startswith("Python ") for leaf in (new, old)):
            kind = "weak"  # 3 in one call and 3.0 in another: the user wrote both
        yield Cause(kind, new.path, f"`{new.path}` is {text}, before {before}", ADVICE[kind])
    if new.sharding != old.sharding:
        now, before = new.sharding or "wherever JAX puts it", old.sharding or "wherever JAX put it"
        what = f"`{new.path}` lies {_format_sharding(now)}, before {_format_sharding(before)}"
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


def _context(new: Call, old: Call) -> Iterator[Cause]:
    before = dict(old.context)
    for name, text in new.context:
        if before.get(name, text) != text:
            what = f"{name.removeprefix('jax_')} is {text or 'none'} around the call, before {before[name] or 'none'}"
            yield Cause("config", "", what, ADVICE["config"])
    options, earlier = dict(new.options), dict(old.options)
    for name in dict.fromkeys([*options, *earlier]):
        if options.get(name) != earlier.get(name):
            what = (
                f"the function was jitted with {name} {options.get(name, 'none')}, before {earlier.get(name, 'none')}"
            )
            yield Cause("options", "", what, ADVICE["options"])


def _grouped(found: list[Cause]) -> Iterator[Cause]:
    """At most three causes of each kind, and a count of the others: a change of precision changes every leaf."""
    groups: dict[str, list[Cause]] = {}
    distinct: dict[str, Cause] = {}
    for cause in found:
        distinct.setdefault(cause.what, cause)  # both functions of a loop may be lambdas of one line
    for cause in distinct.values():
        groups.setdefault(cause.kind, []).append(cause)
    for kind, group in groups.items():
        yield from group[:_MOST]
        if len(group) > _MOST:
            yield Cause(kind, group[_MOST].path, f"and {len(group) - _MOST} more like these", ADVICE[kind])


def _dtype(leaf: Leaf) -> str:
    return leaf.text.partition("[")[0]


def _format_sharding(sharding: str) -> str:
    return sharding if sharding.startswith(("on ", "wherever")) else f"as {sharding}"


def _format_array(leaf: Leaf) -> str:
    if leaf.weak:
        return f"a weakly typed {leaf.text}" + (f" (a {leaf.python})" if leaf.python else "")
    return leaf.text


_FORMATS: dict[str, Callable[[Leaf], str]] = {
    "array": _format_array,
    "function": lambda leaf: f"the function `{leaf.text}`",
    "value": lambda leaf: f"the static value {leaf.text}",
    "object": lambda leaf: f"the static value {leaf.text}",
    "field": lambda leaf: f"the static value {leaf.text}",
    "none": lambda leaf: "None",
    "node": lambda leaf: f"a {leaf.text}",
    "body": lambda leaf: f"the function `{leaf.text}`",
}


def _format_leaf(leaf: Leaf) -> str:
    return _FORMATS[leaf.kind](leaf)
