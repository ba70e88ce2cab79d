"""What changed in the YAML files of a snapshot, for `git diff`: figures as `old -> new`, and what follows left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hlodiff.cli.git_names import NamedFile
from hlodiff.report.numbers import many
from hlodiff.store import Key
from hlodiff.store.staleness import STALE, refuse_conflict
from hlodiff.store.yaml_text import load

# Counted in the programs, whose own report stands beside this one.
_FOLLOWING = ("op_counts", "fusions", "placement", "collectives", "custom_calls", "metrics", "donation", "fingerprints")
_NOTHING = "(nothing)"


def facts_in_words(named: NamedFile, old: bytes | None, new: bytes | None) -> Iterator[str]:
    """What changed in a summary.yaml, traces.yaml or growth.yaml.

    Args:
        named: which file.
        old, new: its content; None on the side where it does not exist.

    Returns:
        lines.

    Raises:
        StoreError: a side is no YAML of ours, or holds conflict markers.
        ValueError: a record that is none.
    """
    for content in (old, new):
        refuse_conflict(content or b"", named.path, named.again)
    before, after = (_table(content, named) for content in (old, new))
    if STALE in after:
        yield f"stale: both sides of a merge had changed it, and ours was kept; next: {named.again}"
    if named.file == "summary.yaml":
        yield from _summary(before, after)
    elif new is None:
        yield "deleted"
    else:
        yield from _record(named, old, new)


def _table(content: bytes | None, named: NamedFile) -> dict[str, Any]:
    return load(content.decode(), named.path) if content is not None else {}


def _record(named: NamedFile, old: bytes | None, new: bytes) -> Iterator[str]:
    from hlodiff.cli.waiting_records import told_record

    kind = named.file.removesuffix(".yaml")
    function, _, case = named.name.partition("/")
    told = told_record(Key(function, case, kind), old.decode() if old is not None else None, new.decode())
    yield told.headline
    yield from (f"  {line}" for line in told.details)


def _summary(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = dict(_leaves(old)), dict(_leaves(new))
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not old or not new:
        yield f"{'new' if not old else 'deleted'}: {_toolchain(old or new)}"
        return
    told = [name for name in names if _section(name) not in (*_FOLLOWING, STALE)]
    wide = max(map(len, told), default=0)
    yield from (f"{name:<{wide}}  {_shown(before.get(name))} -> {_shown(after.get(name))}" for name in told)
    following = [name for name in names if _section(name) in _FOLLOWING]
    if following:
        sections = ", ".join(dict.fromkeys(_section(name).replace("_", " ") for name in following))
        yield f"{'and ' if told else ''}{many(len(following), 'figure')} that the programs say themselves ({sections})"


def _toolchain(table: Mapping[str, Any]) -> str:
    found = table.get("toolchain")
    versions = (
        [f"{name} {found[name]}" for name in ("jax", "jaxlib", "plugin") if found.get(name)]
        if isinstance(found, dict)
        else []
    )
    return f"recorded with {', '.join(versions)}" if versions else "no toolchain is recorded"


def _section(name: str) -> str:
    return name.partition(".")[0]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Everything that is no mapping, called by its keys; rows of a list by their `path`, or by their number."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        for number, row in enumerate(value):
            rest = {key: inner for key, inner in row.items() if key != "path"}
            yield from _leaves(rest, f"{name}[{row.get('path', number)}]")
    else:
        yield name, value


def _shown(value: Any) -> str:
    if value is None or value == []:
        return _NOTHING
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
