"""jax-ml/jax#39959: the same sum with the results in columns takes 1.7 times as long on an H100 since JAX 0.10.2."""

import jax

import hlodiff

OLD, NEW, TARGET = ("jax==0.9.2",), ("jax==0.10.2",), "cuda-h100"


def segment_sum(data: jax.Array, ids: jax.Array) -> jax.Array:
    return jax.vmap(lambda row: jax.ops.segment_sum(row, ids, num_segments=12123), out_axes=1)(data)


@hlodiff.register(targets=[TARGET])
def scatter_columns() -> hlodiff.Case:
    return hlodiff.Case(segment_sum, hlodiff.abstract((1024, 50000), "float32"), hlodiff.abstract((50000,), "int32"))
