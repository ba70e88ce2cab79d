"""Running the variants of one computation, and what the programs of each come to."""

from __future__ import annotations

from hlodiff.capture.variants import Executable, VariantRun, VariantsResult, run_variants
from hlodiff.config import Config
from hlodiff.differ.executed import executed
from hlodiff.differ.fusion_borders import Calls, Kernel, inner_calls, kernels
from hlodiff.differ.metrics import count
from hlodiff.hlo.model import Module
from hlodiff.inspect.variant_budgets import over_limits, variant_limits
from hlodiff.inspect.variants_report import Comparison, Variant, median
from hlodiff.progress import progress


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
    programs = [_read(ran) for ran in varied.variants]
    # XLA's estimate counts one turn of a loop: beside a variant without one it would look like less work.
    counted = any(_loops(module) for _, after in programs for module in after)
    for ran, read in zip(varied.variants, programs, strict=True):
        variants.append(_variant(ran, inner, root, whole, read, counted))
    over = tuple(over_limits(limits, variants, varied.variants))
    return Comparison(varied.name, varied.jax, tuple(dict.fromkeys(name for name, _ in inner)), tuple(variants), over)


def _read(ran: VariantRun) -> tuple[list[Module], list[Module]]:
    from hlodiff.hlo import read_text

    if ran.problem:
        return [], []
    return [read_text(each.stablehlo) for each in ran.executables], [
        read_text(each.compiled) for each in ran.executables
    ]


def _loops(module: Module) -> bool:
    return any(it.opcode in ("while", "conditional") for body in module.computations for it in body.instructions)


def _variant(
    ran: VariantRun,
    inner: list[tuple[str, str]],
    root: str,
    whole: list[tuple[str, Module]],
    read: tuple[list[Module], list[Module]],
    counted: bool,
) -> Variant:
    if ran.problem:
        return Variant(ran.name, problem=ran.problem)
    before, after = read
    counts = [count(module) for module in after]
    own = [module for module, each in zip(after, ran.executables, strict=True) if not each.eager]
    found: list[Kernel] = [kernel for module in own for kernel in kernels(module, inner, root)]
    calls, same_as, compared_with, edits = _nested(ran, before, after, whole)
    figures = {what: _per_call(ran.executables, after, what, counted, root) for what in ("bytes_accessed", "flops")}
    return Variant(
        name=ran.name,
        executables=len(ran.executables),
        eager=sum(each.eager for each in ran.executables),
        launches=sum(each.launches for each in ran.executables),
        again=ran.again,
        stablehlo=int(sum(count(module).plain["instructions"] for module in before)),
        instructions=int(sum(each.plain["instructions"] for each in counts)),
        fusions=sum(sum(each.fusions.values()) for each in counts),
        bytes_accessed=figures["bytes_accessed"][0],
        flops=figures["flops"][0],
        traces=ran.traces,
        trace=ran.traced,
        compile=sum(each.seconds for each in ran.executables),
        first=ran.first,
        later=median(ran.later),
        least=min(ran.later, default=0.0),
        most=max(ran.later, default=0.0),
        unknown=tuple(dict.fromkeys(why for _, why in figures.values() if why)),
        kernels=tuple(found),
        calls=calls,
        same_as=same_as,
        compared_with=compared_with,
        edits=edits,
    )


def _per_call(
    executables: tuple[Executable, ...], modules: list[Module], what: str, counted: bool, root: str
) -> tuple[float | None, str]:
    """What one later call costs; None with the reason where that is not known of everything that is launched."""
    total = 0.0
    for each, module in zip(executables, modules, strict=True):
        if not each.launches:
            continue
        figure, why = _counted(module, what, root) if counted else (getattr(each, what), "")
        if figure is None:
            return None, why or f"XLA gives no estimate of {what.replace('_', ' ')} for {each.name}"
        total += each.launches * figure
    return total, ""


def _counted(module: Module, what: str, root: str) -> tuple[float | None, str]:
    found = executed(module)[what]
    if found.exact is not None:
        return float(found.exact), ""
    words = what.replace("_", " ")
    if found.per_turn:
        return None, f"{words}: how often {found.per_turn[0][0].words(root)} turns is not known"
    most = "more than can be counted" if found.most is None else f"{found.most:,}"
    return None, f"{words}: between {found.least:,} and {most}, as branches are taken"


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
