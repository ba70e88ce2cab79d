"""The gradient of a feed-forward layer on four devices: data x model parallel, and fully sharded (FSDP).

Catches: a collective nobody wrote. One `jax.lax.with_sharding_constraint` too many, or an axis name in another place,
and XLA gathers a whole matrix on every device before it multiplies. FSDP catches the reverse as well: weights that
were gathered for use and are now kept whole.

Four devices are needed, so the targets are `cpu-4` (cpu with four devices) and the four chips of the two others.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import hlodiff

TARGETS = ["cpu-4", "tpu-v5e-2x2", "cuda-h100-x4"]
Weights = dict[str, jax.Array]


def feed_forward(weights: Weights, x: jax.Array, hidden_spec: P) -> jax.Array:
    """Two matrix products around an activation."""
    hidden = jax.nn.gelu(x @ weights["up"])
    hidden = jax.lax.with_sharding_constraint(hidden, hidden_spec)
    return hidden @ weights["down"]


def gradient(weights: Weights, x: jax.Array, y: jax.Array, *, mesh: Mesh, hidden_spec: P) -> Weights:
    """The gradient of the mean squared error for both matrices."""

    def loss(weights: Weights) -> jax.Array:
        return jnp.mean((feed_forward(weights, x, hidden_spec) - y) ** 2)

    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):  # lets a bare PartitionSpec name the axes of the mesh
        result: Weights = jax.grad(loss)(weights)
    return result


def sharded_case(mesh: Mesh, up: P, down: P, batch: P, hidden: P) -> hlodiff.Case:
    """The gradient with the given shardings; it comes out sharded like the weights."""
    weights = {
        "up": hlodiff.abstract((64, 256), "float32", sharding=NamedSharding(mesh, up)),
        "down": hlodiff.abstract((256, 64), "float32", sharding=NamedSharding(mesh, down)),
    }
    x = hlodiff.abstract((32, 64), "float32", sharding=NamedSharding(mesh, batch))
    function = partial(gradient, mesh=mesh, hidden_spec=hidden)
    return hlodiff.Case(function, weights, x, x, out_shardings=jax.tree.map(lambda w: w.sharding, weights))


@hlodiff.register(targets=TARGETS)
def feed_forward_sharded(target: hlodiff.Target) -> hlodiff.Case:
    """Megatron's way: the hidden axis over `model`, the batch over `data`, one all-reduce after each layer."""
    mesh = target.mesh((2, 2), ("data", "model"))
    return sharded_case(mesh, up=P(None, "model"), down=P("model", None), batch=P("data"), hidden=P("data", "model"))


@hlodiff.register(targets=TARGETS)
def feed_forward_fsdp(target: hlodiff.Target) -> hlodiff.Case:
    """Every device holds a quarter of the weights and of the batch, and gathers weights only to use them."""
    mesh = target.mesh((4,), ("fsdp",))
    return sharded_case(mesh, up=P("fsdp"), down=P("fsdp"), batch=P("fsdp"), hidden=P("fsdp"))
