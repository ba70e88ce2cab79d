"""jax-ml/jax#39959, openxla/xla#47203: a segment sum under `vmap` is five times slower on an H100 since JAX 0.9.2."""

import jax

import hlodiff

OLD, NEW, TARGET = ("jax==0.9.1",), ("jax==0.9.2",), "cuda-h100"


def segment_sum(data: jax.Array, ids: jax.Array) -> jax.Array:
    return jax.vmap(lambda row: jax.ops.segment_sum(row, ids, num_segments=12123))(data)


@hlodiff.register(targets=[TARGET])
def scatter() -> hlodiff.Case:
    return hlodiff.Case(segment_sum, hlodiff.abstract((1024, 50000), "float32"), hlodiff.abstract((50000,), "int32"))
