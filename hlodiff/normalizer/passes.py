"""The passes of the normalizer, in the order in which they run.

A new pass is one row here, one fixture folder under tests/fixtures/normalize, and docs/normalizer.md, which `python -m
tests.normalizer_page` regenerates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from hlodiff.hlo.model import Module, Stage

Apply = Callable[..., tuple[Module, int]]
"""Takes a module; returns it without some noise, and how many places changed."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One named step of the normalizer.

    Args:
        name: what `normalize_counted` counts it under; also the name of its fixture folder.
        stages: the stages it is applied to.
        function: the step itself, `file:function` in this room, imported when a program needs it.
        drops: one sentence: what it takes away.
        hides: one sentence: what real change it could hide.
        needs: attributes and opcodes; a program with none of them has nothing for this pass. () for all programs.
        affects_diff: whether the differ applies it too. False for passes that only make a file easy to read and to
            compare by eye: the differ does not depend on names, order or provenance, and uses them as evidence
            (`op_name`) and in reports (the names that users know).
    """

    name: str
    stages: tuple[Stage, ...]
    function: str
    drops: str
    hides: str
    needs: tuple[str, ...] = ()
    affects_diff: bool = True

    @property
    def apply(self) -> Apply:
        """The step."""
        file, _, name = self.function.partition(":")
        found: Apply = getattr(import_module(f"hlodiff.normalizer.{file}"), name)
        return found


_COMPILED: tuple[Stage, ...] = ("compiled",)
_STABLEHLO: tuple[Stage, ...] = ("stablehlo",)
# Each custom call has one of these attributes.
_CUSTOM_CALLS = ("custom_call_target", "call_target_name")


COMPILED_PASSES: tuple[Pass, ...] = (
    Pass(
        "metadata", _COMPILED, "attributes:drop_metadata",
        "Debug tables, op names, frames, scheduling names and names from before optimization.",
        "Named scopes and marks of rematerialization, which live in op names alone: reports show them.",
        affects_diff=False,
    ),
    Pass(
        "module_name", _COMPILED, "attributes:module_name",
        "The module's name.",
        "Nothing: it is the name of the Python function.",
        affects_diff=False,
    ),
    Pass(
        "header_attributes", _COMPILED, "attributes:header_attributes",
        "Permissions for the partitioner and the prefetcher in the header, and the order of header attributes.",
        "Whether JAX let XLA choose a sharding; the chosen one is on parameters and root.",
    ),
    Pass(
        "prefetch_index", _COMPILED, "attributes:prefetch_index",
        "The number of a copy that starts before the program does.",
        "That a weight is prefetched across programs; the copy itself stays.",
        needs=("cross_program_prefetch_index",),
    ),
    Pass(
        "frontend_attributes", _COMPILED, "attributes:frontend_attributes",
        "Fingerprints, layout and memory space modes, the suggested size of combined collectives, how XLA launches a "
        "kernel on a GPU, empty meshes, empty kernel metadata; the order of the rest.",
        "A layout or memory space that JAX asked for but XLA did not give; whether a kernel may start before the one "
        "before it ends, and which operands it may cache, as XLA decides them.",
        needs=("frontend_attributes",),
    ),
    Pass(
        "json_spelling", _COMPILED, "backend_config:json_spelling",
        "The order of keys in backend configurations and whether they are printed bare or as a string.",
        "Nothing: it is JSON.",
        needs=("backend_config",),
    ),
    Pass(
        "config_noise", _COMPILED, "backend_config:config_noise",
        "Estimates, retries, known bits, scoped memory offsets and sizes, queue ids, cores of the compiling machine; "
        "fields at their proto3 default, which are what missing ones are. Custom calls that are not XLA's keep all.",
        "On cpu fewer threads for a loop on the same machine; on tpu more scratch memory for the same kernel; an "
        "optional field set to its default where it was not set at all.",
        needs=("backend_config",),
    ),
    Pass(
        "process_pointers", _COMPILED, "backend_config:process_pointers",
        "Addresses in the process that compiled the program, in Python callbacks and custom partitioners.",
        "A different partitioning function or callback behind the same custom call.",
        needs=_CUSTOM_CALLS,
    ),
    Pass(
        "embedded_kernels", _COMPILED, "backend_config:embedded_kernels",
        "Paths and lines inside serialized kernels of Pallas and Triton; the kernel is kept as a hash of its MLIR.",
        "What changed inside a kernel: only that it changed is seen.",
        needs=_CUSTOM_CALLS,
    ),
    Pass(
        "large_literals", _COMPILED, "constants:large_literals",
        "The numbers of constants of more than 64 elements; element type, shape, bytes and a hash stay.",
        "Which element of a large constant changed.",
        needs=("constant",),
    ),
    Pass(
        "shardings", _COMPILED, "attributes:shardings",
        "The spelling of device lists in shardings, and the order among replicas of one tile.",
        "Nothing: every device holds what it held.",
        needs=("sharding",),
    ),
    Pass(
        "replica_groups", _COMPILED, "attributes:replica_groups",
        "The spelling of replica groups and the order among groups; the order inside a group stays. The order among "
        "the pairs of a permutation, which are a set.",
        "Names of mesh axes, which XLA prints in one spelling only.",
        needs=("replica_groups", "source_target_pairs"),
    ),
    Pass(
        "attribute_order", _COMPILED, "attributes:attribute_order",
        "The order in which attributes are printed.",
        "Nothing.",
    ),
    Pass(
        "fusion_parameters", _COMPILED, "fusion_parameters:fusion_parameters",
        "The order of a fusion's parameters, where its call operands are permuted alike, and of operands that are "
        "interchangeable in it: these are ordered by their local context, then by all that they are computed from.",
        "Nothing: no memory layout depends on it.",
    ),
    Pass(
        "channel_ids", _COMPILED, "naming:channel_ids",
        "The numbers of channels and host rendezvous; which instructions share one stays. A diff also drops the number"
        " of a TPU's chain (`chain_id`), the steps of one collective, and that in its name (`async_collective_name`).",
        "Nothing: a channel is who meets on it, and the steps of a chain hand its state from one to the next.",
        needs=("channel_id", "frontend_attributes"),
    ),
    Pass(
        "callback_numbers", _COMPILED, "naming:callback_numbers",
        "The numbers of Python callbacks; which instructions share one stays.",
        "Two callbacks of the same shapes that swap places.",
        needs=_CUSTOM_CALLS,
    ),
    Pass(
        "instruction_order", _COMPILED, "ordering:instruction_order",
        "The printed order of instructions where there is no schedule.",
        "Nothing: without a schedule XLA orders them later.",
        affects_diff=False,
    ),
    Pass(
        "equal_computations", _COMPILED, "ordering:equal_computations",
        "Repetitions of a computation.",
        "Loss of sharing, which costs time to compile: the count of dropped copies is reported.",
        affects_diff=False,
    ),
    Pass(
        "computation_order", _COMPILED, "ordering:computation_order",
        "The printed order of computations.",
        "Nothing.",
        affects_diff=False,
    ),
    Pass(
        "names", _COMPILED, "naming:names",
        "Names of computations and instructions.",
        "`.remat` in a name, the only mark of XLA's own rematerialization: metrics count it before.",
        affects_diff=False,
    ),
)  # fmt: skip

STABLEHLO_PASSES: tuple[Pass, ...] = (
    Pass(
        "locations", _STABLEHLO, "attributes:drop_metadata",
        "MLIR locations: scopes, Python frames and the user's names of arguments; reports take them from source.json.",
        "Nothing that runs.",
        affects_diff=False,
    ),
    Pass(
        "stablehlo_module_name", _STABLEHLO, "attributes:module_name",
        "The module's name, which JAX takes from the Python function.",
        "Nothing that runs.",
        affects_diff=False,
    ),
    Pass(
        "labels", _STABLEHLO, "stablehlo:drop_labels",
        "`jax.result_info` and `jax.arg_info`, which repeat paths in the caller's pytrees.",
        "A renamed field of a result; the positions of arguments and results stay compared.",
    ),
    Pass(
        "process_pointers", _STABLEHLO, "naming:replace_pointers",
        "Addresses of Python objects in custom partitioners and older callbacks, different in every process.",
        "A different partitioning function under the same sharding rule.",
        needs=_CUSTOM_CALLS,
    ),
    Pass(
        "callback_index", _STABLEHLO, "naming:number_callbacks",
        "The number of a host callback in a list that one process shares: it becomes the order in the program. A diff"
        " drops it, and that of a host rendezvous, unless several instructions have it.",
        "A different Python function called at the same place; an added or removed callback is still an edit.",
        needs=_CUSTOM_CALLS,
    ),
    Pass(
        "sets", _STABLEHLO, "stablehlo:sort_sets",
        "The order of manual axes and of the pairs of a permutation, which are sets.",
        "Nothing.",
    ),
    Pass(
        "meshes", _STABLEHLO, "attributes:name_meshes",
        "Names of meshes, repeated meshes, meshes that nothing uses; axis names, sizes and device ids stay.",
        "Nothing that runs.",
    ),
    Pass(
        "large_constants", _STABLEHLO, "constants:hash_constants",
        "The numbers of constants of more than 64 elements: shape, type, bytes and a hash of the content stay.",
        "Which numbers of a table changed; that it changed is still an edit.",
        needs=("constant",),
    ),
    Pass(
        "embedded_kernels", _STABLEHLO, "backend_config:hash_kernels",
        "Debug info and names inside Pallas kernels (Mosaic, Triton): a hash of the decoded kernel stays.",
        "What changed inside a kernel; that it changed is still an edit.",
        needs=_CUSTOM_CALLS,
    ),
    Pass(
        "equal_functions", _STABLEHLO, "stablehlo:merge_functions",
        "Repeated equal private functions, and the order of functions.",
        "Lost sharing of traced functions, which costs compile time.",
        affects_diff=False,
    ),
    Pass(
        "function_names", _STABLEHLO, "stablehlo:name_functions",
        "Names of private functions, which count what was traced before: they become result and content hash.",
        "A renamed Python function.",
        affects_diff=False,
    ),
    Pass(
        "value_names", _STABLEHLO, "stablehlo:name_values",
        "SSA names: they come from opcode and neighbourhood.",
        "Nothing.",
        affects_diff=False,
    ),
)  # fmt: skip

PASSES: tuple[Pass, ...] = (*COMPILED_PASSES, *STABLEHLO_PASSES)

_SAME_TYPE_AND_SHAPE = (
    "The numbers of constants of more than 64 elements; type, shape and bytes stay.",
    "A different table of the same type and shape.",
)
# Where a project sets large_constants = "ignore", these replace the passes of the same name.
IGNORING: dict[str, Pass] = {
    "large_literals": Pass("large_literals", _COMPILED, "constants:ignored_literals", *_SAME_TYPE_AND_SHAPE),
    "large_constants": Pass("large_constants", _STABLEHLO, "constants:ignore_constants", *_SAME_TYPE_AND_SHAPE),
}


def passes_for(*modules: Module) -> list[Pass]:
    """The passes of the modules' stage, in order, that have something to look at in one of them."""
    present = frozenset[str]().union(*(module.words for module in modules))
    stage = modules[0].stage
    return [step for step in PASSES if stage in step.stages and not (step.needs and present.isdisjoint(step.needs))]
