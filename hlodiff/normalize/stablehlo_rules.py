"""The rules of the StableHLO stage, in the order in which they run."""

from __future__ import annotations

from hlodiff.normalize.embedded_kernels import hash_kernels
from hlodiff.normalize.provenance_rules import drop_metadata, module_name
from hlodiff.normalize.rule import Rule
from hlodiff.normalize.stablehlo_callbacks import number_callbacks, replace_pointers
from hlodiff.normalize.stablehlo_constants import hash_constants
from hlodiff.normalize.stablehlo_functions import merge_functions, name_functions
from hlodiff.normalize.stablehlo_labels import drop_labels
from hlodiff.normalize.stablehlo_meshes import name_meshes
from hlodiff.normalize.stablehlo_names import name_values
from hlodiff.normalize.stablehlo_sets import sort_sets

STABLEHLO_RULES: tuple[Rule, ...] = (
    Rule(
        "locations", ("stablehlo",), drop_metadata,
        "MLIR locations: scopes, Python frames and the user's names of arguments; reports take them from source.json.",
        "Nothing that runs.",
    ),
    Rule(
        "stablehlo_module_name", ("stablehlo",), module_name,
        "The module's name, which JAX takes from the Python function.",
        "Nothing that runs.",
    ),
    Rule(
        "labels", ("stablehlo",), drop_labels,
        "`jax.result_info` and `jax.arg_info`, which repeat paths in the caller's pytrees.",
        "A renamed field of a result; the positions of arguments and results stay compared.",
    ),
    Rule(
        "process_pointers", ("stablehlo",), replace_pointers,
        "Addresses of Python objects in custom partitioners and older callbacks, different in every process.",
        "Another partitioning function under the same sharding rule.",
    ),
    Rule(
        "callback_index", ("stablehlo",), number_callbacks,
        "The number of a host callback in a list that one process shares: it becomes the order in the program.",
        "Another Python function called at the same place; an added or removed callback is still an edit.",
    ),
    Rule(
        "sets", ("stablehlo",), sort_sets,
        "The order of manual axes, which are a set.",
        "Nothing.",
    ),
    Rule(
        "meshes", ("stablehlo",), name_meshes,
        "Names of meshes, repeated meshes, meshes that nothing uses; axis names, sizes and device ids stay.",
        "Nothing that runs.",
    ),
    Rule(
        "large_constants", ("stablehlo",), hash_constants,
        "The numbers of constants of more than 64 elements: shape, type, bytes and a hash of the content stay.",
        "Which numbers of a table changed; that it changed is still an edit.",
    ),
    Rule(
        "embedded_kernels", ("stablehlo",), hash_kernels,
        "Debug info and names inside Pallas kernels (Mosaic, Triton): a hash of the decoded kernel stays.",
        "What changed inside a kernel; that it changed is still an edit.",
    ),
    Rule(
        "equal_functions", ("stablehlo",), merge_functions,
        "Repeated equal private functions, and the order in which functions stand.",
        "Lost sharing of traced functions, which costs compile time.",
    ),
    Rule(
        "function_names", ("stablehlo",), name_functions,
        "Names of private functions, which count what was traced before: they become result and content hash.",
        "A renamed Python function.",
    ),
    Rule(
        "value_names", ("stablehlo",), name_values,
        "SSA names: they come from opcode and neighbourhood.",
        "Nothing.",
    ),
)  # fmt: skip
