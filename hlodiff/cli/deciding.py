"""Which pending programs a command is about: by name, id, pattern, class and target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.cli.selecting import selected
from hlodiff.cli.waiting import Waiting, base_of, compared, is_record
from hlodiff.config import Config, closest
from hlodiff.diff.classes import CLASSES
from hlodiff.diff.compared import Compared
from hlodiff.errors import UsageError
from hlodiff.report.record import Report
from hlodiff.report.stories import told_of
from hlodiff.store import RECORDS, Key
from hlodiff.store.pending import Kind

_ID = re.compile(r"[0-9a-f]{4,8}")


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line.

    Args:
        words: names, patterns of names, ids and beginnings of ids.
        targets: patterns for targets.
        patterns: ids of changes; a program is meant where all its changes are among them.
        classes: words for kinds of change; a program is meant where all its kinds are among them.
        everything: whether everything is meant.
    """

    words: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.words or self.targets or self.patterns or self.classes or self.everything)


@dataclass(slots=True)
class Meant:
    """The programs that a wish is about.

    Args:
        keys: of those that are meant, in order.
        left: of those that were left out although a pattern or class fits, and why.
    """

    keys: list[Key] = field(default_factory=list)
    left: dict[Key, str] = field(default_factory=dict)


def by_name(wish: Wish, ids: Mapping[Key, str]) -> tuple[Key, ...]:
    """Programs that fit the words and the targets of a wish.

    Args:
        wish: what was asked for.
        ids: of all pending programs; "" where one cannot be read and has none.

    Returns:
        keys in order.

    Raises:
        UsageError: a word fits nothing, or is the beginning of several ids.
    """
    meant: dict[Key, None] = {} if wish.words else dict.fromkeys(ids)
    for word in wish.words:
        meant |= dict.fromkeys(_of_word(word, ids))
    for target in wish.targets:
        if not any(_on_targets(key, [target]) for key in ids):
            names = ", ".join(dict.fromkeys(key.target for key in ids))
            raise UsageError(f"nothing is pending for target `{target}`", hint=f"pending targets: {names}")
    return tuple(key for key in ids if key in meant and _on_targets(key, wish.targets))


def _on_targets(key: Key, targets: Sequence[str]) -> bool:
    """Scenarios run on cpu, and growth is looked at there: both go with it."""
    return selected(key, (), targets) or (is_record(key) and selected(replace(key, target="cpu"), (), targets))


def records_by_change(wish: Wish, told: Mapping[Key, Kind]) -> tuple[Key, ...]:
    """Records that are asked for by class, `traces` or `growth`; all of them where no class or pattern is given.

    Args:
        wish: what was asked for.
        told: those that fit by name, with how they differ; with other facts only they are `identical`, as programs.
    """
    if not (wish.patterns or wish.classes):
        return tuple(told)
    words = {key: {key.target, *(["identical"] if kind == "facts" else [])} for key, kind in told.items()}
    return tuple(key for key in told if not wish.patterns and words[key] & set(wish.classes))


def _of_word(word: str, ids: Mapping[Key, str]) -> list[Key]:
    named = [key for key in ids if selected(key, [word], ())]
    if named:
        return named
    found = [key for key, own in ids.items() if _ID.fullmatch(word) and own.startswith(word)]
    if len(found) > 1:
        raise UsageError(f"`{word}` begins {len(found)} ids", hint="give more digits")
    if not found:
        near = closest(word, dict.fromkeys(key.name for key in ids))
        hint = f"did you mean `{near}`? " if near else ""
        raise UsageError(f"nothing is pending that is called `{word}`", hint=f"{hint}`hlodiff check` captures it anew")
    return found


def by_change(config: Config, wish: Wish, programs: Sequence[Waiting]) -> Meant:
    """Programs of which every change is asked for by pattern or class; all of them where neither is given.

    Args:
        config: the project's.
        wish: what was asked for.
        programs: those that fit by name.

    Returns:
        the programs that are meant, and those that have other changes too.

    Raises:
        UsageError: a pattern is in none of them, or no class is called so.
    """
    if not (wish.patterns or wish.classes):
        return Meant([one.key for one in programs])
    _refuse_unknown(wish.classes)
    seen = {one.key: _look(config, one) for one in programs}
    meant = Meant()
    of_pattern = _by_pattern(config, wish.patterns, seen)
    for key, one in seen.items():
        reasons = [of_pattern[key]] if wish.patterns else []
        reasons += [_by_class(wish.classes, one.stages)] if wish.classes else []
        if all(reason == "" for reason in reasons):
            meant.keys.append(key)
        elif all(reason is not None for reason in reasons):
            meant.left[key] = "; ".join(reason for reason in reasons if reason)
    return meant


@dataclass(frozen=True, slots=True)
class _Seen:
    """A program beside its snapshot: both stages, and whether the same toolchain made both sides."""

    stages: tuple[Compared, ...]
    same_toolchain: bool


def _look(config: Config, one: Waiting) -> _Seen:
    base = base_of(config, one.key)
    before = base.stored.snapshot.summary.get("toolchain") if base.stored else None
    same = before == one.pending.snapshot.summary.get("toolchain")
    return _Seen(compared(config, one, base), same)


def _by_pattern(config: Config, asked: Sequence[str], seen: Mapping[Key, _Seen]) -> dict[Key, str | None]:
    """For each program "" where its changes are those, what it has besides, or None where it has none of them."""
    programs = [stage for one in seen.values() for stage in one.stages]
    owners = [key for key, one in seen.items() for _ in one.stages]
    has: dict[tuple[Key, str], dict[str, None]] = {}
    known: dict[str, None] = {}
    for entry in told_of(Report("check", "", "", tuple(programs), root=str(config.root))).patterns:
        known[entry.id] = None
        for number, _ in entry.edits:
            has.setdefault((owners[number], programs[number].stage), {})[entry.id] = None
    for word in asked:
        if not any(own.startswith(word) for own in known):
            raise UsageError(f"no pending program has the pattern `{word}`", hint="`hlodiff check` shows patterns")
    chosen = {own for own in known if any(own.startswith(word) for word in asked)}
    found: dict[Key, str | None] = {}
    for key, one in seen.items():
        written, made = has.get((key, "stablehlo"), {}), has.get((key, "compiled"), {})
        # What the compiler makes of a change belongs to it, as long as it is the same compiler.
        rest = made if not written or not one.same_toolchain else {}
        others = [own for own in {**written, **rest} if own not in chosen]
        touched = bool(chosen & {*written, *made})
        found[key] = _others(others) if touched else None
    return found


def _others(patterns: Sequence[str]) -> str:
    if not patterns:
        return ""
    more = f" and {len(patterns) - 5:,} more" if len(patterns) > 5 else ""
    return f"has other changes too: pattern{'s' * (len(patterns) > 1)} {', '.join(patterns[:5])}{more}"


def _refuse_unknown(classes: Sequence[str]) -> None:
    for word in classes:
        known = (*CLASSES, *RECORDS)
        if word not in known:
            near = closest(word, known)
            hint = f"did you mean `{near}`?" if near else f"classes: {', '.join(known)}"
            raise UsageError(f"there is no class of change called `{word}`", hint=hint)


def _by_class(classes: Sequence[str], stages: tuple[Compared, ...]) -> str | None:
    found = classes_of_program(stages)
    if not set(found) & set(classes):
        return None
    others = [name for name in found if name not in classes]
    return f"is also {', '.join(others)}" if others else ""


def classes_of_program(stages: Sequence[Compared]) -> tuple[str, ...]:
    """The classes of change of a program, both stages together.

    Args:
        stages: both, compared.

    Returns:
        words in order; "toolchain" alone where the compiler did all of it, () for a program without a snapshot.
    """
    if any(stage.status == "added" for stage in stages):
        return ()
    if any(stage.by_compiler for stage in stages):
        return ("toolchain",)
    found = {name for stage in stages if stage.diff for name in stage.classes}
    changed = found - {"identical"}
    return tuple(name for name in CLASSES if name in changed) or ("identical",)
