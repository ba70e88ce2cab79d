"""The rules for compiled HLO, in the order they are applied."""

from __future__ import annotations

from collections.abc import Callable

from hlodiff.ir.model import Module
from hlodiff.normalize.attribute_rules import (
    attribute_order,
    frontend_attributes,
    header_attributes,
    prefetch_index,
)
from hlodiff.normalize.backend_config import config_noise, json_spelling
from hlodiff.normalize.custom_calls import embedded_kernels, process_pointers
from hlodiff.normalize.device_rules import replica_groups, shardings
from hlodiff.normalize.fusion_parameters import fusion_parameters
from hlodiff.normalize.literals import large_literals
from hlodiff.normalize.merge import equal_computations
from hlodiff.normalize.names import names
from hlodiff.normalize.numbering import callback_numbers, channel_ids
from hlodiff.normalize.order import computation_order, instruction_order
from hlodiff.normalize.provenance_rules import drop_metadata, module_name
from hlodiff.normalize.rule import Rule


def _rule(apply: Callable[[Module], tuple[Module, int]], drops: str, hides: str, name: str = "") -> Rule:
    return Rule(name or apply.__name__, ("compiled",), apply, drops, hides)


COMPILED_RULES: tuple[Rule, ...] = (
    _rule(
        drop_metadata,
        "Debug tables, op names, frames, scheduling names and names from before optimization.",
        "Named scopes and marks of rematerialization, which live in op names alone: reports show them.",
        "metadata",
    ),
    _rule(module_name, "The module's name.", "Nothing: it is the name of the Python function."),
    _rule(
        header_attributes,
        "Permissions for the partitioner and the prefetcher in the header, and the order of header attributes.",
        "Whether JAX let XLA choose a sharding; the chosen one stands on parameters and root.",
    ),
    _rule(
        prefetch_index,
        "The number of a copy that starts before the program does.",
        "That a weight is prefetched across programs; the copy itself stays.",
    ),
    _rule(
        frontend_attributes,
        "Fingerprints, layout and memory space modes, empty meshes, empty kernel metadata; the order of the rest.",
        "A layout or memory space that JAX asked for but XLA did not give.",
    ),
    _rule(
        json_spelling,
        "The order of keys in backend configurations and whether they are printed bare or as a string.",
        "Nothing: it is JSON.",
    ),
    _rule(
        config_noise,
        "Estimates, retries, known bits, scoped memory offsets and sizes, queue ids, cores of the compiling machine; "
        "fields at their proto3 default, which are what missing ones are.",
        "On cpu fewer threads for a loop on the same machine; on tpu more scratch memory for the same kernel; an "
        "optional field set to its default where it was not set at all.",
    ),
    _rule(
        process_pointers,
        "Addresses in the process that compiled the program.",
        "Another partitioning function or callback behind the same custom call.",
    ),
    _rule(
        embedded_kernels,
        "Paths and lines inside serialized kernels; the kernel is kept as a hash of its MLIR.",
        "What changed inside a kernel: only that it changed is seen.",
    ),
    _rule(
        large_literals,
        "The numbers of constants of more than 64 elements; element type, shape, bytes and a hash stay.",
        "Which element of a large constant changed.",
    ),
    _rule(
        shardings,
        "The spelling of device lists in shardings, and the order among replicas of one tile.",
        "Nothing: every device holds what it held.",
    ),
    _rule(
        replica_groups,
        "The spelling of replica groups and the order among groups; the order inside a group stays.",
        "Names of mesh axes, which XLA prints in one spelling only.",
    ),
    _rule(
        attribute_order,
        "The order in which attributes are printed.",
        "Nothing.",
    ),
    _rule(
        fusion_parameters,
        "The order of a fusion's parameters, where its call operands are permuted alike, and of operands that it "
        "does not tell apart: these stand by what is near them, then by all that they are computed from.",
        "Nothing: no memory layout depends on it.",
    ),
    _rule(
        channel_ids,
        "The numbers of channels and host rendezvous; which instructions share one stays.",
        "Nothing: a channel is who meets on it.",
    ),
    _rule(
        callback_numbers,
        "The numbers of Python callbacks.",
        "Two callbacks of the same shapes that swap places.",
    ),
    _rule(
        instruction_order,
        "The printed order of instructions where there is no schedule.",
        "Nothing: without a schedule XLA orders them later.",
    ),
    _rule(
        equal_computations,
        "Repetitions of a computation.",
        "Loss of sharing, which costs time to compile: the count of dropped copies is reported.",
    ),
    _rule(
        computation_order,
        "The printed order of computations.",
        "Nothing.",
    ),
    _rule(
        names,
        "Names of computations and instructions.",
        "`.remat` in a name, the only mark of XLA's own rematerialization: metrics count it before.",
    ),
)
