"""Computations that nobody calls: they run in no program, and are compared by nothing that starts at the entry."""

from __future__ import annotations

from collections import Counter

from hlodiff.hlo.grammar import called_names
from hlodiff.hlo.model import Module
from hlodiff.hlo.parser import LazyComputations
from hlodiff.hlo.traversal import callees, preorder

_MOST_NAMED = 3


def uncalled(module: Module) -> tuple[int, ...]:
    """Indices of the computations that the entry never reaches.

    Args:
        module: any program; of one that is read lazily nothing more is read.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> spare = "s {\\n  ROOT p = f32[] parameter(0)\\n}\\n"
        >>> uncalled(read_hlo("HloModule m\\n" + spare + "ENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        (0,)
    """
    computations = module.computations
    if isinstance(computations, LazyComputations):
        text, spans = computations.text, computations.spans
        places = {span.name: index for index, span in enumerate(spans)}
        reached = preorder(
            [module.entry],
            lambda index: [places[name] for name in called_names(spans[index].body_of(text)) if name in places],
        )
    else:
        reached = preorder(
            [module.entry] if computations else [],
            lambda index: callees(computations[index]),
        )
    known = set(reached)
    return tuple(index for index in range(len(computations)) if index not in known)


def format_uncalled(old: Module, new: Module) -> tuple[str, ...]:
    """What is to be said of computations that nothing calls and that only one of two programs has.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> entry, spare = "ENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}", "s {\\n  ROOT p = f32[] parameter(0)\\n}\\n"
        >>> format_uncalled(*(read_hlo("HloModule m\\n" + more + entry) for more in ("", spare)))
        ('1 computation that nothing calls is only in the new program (%s); it runs nowhere and is no edit',)
    """
    places = uncalled(old), uncalled(new)
    if not places[0] and not places[1]:
        return ()
    contents = [
        [_content(module, index) for index in indices] for module, indices in zip((old, new), places, strict=True)
    ]
    found = []
    for side, word in ((0, "old"), (1, "new")):
        module = (old, new)[side]
        others, names = Counter(contents[1 - side]), []
        for index, content in zip(places[side], contents[side], strict=True):
            if others[content]:
                others[content] -= 1
            else:
                names.append(f"%{module.computations[index].name}")
        if names:
            what = "1 computation" if len(names) == 1 else f"{len(names):,} computations"
            verb, runs = ("is", "it runs nowhere and is") if len(names) == 1 else ("are", "they run nowhere and are")
            more = ", ..." if len(names) > _MOST_NAMED else ""
            listed = ", ".join(names[:_MOST_NAMED]) + more
            found.append(f"{what} that nothing calls {verb} only in the {word} program ({listed}); {runs} no edit")
    return tuple(found)


def _content(module: Module, index: int) -> tuple[object, ...]:
    """What a computation does, without names."""
    computation = module.computations[index]
    rows = ((it.opcode, it.shape, it.operands, it.attributes, it.literal) for it in computation.instructions)
    return computation.root, computation.execution_thread, tuple(sorted(computation.attributes)), *rows
