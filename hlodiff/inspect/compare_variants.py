"""Running the variants of one computation, and what the programs of each come to."""

from __future__ import annotations

from hlodiff.capture.variants import Executable, VariantRun, VariantsResult, run_variants
from hlodiff.config import Config
from hlodiff.differ.fusion_borders import Calls, Kernel, inner_calls, kernels
from hlodiff.differ.metrics import count
from hlodiff.hlo.model import Module
from hlodiff.inspect.variant_budgets import over_limits, variant_limits
from hlodiff.inspect.variants_report import Comparison, Variant, median
from hlodiff.workflows.progress import progress


def compare_variants(config: Config, names: tuple[str, ...], calls: int) -> list[Comparison]:
    """Run the variants of some computations on cpu and compare them.

    Args:
        config: the project's.
        names: what `@hlodiff.variants` registers, or patterns; all where empty.
        calls: how many calls after the first are timed.

    Returns:
        one record for each computation; a variant that could not be run says why.
    """
    with progress(1, "running") as step:
        found = run_variants(config, names, calls, lambda name: step(name, 0))
    return [_comparison(varied, str(config.root)) for varied in found]


def _comparison(varied: VariantsResult, root: str) -> Comparison:
    limits = variant_limits(varied)
    inner = [(border.name, border.file) for border in varied.borders]
    variants: list[Variant] = []
    whole: list[tuple[str, Module]] = []  # compiled programs of the variants that are one program
    for ran in varied.variants:
        variants.append(_variant(ran, inner, root, whole))
    over = tuple(over_limits(limits, variants, varied.variants))
    return Comparison(varied.name, varied.jax, tuple(dict.fromkeys(name for name, _ in inner)), tuple(variants), over)


def _variant(ran: VariantRun, inner: list[tuple[str, str]], root: str, whole: list[tuple[str, Module]]) -> Variant:
    from hlodiff.hlo import read_text

    if ran.problem:
        return Variant(ran.name, problem=ran.problem)
    before = [read_text(each.stablehlo) for each in ran.executables]
    after = [read_text(each.compiled) for each in ran.executables]
    counts = [count(module) for module in after]
    own = [module for module, each in zip(after, ran.executables, strict=True) if not each.eager]
    found: list[Kernel] = [kernel for module in own for kernel in kernels(module, inner, root)]
    calls, same_as, compared_with, edits = _nested(ran, before, after, whole)
    return Variant(
        name=ran.name,
        executables=len(ran.executables),
        eager=sum(each.eager for each in ran.executables),
        launches=sum(each.launches for each in ran.executables),
        again=ran.again,
        stablehlo=int(sum(count(module).plain["instructions"] for module in before)),
        instructions=int(sum(each.plain["instructions"] for each in counts)),
        fusions=sum(sum(each.fusions.values()) for each in counts),
        bytes_accessed=_per_call(ran.executables, "bytes_accessed"),
        flops=_per_call(ran.executables, "flops"),
        traces=ran.traces,
        trace=ran.traced,
        compile=sum(each.seconds for each in ran.executables),
        first=ran.first,
        later=median(ran.later),
        kernels=tuple(found),
        calls=calls,
        same_as=same_as,
        compared_with=compared_with,
        edits=edits,
    )


def _per_call(executables: tuple[Executable, ...], what: str) -> float | None:
    """What one later call costs; None where XLA does not say it of everything that is launched."""
    figures = [(each.launches, getattr(each, what)) for each in executables if each.launches]
    if any(figure is None for _, figure in figures):
        return None
    return float(sum(launches * figure for launches, figure in figures))


def _nested(
    ran: VariantRun, before: list[Module], after: list[Module], whole: list[tuple[str, Module]]
) -> tuple[Calls | None, str, str, int | None]:
    """Calls of inner functions, and how the program compares with that of an earlier variant."""
    from hlodiff.differ import diff

    if len(ran.executables) != 1 or ran.executables[0].eager or ran.executables[0].launches != 1:
        return None, "", "", None
    calls = inner_calls(before[0], after[0])
    results = [(name, diff(other, after[0])) for name, other in whole]
    whole.append((ran.name, after[0]))
    for name, result in results:
        if result.identical:
            return calls, name, name, 0
    if not results:
        return calls, "", "", None
    name, result = results[0]
    return calls, "", name, sum(result.summary.values())
