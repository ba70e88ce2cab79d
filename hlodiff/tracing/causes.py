"""Why JAX traced or compiled a function again: the differences between two calls, in the user's terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hlodiff.tracing.records import OBJECT, Call, Function, Leaf


@dataclass(frozen=True, slots=True)
class Cause:
    """One difference between a call and an earlier one that made JAX trace or compile again.

    Args:
        kind: a key of `ADVICE`.
        path: what differs: `model.activation`, `x`; "" for the function itself and for the context of the call.
        what: one sentence, without a full stop.
        advice: what to do about it.
        new: current text of a shape or value, used to merge series of them.
        old: previous text of it.

    Example:
        >>> Cause("shape", "x", "`x` is f32[3,64], before f32[64,64]", ADVICE["shape"]).kind
        'shape'
    """

    kind: str
    path: str
    what: str
    advice: str
    new: str = ""
    old: str = ""


ADVICE = {
    "function": "define and jit it once, where it is not made again, and pass what differs as arguments",
    "closure": "pass what it closes over as an argument, and define and jit it once",
    "leaf": "create it once, outside of what runs again",
    "other": "expect one program for each function that is passed",
    "shape": "pad to one shape, or expect one program for each shape",
    "bucket": "pad to one length, or to a few (buckets), or expect one program for each",
    "length": "pass the same number of items in every call, or stack them into one array",
    "dtype": "convert it once, before the first call; see whether the function returns another type than it takes",
    "key": "make random keys in one way everywhere: jax.random.key, with one implementation",
    "weak": "give it one type: jnp.asarray(value, dtype) for every call",
    "value": "if it varies, pass it as an array; static values cost a program each",
    "parameter": "expect one program for each value",
    "type": "pass a value of the same type in every call",
    "object": "create it once, or give its class `==` and a hash: @dataclass(frozen=True)",
    "static": "pass it the same way in every call: as an array, or always static",
    "nan": "pass a value that is equal to itself, such as None, or pass it as an array",
    "keyword": "pass it the same way in every call: JAX keeps a program for each way",
    "tree": "pass the same containers with the same keys in every call",
    "given": "pass it in every call, or in none: JAX keeps a program for each",
    "data": "make it with equal static data each time, or expect one program for each",
    "class": "define the class once, at the top of a module",
    "forgotten": "make it once and keep it: JAX forgets the programs of a function when the function object is deleted",
    "emptied": "empty the caches less often: everything is traced and compiled again after it",
    "transform": "put jax.jit outermost, around jax.vmap or jax.grad: one program instead of one for each part",
    "field": "make every module with the same static fields, or expect one program for each",
    "sharding": "put it where it belongs before the first call: jax.device_put(value, sharding)",
    "config": "set it once, before the first call",
    "options": "jit the function once",
    "mapped": "call jax.pmap once, for the same devices and axes",
    "body": "jit what calls it, or define the function once, outside of what runs again;"
    " if it is still traced again, JAX_EXPLAIN_CACHE_MISSES=1 shows more",
    "made": "jit what calls it, or define the function once, outside of what runs again",
    "raised": "find out why it raises: JAX traces it again in each call until one trace succeeds",
    "failed": "find out why XLA refuses it: JAX compiles it again in each call until one compile succeeds",
    "unjitted": "put jax.jit around the shard_map",
    "shapes": "give it the same shapes each time, or put it inside of a jitted function",
    "compiled": "JAX_LOG_COMPILES=1 shows the types and shardings of each compile;"
    " outside of jax.jit, jax.grad and jax.vmap compile programs of their own",
    "unknown": "JAX_EXPLAIN_CACHE_MISSES=1 shows what JAX looked for in its cache",
}
UNJITTED = Cause(
    "unjitted",
    "",
    "outside of a jitted function the body of a shard_map is compiled operation by operation",
    ADVICE["unjitted"],
)
NOT_KNOWN = Cause("unknown", "", "nothing that hlodiff sees differs from an earlier call", ADVICE["unknown"])
NOT_KNOWN_COMPILE = Cause(
    "compiled", "", "it was not traced again, and why JAX compiled it again is not known", ADVICE["compiled"]
)
_MOST = 3  # maximum number of leaves with the same change that are listed one by one


def causes(new: Call, old: Call) -> tuple[Cause, ...]:
    """The differences between a call and an earlier one of the same function.

    Args:
        new: the call that was traced or compiled again.
        old: an earlier one.

    Returns:
        the function first, then its arguments in order, then the configuration; () if nothing differs.

    Example:
        >>> from hlodiff.tracing.records import Function
        >>> f = Function("f", "a.py:1")
        >>> calls = [Call(f, "a.py:9", (Leaf("x", "array", text),)) for text in ("f32[3]", "f32[4]")]
        >>> [cause.what for cause in causes(*calls)]
        ['`x` is f32[3], before f32[4]']
    """
    found = [*_leaves(new, old), *_context(new, old)]
    if all(cause.kind == "body" for cause in found):
        found = list(_lost(new, old)) or found
    if any(cause.kind != "body" for cause in found):  # a body is traced again for other types, so it is an effect
        found = [cause for cause in found if cause.kind != "body"]
    if new.function.operation and any(cause.path.startswith("operand ") for cause in found):
        found = [cause for cause in found if cause.kind != "parameter"]  # `length` of a scan follows from its operands
    if any(cause.kind == "shape" for cause in found):
        found = [cause for cause in found if cause.kind != "mapped"]  # the mapped axis determines the number of devices
    return tuple(_grouped(found))


def closest(new: Call, earlier: Sequence[Call]) -> tuple[Cause, ...]:
    """The differences from the most similar earlier call; among equally similar ones, from the latest.

    Args:
        new: the call that was traced or compiled again.
        earlier: calls of the same function before it, at least one.

    Returns:
        its causes; a single cause of kind "unknown" if nothing differs.
    """
    nearest = min(reversed(earlier), key=lambda old: _distance(new, old))
    return causes(new, nearest) or (NOT_KNOWN,)


def _distance(new: Call, old: Call) -> int:
    """Number of parts that differ between two calls."""
    before = {leaf.path: _key(leaf) for leaf in old.leaves}
    after = {leaf.path: _key(leaf) for leaf in new.leaves}
    apart = sum(len(_key(leaf)) for leaf in old.leaves if leaf.path not in after)
    for path, what in after.items():
        apart += sum(a != b for a, b in zip(what, before[path], strict=True)) if path in before else len(what)
    return apart + sum(a != b for a, b in zip(new.context, old.context, strict=False)) + (new.options != old.options)


def _key(leaf: Leaf) -> tuple[object, ...]:
    dtype, _, shape = leaf.text.partition("[") if leaf.kind == "array" else (leaf.text, "", "")
    return leaf.kind, dtype, shape, leaf.weak, leaf.sharding, leaf.devices, leaf.keyword, leaf.object_id, leaf.code_id


def _lost(new: Call, old: Call) -> Iterator[Cause]:
    """Why JAX lost the result of an equal call; applies only if nothing else differs."""
    if new.emptied != old.emptied:
        yield Cause("emptied", "", f"JAX's caches were emptied by {new.emptied[1]}", ADVICE["emptied"])
        return
    before = {leaf.path: leaf for leaf in old.leaves}
    for leaf in new.leaves:
        if leaf.path == "" in before and leaf.kind == "function" and leaf.life_id != before[""].life_id:
            what = f"`{new.function.short}` is another object each time, equal to the one before ({leaf.place})"
            yield Cause("forgotten", "", what + _jitted(new.function), ADVICE["forgotten"])


def _leaves(new: Call, old: Call) -> Iterator[Cause]:
    before = {leaf.path: leaf for leaf in old.leaves}
    after = {leaf.path: leaf for leaf in new.leaves}
    if (head := _transform(after.get(""), before.get(""))) is not None:
        yield head
        return
    reported: list[str] = []
    for path, leaf in after.items():
        if path in before and leaf.keyword != before[path].keyword:
            now, then = ("keyword", "position") if leaf.keyword else ("position", "keyword")
            yield Cause("keyword", path, f"`{path}` is given by {now}, before by {then}", ADVICE["keyword"])
        if path not in before:
            if not _under(path, reported):
                reported.append(path)
                what = f"`{path}` is {_format_leaf(leaf)}, before it was not {_there(path)}"
                kind = "given" if _there(path) == "given" else "tree"
                yield Cause(kind, path, what, ADVICE[kind])
        elif leaf.kind != "node":
            found = _leaf(leaf, before[path], new)
            yield from map(_as_parameter, found) if new.function.operation else found
        elif (leaf.kind, leaf.text) == (before[path].kind, before[path].text) and leaf.python != before[path].python:
            reported.append(path)
            what = f"`{path}` has {leaf.python} items, before {before[path].python}"
            yield Cause("length", path, what, ADVICE["length"], leaf.python, before[path].python)
        elif leaf.text != before[path].text or before[path].kind != "node":
            reported.append(path)
            what = f"`{path}` is {_format_leaf(leaf)}, before {_format_leaf(before[path])}"
            yield Cause("tree", path, what, ADVICE["tree"])
    for path, leaf in before.items():
        if path not in after and not _under(path, reported):
            reported.append(path)
            what = f"`{path}` is not {_there(path)}, before {_format_leaf(leaf)}"
            kind = "given" if _there(path) == "given" else "tree"
            yield Cause(kind, path, what, ADVICE[kind])
    yield from _nodes(after, before)


def _as_parameter(cause: Cause) -> Cause:
    """A static value of a JAX operation, such as the length of a scan, cannot be an array."""
    return replace(cause, kind="parameter", advice=ADVICE["parameter"]) if cause.kind == "value" else cause


_TRANSFORMED = {
    "vmap": "a batch of it (jax.vmap)",
    "jvp": "its derivative (jax.jvp)",
    "linearize": "its forward pass for a derivative (jax.grad, jax.vjp)",
    "backward": "its backward pass (jax.grad, jax.vjp)",
}


_FORMS = {"vmap": "jax.vmap", "jvp": "jax.jvp", "linearize": "jax.grad", "backward": "the backward pass"}


def _transform(new: Leaf | None, old: Leaf | None) -> Cause | None:
    """A run under a transformation, after one without or under a different one."""
    kinds = [leaf is not None and leaf.kind == "transform" for leaf in (new, old)]
    if not any(kinds) or (all(kinds) and new is not None and old is not None and new.text == old.text):
        return None
    if new is None or not kinds[0]:
        what = "it is called by itself, before under jax.vmap or jax.grad outside of jit"
        return Cause("transform", "", what, ADVICE["transform"])
    names = new.text.split(" of ")
    form = (
        _TRANSFORMED[names[0]]
        if len(names) == 1
        else f"each part of it under {', '.join(_FORMS[name] for name in names)}"
    )
    what = f"outside of jit, {form} is a program of its own"
    return Cause("transform", "", what, ADVICE["transform"])


def _nodes(after: dict[str, Leaf], before: dict[str, Leaf]) -> Iterator[Cause]:
    """Containers whose classes or static data differ, unless the difference is in reported keys and fields."""
    pairs = [(leaf, before[leaf.path]) for leaf in after.values() if leaf.path in before]
    nodes = [(new, old) for new, old in pairs if new.kind == old.kind == "node" and new.text == old.text]
    classes = [(new, old) for new, old in nodes if new.code_id != old.code_id]
    for new, _ in classes[:1]:  # nested containers differ as a consequence
        where = f" ({new.place})" if new.place else ""
        what = f"`{new.path}` is of another class named `{new.text}` than before{where}: the class is made again"
        yield Cause("class", new.path, what, ADVICE["class"])
    if classes or after.keys() != before.keys():
        return
    for new, old in nodes:
        if new.object_id == old.object_id:
            continue
        found = list(_parts(new.parts, old.parts))
        if found:
            _, path, text = found[0]
            where = f"static data {path}" if path else "static data"
            what = f"`{new.path}` is another pytree: the {where} of its {new.text} {text}"
            yield Cause("data", new.path, what, ADVICE["data"])
        elif not any(_under(one.path, [new.path]) for one, then in pairs if one.object_id != then.object_id):
            what = f"`{new.path}` is another pytree: a {new.text} whose static parts differ"
            yield Cause("tree", new.path, what, ADVICE["tree"])


def _parts(new: Sequence[Leaf], old: Sequence[Leaf]) -> Iterator[tuple[str, str, str]]:
    """The smallest parts of static values that differ: cause kind, path, new and old text."""
    before = {leaf.path: leaf for leaf in old}
    for leaf in new:
        then = before.get(leaf.path)
        if then is None:
            yield "value", leaf.path, f"is {_format_leaf(leaf)}, before it was not there"
        elif leaf.object_id != then.object_id or leaf.kind != then.kind:
            inner = list(_parts(leaf.parts, then.parts)) if leaf.python == then.python else []
            kind, text = _unequal(leaf, then)
            yield from inner or [(kind, leaf.path, text)]
    yield from (("value", one.path, "is no longer there") for one in old if one.path not in {leaf.path for leaf in new})


def _unequal(new: Leaf, old: Leaf) -> tuple[str, str]:
    """New and old text of a static value, or why equal texts differ, with the cause kind."""
    if new.kind == old.kind == "function":
        if new.code_id == old.code_id:
            return "leaf", f"is {_new_function(new)} each time (same code, {_origin(new)})"
        return "other", f"is `{new.text}` ({new.place}), before `{old.text}` ({old.place})"
    if new.python != old.python and new.text == old.text:
        return "type", f"is {_typed(new)}, before {_typed(old)}"
    if new.text != old.text:
        return "value", f"is {new.text}, before {old.text}"
    if new.code_id != old.code_id:
        where = f" ({new.place})" if new.place else ""
        return "class", f"is of another class named `{new.python}` than before{where}: the class is made again"
    if new.text == "nan":
        return "nan", "is nan, which is not equal to itself"
    if new.python == "class":
        return "class", f"is another class named `{new.text}`" + (f" ({new.place})" if new.place else "")
    if new.kind == "object":
        return "object", f"is another {new.python}, and its class compares by identity"
    return "object", f"is another {new.python} that looks the same and is not equal to the one before"


def _new_function(leaf: Leaf) -> str:
    return f"a {leaf.python}" if leaf.python.startswith("method ") else f"a new {leaf.python or 'function object'}"


def _typed(leaf: Leaf) -> str:
    return f"the class {leaf.text}" if leaf.python == "class" else f"{leaf.text} of type {leaf.python}"


def _origin(leaf: Leaf) -> str:
    """Where the user made a function: the line of the wrapper if observed, else that of the definition."""
    return f"made at {leaf.made}" if leaf.made else leaf.place


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
    inside = _captured(new, old)
    what = f"{name} is {_new_function(new)} each time (same code, {_origin(new) if new.path else new.place})"
    if inside:
        what += f" that closes over {', '.join(inside)}"
    if not new.path:
        what += _jitted(call.function) or (f", made at {new.made}" if new.made else "")
    kind = "closure" if inside else "leaf" if new.path else "function"
    yield Cause(kind, new.path, what, ADVICE[kind])


def _captured(new: Leaf, old: Leaf) -> list[str]:
    """The closed-over values that differ."""
    before = {one.name: one for one in old.inside}
    found = []
    for one in new.inside:
        then = before.get(one.name)
        if then is not None and then.text != one.text:
            found.append(f"`{one.name}` {then.text} -> {one.text}")
        elif then is not None and then.object_id != one.object_id and one.text.startswith(OBJECT):
            found.append(f"`{one.name}`, another {one.text.removeprefix(OBJECT)}")
    return found


def _jitted(function: Function) -> str:
    if not function.jitted:
        return ""
    return f", jitted again at {function.jitted}" + (f" in `{function.jitted_in}`" if function.jitted_in else "")


def _body(new: Leaf, old: Leaf) -> Iterator[Cause]:
    if new.object_id == old.object_id:
        return
    name, before = (f"`{leaf.text}`" + (f" ({leaf.place})" if leaf.place else "") for leaf in (new, old))
    if new.code_id != old.code_id:
        yield Cause("other", new.path, f"its function is {name}, before {before}", ADVICE["other"])
    elif -1 not in (new.life_id, old.life_id) and new.life_id != old.life_id:
        inside = _captured(new, old)
        what = f"its function {name} is a new function object each time"
        what += f" that closes over {', '.join(inside)}" if inside else ""
        yield Cause("made", new.path, what, ADVICE["made"])
    else:
        yield Cause("body", new.path, f"its function {name} was traced again", ADVICE["body"])


def _array(new: Leaf, old: Leaf) -> Iterator[Cause]:
    if (new.text, new.weak) != (old.text, old.weak):
        text, before = _format_leaf(new), _format_leaf(old)
        kind = "weak" if new.text == old.text else "shape" if _dtype(new) == _dtype(old) else "dtype"
        if kind == "dtype" and any(leaf.python.startswith("Python ") for leaf in (new, old)):
            kind = "weak"  # 3 in one call and 3.0 in another: the user wrote both
        kind = "key" if "key<" in new.text + old.text else kind
        what = f"`{new.path}` is {text}, before {before}"
        yield Cause(kind, new.path, what, ADVICE[kind], new.text, old.text)
    if new.sharding != old.sharding:
        now, before = new.sharding or "wherever JAX puts it", old.sharding or "wherever JAX put it"
        what = f"`{new.path}` is {_format_sharding(now)}, before {_format_sharding(before)}"
        yield Cause("sharding", new.path, what, ADVICE["sharding"])
    elif new.devices != old.devices:
        what = f"`{new.path}` is on devices {new.devices}, before on devices {old.devices}"
        yield Cause("sharding", new.path, what, ADVICE["sharding"])


def _static(new: Leaf, old: Leaf) -> Cause:
    kind, path, text = _part(new, old)
    if new.kind == "field":
        head, _, name = new.path.rpartition(".")
        what = f"`{head}` is another pytree because its static field `{name}{path}` {text}"
        return Cause("field", new.path, what, ADVICE["field"], new.text, old.text)
    return Cause(kind, new.path, f"static `{new.path}{path}` {text}", ADVICE[kind], new.text, old.text)


_LONG = 60  # longer texts may be cut before the part that differs


def _part(new: Leaf, old: Leaf) -> tuple[str, str, str]:
    """Kind, path and text of the part of a static value to name: the whole value if its text shows the difference."""
    if new.text == old.text or len(new.text) > _LONG:
        parts = list(_parts((new,), (old,)))
        if parts and parts[0][1].startswith(new.path):
            kind, path, text = parts[0]
            return kind, path.removeprefix(new.path), text
    kind, text = _unequal(new, old)
    return kind, "", text


def _context(new: Call, old: Call) -> Iterator[Cause]:
    before = dict(old.context)
    for name, text in new.context:
        if before.get(name, text) != text:
            now, then = (one if one not in ("", "None") else "none" for one in (text, before[name]))
            what = f"{name.removeprefix('jax_')} is {now} around the call, before {then}"
            yield Cause("config", "", what, ADVICE["config"], now, then)
    if any(leaf.kind == "transform" for call in (new, old) for leaf in call.leaves[:1]):
        return  # the options of a run under a transformation are unknown
    options, earlier = dict(new.options), dict(old.options)
    changed = [name for name in dict.fromkeys([*options, *earlier]) if options.get(name) != earlier.get(name)]
    for name in changed:
        if name.removesuffix("names") + "nums" not in changed:  # JAX derives the names from the positions
            kind, verb = ("mapped", "mapped") if new.function.name.startswith("pmap(") else ("options", "jitted")
            values = f"{options.get(name, 'none')}, before {earlier.get(name, 'none')}"
            yield Cause(kind, "", f"the function was {verb} with {name} {values}", ADVICE[kind])


def _grouped(found: list[Cause]) -> Iterator[Cause]:
    """At most three causes of each kind, and a count of the rest: a change of precision changes every leaf."""
    groups: dict[str, list[Cause]] = {}
    distinct: dict[str, Cause] = {}
    for cause in found:
        distinct.setdefault(cause.what, cause)  # both functions of a loop may be lambdas on one line
    for cause in distinct.values():
        groups.setdefault(cause.kind, []).append(cause)
    for kind, group in groups.items():
        yield from group[:_MOST]
        if len(group) > _MOST:
            yield Cause(kind, group[_MOST].path, f"and {len(group) - _MOST} more like these", ADVICE[kind])


def _dtype(leaf: Leaf) -> str:
    return leaf.text.partition("[")[0]


def _format_sharding(sharding: str) -> str:
    return sharding if sharding.startswith(("on ", "wherever")) else f"sharded as {sharding}"


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
    "node": lambda leaf: f"{'an' if leaf.text[:1] in 'AEIOUaeiou' else 'a'} {leaf.text}",
    "body": lambda leaf: f"the function `{leaf.text}`",
    "transform": lambda leaf: leaf.text,
}


def _format_leaf(leaf: Leaf) -> str:
    return _FORMATS[leaf.kind](leaf)
