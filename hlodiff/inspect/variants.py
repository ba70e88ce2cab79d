"""The variants of one computation: runs them, summarizes their programs, and checks and reports their budgets."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import Any, cast

from hlodiff.capture import check_jax
from hlodiff.capture.environment import Setting
from hlodiff.capture.messages import Executable, VariantRun, VariantsResult
from hlodiff.capture.pool import WorkerDeath, WorkerPool
from hlodiff.config import Config, amount, closest
from hlodiff.differ.metrics import BOOKKEEPING, count, executed
from hlodiff.errors import ConfigError, UsageError
from hlodiff.hlo.metadata import is_library, shown_file
from hlodiff.hlo.model import CALLS, Computation, Frame, Instruction, Module
from hlodiff.hlo.traversal import preorder
from hlodiff.progress import progress
from hlodiff.report.lines import code, escape_markdown, json_text, printable
from hlodiff.report.wording import format_bytes, format_count, format_seconds, many


def compare_variants(config: Config, names: tuple[str, ...], calls: int) -> list[Comparison]:
    """Run the variants of some computations on cpu and compare them.

    Args:
        config: the project's.
        names: names registered with `@hlodiff.variants`, or patterns; all if empty.
        calls: number of timed calls after the first.

    Returns:
        one record per computation; a variant that could not be run gives the reason.
    """
    check_jax()
    setting = Setting(False, 1)
    found: list[VariantsResult] = []
    with progress(1, "running") as step, WorkerPool(config) as pool:
        pool.start_ready(setting, "capture")
        for name in _select(cast("tuple[str, ...]", pool.ask(setting, "variants", None)), names):
            step(name, 0)
            try:
                found.append(cast(VariantsResult, pool.ask(setting, "vary", (name, calls))))
            except WorkerDeath as death:  # the others run in a new worker
                died = VariantRun(name, problem=death.describe(name))
                found.append(VariantsResult(name, (died,), (), version("jax")))
    return [_comparison(varied, str(config.root)) for varied in found]


def _select(names: tuple[str, ...], patterns: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        hint = 'decorate one that returns {"inner": hlodiff.Case(f, x), "outer": hlodiff.Case(jax.jit(f), x)}'
        raise UsageError("no function uses @hlodiff.variants", hint=hint)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            near = closest(pattern, names)
            hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(names)}"
            raise UsageError(f"nothing matches `{pattern}` in variants", hint=hint)
    return tuple(name for name in names if not patterns or any(fnmatchcase(name, each) for each in patterns))


def _comparison(varied: VariantsResult, root: str) -> Comparison:
    from hlodiff.hlo import read_text

    limits = variant_limits(varied)
    inner = [(border.name, border.file) for border in varied.borders]
    variants: list[Variant] = []
    whole: list[tuple[str, Module]] = []  # compiled programs of the variants that are a single program
    programs = []
    for ran in varied.variants:
        executables = () if ran.problem else ran.executables
        before = [read_text(each.stablehlo) for each in executables]
        programs.append((before, [read_text(each.compiled) for each in executables]))
    # XLA's estimate counts one iteration of a loop: next to a variant without loops it would look like less work.
    bodies = [body for _, after in programs for module in after for body in module.computations]
    counted = any(it.opcode in ("while", "conditional") for body in bodies for it in body.instructions)
    for ran, read in zip(varied.variants, programs, strict=True):
        variants.append(_variant(ran, inner, root, whole, read, counted))
    over = tuple(over_limits(limits, variants, varied.variants))
    return Comparison(varied.name, varied.jax, tuple(dict.fromkeys(name for name, _ in inner)), tuple(variants), over)


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
    calls, same_as, compared_with, edits = _compared(ran, before, after, whole)
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
    """The cost of one later call; None with the reason if it is unknown for any launched executable."""
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


def _compared(
    ran: VariantRun, before: list[Module], after: list[Module], whole: list[tuple[str, Module]]
) -> tuple[Calls | None, str, str, int | None]:
    """Calls of inner functions, and the comparison of the program with that of an earlier variant."""
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


# --- What the compiler fused across the border of an inner function, and what it kept separate.
#
# The Python call stack of an instruction shows which function it belongs to: XLA keeps the stack of an inner function
# and of the line that called it, even if the function was jitted by itself and its call was inlined.

REST = ""
_FREE = BOOKKEEPING | {"constant", "iota", "broadcast", "copy"}  # copies belong to no function
_STEP_BY_STEP = ("while", "conditional", "call")


@dataclass(frozen=True, slots=True)
class Kernel:
    """Something that runs by itself and writes its result to memory: a fusion or an operation outside of fusions.

    Args:
        parts: the functions whose operations it has, such as "f at model.py:12"; REST is code outside of inner
            functions.
        opcodes: of its operations, without those that move and compute nothing.

    Example:
        >>> Kernel(("f at a.py:6", ""), ("tanh", "add")).crosses
        True
    """

    parts: tuple[str, ...]
    opcodes: tuple[str, ...]

    @property
    def crosses(self) -> bool:
        """Whether it has operations from both sides of a border."""
        return len(self.parts) > 1


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of inner functions in StableHLO, by name, and those left in the compiled program."""

    functions: tuple[str, ...]
    calls: int
    left: int


def kernels(module: Module, functions: Sequence[tuple[str, str]], root: str = "") -> tuple[Kernel, ...]:
    """The kernels of a compiled program, each with the functions that its operations belong to.

    Args:
        module: a compiled program with its frames.
        functions: name and file of each inner function.
        root: the folder that files are named relative to.

    Returns:
        kernels in the order of the program, those of loops and branches among them.

    Example:
        >>> kernels(Module("m", "compiled", (Computation("main", (), 0),), 0), [])
        ()
    """
    found: list[Kernel] = []

    def run_in_steps(index: int) -> Iterator[int]:
        return (n for it in module.computations[index].instructions if it.opcode in _STEP_BY_STEP for n in it.called)

    for index in preorder([module.entry], run_in_steps):
        for it in module.computations[index].instructions:
            if it.called and it.opcode in _STEP_BY_STEP:
                continue
            inside = [*_all(module, [module.computations[called] for called in it.called])]
            found += _kernel(module, inside if it.opcode == "fusion" else [*inside, it], functions, root)
    return tuple(found)


def _all(module: Module, bodies: Sequence[Computation]) -> Iterator[Instruction]:
    for body in bodies:
        for it in body.instructions:
            yield it
            yield from _all(module, [module.computations[called] for called in it.called])


def _kernel(
    module: Module, instructions: Sequence[Instruction], functions: Sequence[tuple[str, str]], root: str
) -> list[Kernel]:
    working = [it for it in instructions if it.opcode not in _FREE]
    parts: dict[str, None] = {}
    for it in working:
        if it.frame >= 0:
            parts.setdefault(part_of(module.stack(it.frame), functions, root))
    if not working:
        return []
    return [Kernel(tuple(parts) or (REST,), tuple(it.opcode for it in working))]


def part_of(stack: Sequence[Frame], functions: Sequence[tuple[str, str]], root: str = "") -> str:
    """The function that an instruction belongs to: the innermost inner function, and the line that called it.

    Args:
        stack: its frames, innermost first.
        functions: name and file of each inner function.
        root: the folder that files are named relative to.

    Returns:
        `f at model.py:12`, or REST.

    Example:
        >>> part_of((Frame("a.py", 3, "f"), Frame("a.py", 6, "g")), [("f", "a.py")])
        'f at a.py:6'
    """
    for position, frame in enumerate(stack):
        name = frame.function.rpartition(".")[2]
        if (name, shown_file(frame.file, root)) in functions:
            outer = next((each for each in stack[position + 1 :] if not is_library(each.file)), None)
            return f"{name} at {shown_file(outer.file, root)}:{outer.line}" if outer else name
    return REST


def inner_calls(stablehlo: Module, compiled: Module) -> Calls:
    """How often inner functions are called in StableHLO, and how many of these calls XLA keeps.

    Args:
        stablehlo, compiled: both stages of one program.

    Returns:
        counts of the user's functions; a call that XLA made itself counts as kept too.

    Example:
        >>> empty = Module("m", "compiled", (), 0)
        >>> inner_calls(empty, empty).calls
        0
    """
    before = Counter(
        called
        for body in stablehlo.computations
        for it in body.instructions
        if it.opcode in CALLS
        for called in it.called
        if _plain(stablehlo.computations[called].name) not in _JAX_MADE
    )
    left = sum(it.opcode == "call" for body in compiled.computations for it in body.instructions)
    names = tuple(dict.fromkeys(_plain(stablehlo.computations[called].name) for called in sorted(before)))
    return Calls(names, sum(before.values()), left)


_JAX_MADE = ("closed_call", "core_call", "None", "checkpoint", "wrapped", "shmap_body")  # of loop bodies and the like


def _plain(name: str) -> str:
    """JAX numbers functions of one name: `f`, `f_0`, `f_1`."""
    return re.sub(r"_\d+$", "", name)


# --- Budgets: `@hlodiff.variants(budget={"outer": {"launches": 1}})`.

Limits = Mapping[str, Mapping[str, float]]


def variant_limits(varied: VariantsResult) -> Limits:
    """The validated budget of a computation.

    Args:
        varied: the result, with its unchecked budget.

    Returns:
        limits by variant and count.

    Raises:
        ConfigError: the budget has an unknown variant or count, or a limit that is not a number.

    Example:
        >>> budget = {"outer": {"launches": 1}}
        >>> variant_limits(VariantsResult("g", (VariantRun("outer"),), (), "0.10.2", "m.py:3", budget))
        {'outer': {'launches': 1}}
    """
    where = f"{varied.where}: budget"
    names = [ran.name for ran in varied.variants]
    found: dict[str, dict[str, float]] = {}
    for name, limits in _table(varied.budget if varied.budget is not None else {}, where, names, "variant").items():
        own = f"{where}.{name}"
        table = _table(limits, own, COUNTS, "count")
        found[name] = {count: amount(most, count, f"{own}.{count}") for count, most in table.items()}
    return found


def _table(value: object, where: str, names: Sequence[str], what: str) -> Mapping[str, object]:
    """A table whose keys must be among these names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"must be a table, not {value!r}", where=where, hint='budget={"outer": {"launches": 1}}')
    for name in value:
        if name not in names:
            near = closest(name, names)
            hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(names)}"
            raise ConfigError(f"there is no {what} `{name}`", where=where, hint=hint)
    return value


def over_limits(limits: Limits, variants: Sequence[Variant], ran: Sequence[VariantRun]) -> Iterator[str]:
    """The counts that exceed their limits.

    Args:
        limits: by variant and count.
        variants: the counts of the variants.
        ran: the same variants, with their executables.

    Returns:
        one line per count over its limit; a count that XLA does not report counts as over, because its limit has no
        effect.

    Example:
        >>> list(over_limits({"outer": {"fusions": 1}}, [Variant("outer", fusions=3)], [VariantRun("outer")]))
        ['outer: 3 fusions, at most 1 allowed']
    """
    for variant, each in zip(variants, ran, strict=True):
        for what, most in () if variant.problem else limits.get(variant.name, {}).items():
            found = getattr(variant, what)
            if found is None:
                yield f"{variant.name}: {what} is limited and not known"
            elif found > most:
                over = f"{_format_amount(what, found)} {what}, at most {_format_amount(what, most)} allowed"
                # Many launched executables indicate a function compiled in parts, or eager operations.
                launched = [one for one in each.executables if one.launches and what in _LAUNCHED]
                names = ", ".join(f"{one.name}{' (eager)' if one.eager else ''}" for one in launched)
                yield f"{variant.name}: {over}{f': {names}' if names else ''}"


_LAUNCHED = ("executables", "eager", "launches")


def _format_amount(count: str, number: float) -> str:
    return format_bytes(number) if count == "bytes_accessed" else format_count(number)


# --- The report of `hlodiff inspect variants`.


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant: its executables, the launches of one call, and its times.

    Args:
        name: its name.
        problem: why it could not be run; the other fields are then not set.
        executables, eager: number of compiled executables, and of eager operations among them.
        launches: number of launches in one later call.
        again: number of executables that a second, equal call compiled again.
        stablehlo, instructions, fusions: totals over all executables, each counted once.
        bytes_accessed, flops: for one later call: XLA's estimate, or multiplied by trip counts if some variant has a
            loop.
        traces: number of traces of Python code.
        unknown: why a figure is missing, one sentence each.
        trace, compile, first, later: seconds; `later` is a median.
        least, most: seconds of the fastest and slowest later call.
        kernels: kernels of the programs, without eager operations.
        calls: calls of inner functions, if the variant is a single program.
        same_as: an earlier variant with the same compiled program; "" if there is none.
        edits: number of edits from the first single-program variant to this one; None if they were not compared.

    Example:
        >>> Variant("outer", executables=1, launches=1).launches
        1
    """

    name: str
    problem: str = ""
    executables: int = 0
    eager: int = 0
    launches: int = 0
    again: int = 0
    stablehlo: int = 0
    instructions: int = 0
    fusions: int = 0
    bytes_accessed: float | None = None
    flops: float | None = None
    traces: int = 0
    trace: float = 0.0
    compile: float = 0.0
    first: float = 0.0
    later: float = 0.0
    least: float = 0.0
    most: float = 0.0
    unknown: tuple[str, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    calls: Calls | None = None
    same_as: str = ""
    compared_with: str = ""
    edits: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One computation in all its variants, on cpu.

    Args:
        name: its registered name.
        jax: the version of JAX that ran it.
        inner: names of the inner functions.
        variants: in order of registration.
        over: one sentence per exceeded budget.
    """

    name: str
    jax: str
    inner: tuple[str, ...]
    variants: tuple[Variant, ...]
    over: tuple[str, ...] = ()


COUNTS = (
    "executables", "eager", "launches", "again", "stablehlo", "instructions", "fusions", "bytes_accessed", "flops",
    "traces",
)  # fmt: skip
"""Counts that a budget can limit. Times cannot be limited, because they vary between runs."""


_ROWS: tuple[tuple[str, Callable[[Variant], str]], ...] = (
    ("executables", lambda v: f"{v.executables} ({v.eager} eager)" if v.eager else str(v.executables)),
    ("launches per call", lambda v: str(v.launches)),
    ("StableHLO ops", lambda v: format_count(v.stablehlo)),
    ("instructions", lambda v: format_count(v.instructions)),
    ("fusions", lambda v: format_count(v.fusions)),
    ("bytes accessed", lambda v: "not known" if v.bytes_accessed is None else format_bytes(v.bytes_accessed)),
    ("flops", lambda v: "not known" if v.flops is None else format_count(v.flops)),
    ("traces", lambda v: str(v.traces)),
    ("trace time", lambda v: format_seconds(v.trace)),
    ("compile time", lambda v: format_seconds(v.compile)),
    ("first call", lambda v: format_seconds(v.first)),
    ("later call", lambda v: format_seconds(v.later)),
    ("  least to most", lambda v: f"{format_seconds(v.least)} to {format_seconds(v.most)}" if v.most else ""),
)


def variants_text(comparisons: Sequence[Comparison]) -> str:
    """The report for a terminal.

    Args:
        comparisons: in display order.

    Returns:
        text ending in a newline.

    Example:
        >>> print(variants_text([Comparison("g", "0.10.2", (), (Variant("outer", problem="broken"),))]), end="")
        g  cpu  jax 0.10.2
          outer  not run: broken
    """
    return "\n".join("".join(line.rstrip() + "\n" for line in _lines(each)) for each in comparisons)


def _lines(comparison: Comparison) -> Iterator[str]:
    yield printable(f"{comparison.name}  cpu  jax {comparison.jax}")
    ran = [variant for variant in comparison.variants if not variant.problem]
    for variant in comparison.variants:
        if variant.problem:
            yield printable(f"  {variant.name}  not run: {variant.problem}")
    if not ran:
        return
    wide = max(len(title) for title, _ in _ROWS)
    columns = [max(len(v.name), *(len(show(v)) for _, show in _ROWS)) + 2 for v in ran]
    yield f"  {'':<{wide}}" + "".join(f"{printable(v.name):>{w}}" for v, w in zip(ran, columns, strict=True))
    for title, show in _shown_rows(ran):
        yield f"  {title:<{wide}}" + "".join(f"{show(v):>{w}}" for v, w in zip(ran, columns, strict=True))
    yield ""
    for title, lines in _sections(comparison, ran):
        yield f"  {title}"
        yield from (f"    {printable(line)}" for line in lines)


def _shown_rows(ran: Sequence[Variant]) -> list[tuple[str, Callable[[Variant], str]]]:
    """The rows in which at least one variant has a value."""
    return [row for row in _ROWS if any(row[1](variant) for variant in ran)]


def _sections(comparison: Comparison, ran: Sequence[Variant]) -> Iterator[tuple[str, list[str]]]:
    of = f" of {', '.join(comparison.inner)}" if comparison.inner else ""
    if borders := [f"{v.name}: {words}" for v in ran for words in _border(v)]:
        yield f"across the border{of}", borders
    if nested := [f"{v.name}: {words}" for v in ran for words in _nested(v)]:
        yield f"what nested jit does here, with jax {comparison.jax}", nested
    notes: list[str] = []
    for variant in ran:
        if variant.again:
            notes.append(f"{variant.name}: a second, equal call compiled {many(variant.again, 'executable')} again")
        notes += [f"{variant.name}: {words}" for words in variant.unknown]
    if notes:
        yield "look at", notes
    if comparison.over:
        yield "over budget", list(comparison.over)


def _border(variant: Variant) -> Iterator[str]:
    own = variant.executables - variant.eager
    if not own:
        launches = many(variant.launches, "launch", "launches")
        if variant.fusions:
            fused = many(variant.fusions, "fusion")
            yield f"{launches}: each operation runs on its own, and the {fused} are inside single operations"
        else:
            yield f"nothing is fused, {launches}: each operation runs on its own"
        return
    crossing = [kernel for kernel in variant.kernels if kernel.crosses]
    if own > 1 or variant.eager:
        words = f"{many(own, 'jitted executable')} and {many(variant.eager, 'eager operation')}"
        yield f"{words}: what one hands the next goes through memory, and nothing is fused between them"
    elif variant.launches > 1:
        times = f"one executable, launched {variant.launches} times"
        yield f"{times}: what one launch hands the next goes through memory, and nothing is fused between them"
    for kernel in crossing[:4]:
        parts = _listed([part for part in kernel.parts if part != REST] + ["the rest"] * (REST in kernel.parts))
        yield f"fused: one kernel of {many(len(kernel.opcodes), 'operation')} holds {parts}"
    if len(crossing) > 4:
        yield f"fused: {len(crossing) - 4} more kernels across the border"
    yield from _apart(variant, bool(crossing))


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _apart(variant: Variant, crossing: bool) -> Iterator[str]:
    """Kernels on only one side of the border, if there are two sides to fuse."""
    alone: dict[str, list[str]] = {}
    for kernel in variant.kernels:
        if not kernel.crosses:
            alone.setdefault(kernel.parts[0], []).append(kernel.opcodes[0] if len(kernel.opcodes) == 1 else "fusion")
    sides = {part for kernel in variant.kernels for part in kernel.parts}
    if len(sides) < 2:
        return
    for part, opcodes in alone.items():
        names = ", ".join(dict.fromkeys(opcodes))
        yield f"not fused: {many(len(opcodes), 'kernel')} of {part or 'the rest'} alone ({names})"
    if not crossing and not variant.eager and variant.executables == variant.launches == 1:
        yield "nothing was fused across the border, although it is one program"


def _nested(variant: Variant) -> Iterator[str]:
    calls = variant.calls
    if calls is not None and calls.calls:
        what = f"{many(calls.calls, 'call')} of {_listed(calls.functions)} in StableHLO"
        left = "none is left in the compiled program: XLA inlined them" if not calls.left else (
            f"{many(calls.left, 'call')} in the compiled program"
        )  # fmt: skip
        yield f"{what}; {left}"
    if variant.same_as:
        same = f"the compiled program is the same as that of {variant.same_as}"
        yield f"{same}: the difference in time is noise" if variant.most else same
    elif variant.edits:
        yield f"the compiled program differs from that of {variant.compared_with} in {many(variant.edits, 'edit')}"


def variants_markdown(comparisons: Sequence[Comparison]) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    return "\n".join("\n".join(_markdown(each)) + "\n" for each in comparisons)


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield from (f"### hlodiff: {code(comparison.name)} on cpu, jax {escape_markdown(comparison.jax)}", "")
    ran = [variant for variant in comparison.variants if not variant.problem]
    for variant in comparison.variants:
        if variant.problem:
            yield f"- {code(variant.name)} not run: {escape_markdown(variant.problem)}"
    if not ran:
        return
    yield "| | " + " | ".join(code(variant.name) for variant in ran) + " |"
    yield "|---|" + "--:|" * len(ran)
    for title, show in _shown_rows(ran):
        yield f"| {title.strip()} | " + " | ".join(escape_markdown(show(variant)) for variant in ran) + " |"
    for title, lines in _sections(comparison, ran):
        yield from ("", f"**{escape_markdown(title)}**", "")
        yield from (f"- {escape_markdown(line)}" for line in lines)


def variants_json(comparisons: Sequence[Comparison]) -> str:
    """Everything as JSON text."""
    found: list[dict[str, Any]] = [
        {
            "name": one.name,
            "target": "cpu",
            "jax": one.jax,
            "inner": list(one.inner),
            "variants": [asdict(each) for each in one.variants],
            "over": list(one.over),
        }
        for one in comparisons
    ]
    return json_text({"format_version": "1.0", "command": "jit-report", "comparisons": found})


def median(seconds: Sequence[float]) -> float:
    """The median; 0 for no values."""
    return statistics.median(seconds) if seconds else 0.0
