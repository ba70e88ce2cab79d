"""Sums and products of the same values in another order: they differ by rounding alone.

`a + b - c` became `a + (b - c)`. Each side is flattened into the values that it adds and how often, or multiplies and
to which power. Values are the same if they are computed alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.hlo.fingerprint import KnownContents, contents_of
from hlodiff.hlo.model import Module

_Signs = Mapping[str, tuple[int, ...]]
_Terms = tuple[int, frozenset[tuple[bytes, int]]]
"""A computation, and values with how often each is added, or to which power it is multiplied."""
_Whole = tuple[_Terms, bytes]
"""A sum or product: its terms, and the hash of all that it is computed from, in order."""

# By opcode the sign, or the power, of each operand.
_KINDS: tuple[_Signs, ...] = (
    {"add": (1, 1), "subtract": (1, -1), "negate": (-1,)},
    {"multiply": (1, 1), "divide": (1, -1)},
)
_OPCODES = frozenset(opcode for signs in _KINDS for opcode in signs)
_MOST_NODES = 200
_MOST_SITES = 20
_NONE = -1  # in place of a computation that the other side lacks
_FLOATS = ("f", "bf", "c")


def reassociated_edits(diff: ModuleDiff) -> frozenset[int]:
    """The edits of operations whose sum or product the other side has too, in another order.

    Args:
        diff: of two programs.

    Returns:
        indices of its reported edits.

    Example:
        >>> from hlodiff.differ.pipeline import diff
        >>> from hlodiff.hlo.parser import read_hlo
        >>> given = "".join(f"  {one} = f32[] parameter({n})\\n" for n, one in enumerate("abc"))
        >>> text = "HloModule m\\nENTRY e {\\n" + given
        >>> old = read_hlo(text + "  s = f32[] add(a, b)\\n  ROOT r = f32[] subtract(s, c)\\n}")
        >>> new = read_hlo(text + "  s = f32[] subtract(b, c)\\n  ROOT r = f32[] add(a, s)\\n}")
        >>> found = diff(old, new)
        >>> len(found.reported) == len(reassociated_edits(found))
        True
    """
    if _OPCODES.isdisjoint(diff.contents):
        return frozenset()
    partners = _partners(diff)
    found: dict[int, tuple[frozenset[_Whole], frozenset[_Whole]]] = {}
    for n, edit in enumerate(diff.reported):
        if edit.kind in ("added", "removed") or edit.fields == ("operands",):
            old, new = _terms_of(edit, 0, diff.old, partners), _terms_of(edit, 1, diff.new)
            if old is not None and new is not None and (old or new):
                found[n] = old, new
    known: tuple[dict[_Terms, set[bytes]], ...] = ({}, {})
    for both in found.values():
        for of_side, wholes in zip(known, both, strict=True):
            for terms, order in wholes:
                of_side.setdefault(terms, set()).add(order)

    def is_reordered(wholes: frozenset[_Whole], others: dict[_Terms, set[bytes]]) -> bool:
        return all(terms in others and order not in others[terms] for terms, order in wholes)

    return frozenset(
        n for n, (old, new) in found.items() if is_reordered(old, known[1]) and is_reordered(new, known[0])
    )


def _partners(diff: ModuleDiff) -> dict[int, int]:
    """The new computation of an old one, by paired instructions or its name, or else the only one of its type."""
    names = {computation.name: index for index, computation in enumerate(diff.new.computations)}
    found = {n: names[one.name] for n, one in enumerate(diff.old.computations) if one.name in names}
    found[diff.old.entry] = diff.new.entry
    pairs = (pair for edit in (*diff.edits, *diff.reported) for pair in edit.sites)
    found |= {old.computation: new.computation for old, new in pairs if old is not None and new is not None}
    edited, known = diff.touched, (found.keys(), set(found.values()))
    by_type: dict[object, tuple[list[int], list[int]]] = {}
    for side, module in enumerate((diff.old, diff.new)):
        for index in edited[side]:
            if index not in known[side]:
                by_type.setdefault(_type(module, index), ([], []))[side].append(index)
    return found | {old[0]: new[0] for old, new in by_type.values() if len(old) == len(new) == 1}


def _type(module: Module, index: int) -> object:
    """The types of the parameters and of the result of a computation."""
    computation = module.computations[index]
    positions = (*computation.parameters, computation.root)
    return tuple(computation.instructions[position].shape.bare.text for position in positions)


def _terms_of(
    edit: Edit, side: int, module: Module, partners: Mapping[int, int] | None = None
) -> frozenset[_Whole] | None:
    """The sums and products that an edit's operations are in on a side; None if one is in none.

    Values of one computation are no values of another: each has its own parameters.
    """
    found: set[_Whole] = set()
    sites = [site for pair in edit.sites[: _MOST_SITES + 1] if (site := pair[side]) is not None]
    if len(sites) > _MOST_SITES:
        return None
    for site in sites:
        signs = next((signs for signs in _KINDS if site.opcode in signs), None)
        if signs is None or not site.instruction_in(module).shape.element_type.startswith(_FLOATS):
            return None
        whole = _whole(module, site, signs)
        if whole is None:
            return None
        partner = site.computation if partners is None else partners.get(site.computation, _NONE)
        found.add(((partner, whole[0]), whole[1]))
    return frozenset(found)


def _whole(module: Module, site: Site, signs: _Signs) -> tuple[frozenset[tuple[bytes, int]], bytes] | None:
    """The values of the whole sum or product that an operation is in, and its hash; None if it is too large."""
    computation = module.computations[site.computation]
    instructions, users = computation.instructions, computation.users
    top = site.instruction
    for _ in range(_MOST_NODES):
        above = users[top]
        if len(above) != 1 or instructions[above[0]].opcode not in signs:
            break
        top = above[0]
    hashes = _hashes(module, site.computation)
    found = Counter[bytes]()
    worklist = [(top, 1)]
    for position, sign in worklist:  # the list grows
        it = instructions[position]
        of_operands = signs.get(it.opcode, ())
        if not of_operands or len(of_operands) != len(it.operands):
            found[hashes[position]] += sign
            continue
        worklist += [(operand, sign * one) for operand, one in zip(it.operands, of_operands, strict=True)]
        if len(worklist) > _MOST_NODES:
            return None
    return frozenset((value, count) for value, count in found.items() if count), hashes[top]


def _hashes(module: Module, index: int) -> tuple[bytes, ...]:
    """The hash of all that each instruction of a computation is computed from; kept with the module."""
    known: dict[str, dict[int, tuple[bytes, ...]]] = module.__dict__
    of_module = known.setdefault("operand_hashes", {})
    if index not in of_module:
        of_module[index] = contents_of(module, [index], KnownContents(layout=False))[index].operand_hashes
    return of_module[index]
