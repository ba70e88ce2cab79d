"""Memory kinds (`pinned_host`) on devices that are not attached.

The compile-only GPUs of JAX 0.9 and 0.10 list no memories, and a sharding on such devices silently drops its memory
kind, so that a different program would be compiled. If hlodiff makes the sharding, it keeps the kind. If the user's
code makes it, the dropped kind leaves no trace, so the case is built again on a device that keeps kinds; if a kind
appears, the program is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax.sharding import Sharding
from jax.tree_util import tree_leaves

from hlodiff.capture.arguments import (
    HOST_MEMORIES,
    KeptOnDevice,
    KeptOnMesh,
    PlacedStruct,
    keeps_memory_kinds,
    on_device,
    ordinary,
)
from hlodiff.capture.devices import Target
from hlodiff.capture.lowering import trace
from hlodiff.registry import Case

_ADVICE = (
    'for arguments write hlodiff.abstract(..., sharding=..., memory_kind="pinned_host"), and inside of the function '
    "jax.device_put(x, jax.memory.Space.Host): these are kept"
)
_UPGRADE = "use JAX 0.10 or later for this target, or leave it out for the function: @hlodiff.register(targets=[...])"


def dropped_kinds(case: Case, jaxpr: Any, target: Target, build: Callable[[Target], Case]) -> tuple[str, str] | None:
    """Whether shardings in the user's code have lost their memory kinds.

    Args:
        case: the case built for the target.
        jaxpr: its traced function.
        target: the target.
        build: builds the same case for another target.

    Returns:
        reason and advice; None if no kind was lost.
    """
    if keeps_memory_kinds(target.devices[0]):
        return None
    inside = any(_in_jaxpr(jaxpr))
    if not inside and not any(_in_case(case)):
        return None
    cpu = jax.devices("cpu")[0]
    other = build(Target(target.target, [cpu] * len(target.devices)))
    shardings = [*_in_case(other), *(_in_jaxpr(trace(other, cpu).traced.jaxpr) if inside else ())]
    kinds = dict.fromkeys(s.memory_kind for s in shardings if not ordinary(s.memory_kind))
    if not kinds:
        return None
    named = " and ".join(f"`{kind}`" for kind in kinds)
    return f"JAX drops the memory kind {named} of a sharding on a GPU that is not attached", _ADVICE


def _in_case(case: Case) -> Iterator[Sharding]:
    """Shardings in the arguments and options of a case, made by its author."""
    for leaf in tree_leaves((case.args, case.kwargs)):
        sharding = None if isinstance(leaf, PlacedStruct | jax.Array) else getattr(leaf, "sharding", None)
        if isinstance(sharding, Sharding):
            yield sharding
    yield from (leaf for leaf in tree_leaves((case.in_shardings, case.out_shardings)) if isinstance(leaf, Sharding))


def _in_jaxpr(value: Any) -> Iterator[Sharding]:
    """Shardings in the parameters of all equations."""
    if isinstance(value, Sharding):
        if not isinstance(value, KeptOnDevice | KeptOnMesh):
            yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _in_jaxpr(part)
    elif hasattr(value, "eqns"):
        for equation in value.eqns:
            yield from _in_jaxpr(tuple(equation.params.values()))
    elif hasattr(value, "jaxpr"):
        yield from _in_jaxpr(value.jaxpr)


def ignored_kinds(stablehlo: str, target: Target) -> tuple[str, str] | None:
    """Whether a target's compiler ignores memory kinds that the program requests.

    Args:
        stablehlo: the lowered program.
        target: the target.

    Returns:
        reason and advice; None if it honors them.
    """
    kinds = [kind for kind in HOST_MEMORIES if f'mhlo.memory_kind = "{kind}"' in stablehlo]
    if not kinds or keeps_memory_kinds(target.devices[0]):
        return None
    for kind in kinds:
        if kind not in target.honours_memory:
            target.honours_memory[kind] = _honours(target.devices[0], kind)
    if all(target.honours_memory[kind] for kind in kinds):
        return None
    named = " and ".join(f"`{kind}`" for kind in kinds if not target.honours_memory[kind])
    return f"the CUDA plugin of JAX {jax.__version__} ignores the memory kind {named} without a GPU", _UPGRADE


def _honours(device: Any, kind: str) -> bool:
    """Compile a copy from host memory and inspect it. JAX 0.9.2 does not place the argument there, 0.10.2 does."""
    x = jax.ShapeDtypeStruct((8,), "float32", sharding=on_device(device, kind))
    copy = jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Device))
    try:
        header = str(copy.lower(x).compile().as_text()).partition("\n")[0]
    except jax.errors.JaxRuntimeError:
        return False
    return "entry_computation_layout={(f32[8]{0:S(" in header
