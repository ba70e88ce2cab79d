"""Values inside of JSON, YAML and TOML: the file is taken apart, values and keys are replaced, and it is written again.

What changes bytes alone hits the brackets most of the time, so that readers refuse the text before they look at a
value. Numbers that no float holds, dates, duplicate keys and escapes of half a character are written as text, since no
writer of these forms writes them.
"""

from __future__ import annotations

import datetime
import json
import pickle
import tomllib
from collections.abc import Callable, Iterator
from functools import lru_cache
from random import Random
from typing import Any

import yaml

_DEPTHS = [1, 2, 40, 90]  # writing them recurses; deeper ones are among the texts
_MANY = 3000


class Raw(str):
    """Text that is written as it is, without quotes."""


_RAW = [
    "NaN", "Infinity", "-Infinity", ".inf", "-.nan", "1e400", "-0", "-0.0", "1e-400", "0x1F", "0o17", "1_000", "1:30",
    "9" * 30, "-" + "9" * 30, "9" * 5000, "2001-01-01", "2001-12-14T21:59:43.10-05:00", "07:32:00", "~", "null", "yes",
    '"\\ud800"', '"\\udc80x"', '"\\u0000"', '"\\u202e"', "!!binary aGk=", "!!set {a}", "!!python/name:os.system",
    "&a [1]", "*a", "<<", "{a: 1, a: 2}", '{"a": 1, "a": 2}', "[" * 500 + "]" * 500, "[" * 3000, "{? [1]: 2}",
    "'''x'''",
]  # fmt: skip
_STRINGS = [
    "", " ", "\n", "a\nb", "a\r\nb", "\0", "\ufeffx", "\u0663", "\u00b2", "\u216b", "\U0001f9e8", "\u2028",
    "\x1b[31mred",
    "x" * 300, "x" * 70_000, "a/" * 2000, "../../x", "/etc/passwd", "/dev/zero", "-x", "--help", "CON", ".git", "a b",
    "@team", "`x`", "<script>", "[x](http://y)", "%s{0}", "$(id)", "f32[2]{1,0}", "%name", "9" * 5000, "1e400", "nan",
    "inf", "-1", "0", "true", "cpu", "tpu-v5e-2x2", "compiled", "stablehlo", "**", "[!", "*a" * 500, "((((a)*)*)*)*b",
]  # fmt: skip
_PLAIN: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    -0.0,
    2**31,
    2**63,
    -(2**63) - 1,
    10**25,
    [],
    {},
    [[]],
    [None],
    {"": None},
]


def _values(random: Random) -> Any:
    kind = random.randrange(12)
    if kind < 3:
        return Raw(random.choice(_RAW))
    if kind < 6:
        return random.choice(_STRINGS)
    if kind < 10:
        return random.choice(_PLAIN)
    return list(range(_MANY)) if kind == 10 else {f"k{n}": n for n in range(_MANY)}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each of its keys or positions, depth first."""
    waiting = [value]
    while waiting:
        container = waiting.pop()
        for key in list(container) if isinstance(container, dict) else range(len(container)):
            yield container, key
            if isinstance(container[key], (dict, list)):
                waiting.append(container[key])


def _replaced(container: Any, key: Any, random: Random) -> None:
    container[key] = _values(random)


def _dropped(container: Any, key: Any, random: Random) -> None:
    del container[key]


def _renamed(container: Any, key: Any, random: Random) -> None:
    """The same values under another key, in the same order; a list gets an item."""
    if isinstance(container, list):
        container.insert(key, _values(random))
        return
    name = random.choice([*_STRINGS, *(Raw(each) for each in _RAW)])
    items = [(name if each == key else each, value) for each, value in container.items()]
    container.clear()
    container.update(items)


def _nested(container: Any, key: Any, random: Random) -> None:
    for _ in range(random.choice(_DEPTHS)):
        container[key] = [container[key]] if random.random() < 0.5 else {"a": container[key]}


def _repeated(container: Any, key: Any, random: Random) -> None:
    if isinstance(container, list):
        container[key:key] = [container[key]] * random.choice([1, 2, 50])
    else:
        container[Raw(_text(key))] = container[key]  # the same key once more


def _swapped(container: Any, key: Any, random: Random) -> None:
    """The value of another key of the same table."""
    other = random.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


_CHANGES: list[Callable[[Any, Any, Random], None]] = [
    _replaced, _replaced, _replaced, _replaced, _dropped, _renamed, _nested, _repeated, _swapped,
]  # fmt: skip


def _text(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return json.dumps(value, default=str)


def _written(value: Any, equals: str) -> str:
    """The value in the form that JSON and YAML share, or with `=` in that of TOML's inline tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}{equals}{_written(item, equals)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_written(item, equals) for item in value) + "]"
    return _text(value)


def _toml(value: dict[str, Any]) -> str:
    """One line for each key of a table; lists of tables and what is inside of them stand on one line."""
    lines: list[str] = []

    def write(table: dict[Any, Any], name: str) -> None:
        inner = {key: item for key, item in table.items() if isinstance(item, dict) and not isinstance(key, Raw)}
        lines.append(f"[{name}]" if name else "")
        lines.extend(f"{_text(key)} = {_written(item, ' = ')}" for key, item in table.items() if key not in inner)
        for key, item in inner.items():
            write(item, f"{name}.{_text(key)}" if name else _text(key))

    write(value, "")
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[bytes, Callable[[Any], str]]:
    """The pickled value of a good input, and what writes it again."""
    if text.startswith(("{", "[{")):
        return pickle.dumps(json.loads(text)), lambda value: _written(value, ": ")
    if "\n[" in f"\n{text}" and " = " in text:
        return pickle.dumps(tomllib.loads(text)), _toml
    return pickle.dumps(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))), _yaml


def _yaml(value: Any) -> str:
    """A key a line where the whole is a table, so that readers of lines see what they look for."""
    if not isinstance(value, dict):
        return _written(value, ": ")
    keys = (str(key) if isinstance(key, str) and key.isidentifier() else _text(key) for key in value)
    return "".join(f"{key}: {_written(item, ': ')}\n" for key, item in zip(keys, value.values(), strict=True))


def with_other_values(data: bytes, random: Random) -> bytes | None:
    """A good input with one to four values or keys replaced.

    Args:
        data: JSON, YAML or TOML, perhaps behind a first line with the name of its file.
        random: everything that is chosen is chosen by it.

    Returns:
        the input; None where it is no such text.
    """
    head, line_end, rest = data.partition(b"\n")
    named = b": " not in head and b"=" not in head and not head.startswith((b"{", b"["))
    try:
        packed, write = _parsed((rest if named else data).decode())
    except (ValueError, yaml.YAMLError):
        return None
    value = pickle.loads(packed)  # a copy, and twice as fast as copy.deepcopy
    if not isinstance(value, (dict, list)):
        return None
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        places = list(_places(value))
        if places:
            container, key = random.choice(places)
            random.choice(_CHANGES)(container, key, random)
    text = write(value).encode("utf-8", "surrogatepass")
    return head + line_end + text if named else text
