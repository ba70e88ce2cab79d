"""A Pallas kernel: `silu(x) + y` in blocks.

Catches: an edit of the kernel. The compiled program holds it as serialized code inside one custom call (Mosaic's, for
TPU and for NVIDIA), so no count of instructions sees it; hlodiff compares that code by content, and not by the path
of the file it was compiled from. Pallas has no compiler for `cpu`: there the kernel is interpreted.
"""

from functools import partial
from typing import Any

import jax
import jax.experimental.pallas as pl

import hlodiff

BLOCK = (128, 128)


def kernel(x_ref: Any, y_ref: Any, out_ref: Any) -> None:
    """What happens to one block."""
    x = x_ref[...]
    out_ref[...] = x * jax.nn.sigmoid(x) + y_ref[...]


def blockwise(x: jax.Array, y: jax.Array, *, interpret: bool = False) -> jax.Array:
    """The kernel on all rows of blocks."""
    block = pl.BlockSpec(BLOCK, lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // BLOCK[0],),
        in_specs=[block, block],
        out_specs=block,
        interpret=interpret,
    )
    return call(x, y)


def silu_plus(x: jax.Array, y: jax.Array) -> jax.Array:
    """The compiled kernel where there is a compiler for it."""
    return jax.lax.platform_dependent(x, y, cpu=partial(blockwise, interpret=True), default=blockwise)


@hlodiff.register
def pallas_kernel() -> hlodiff.Case:
    rows = hlodiff.abstract((256, 128), "float32")
    return hlodiff.Case(silu_plus, rows, rows)
