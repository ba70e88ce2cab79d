"""Policies as assertions on a captured program, for tests; failures name the instruction and Python line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from hlodiff.config import budgets, measured_as, rules, suggestion
from hlodiff.differ import diff
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import ConfigError
from hlodiff.hlo.collectives import FAMILIES, collectives
from hlodiff.hlo.grammar import donated_parts
from hlodiff.hlo.metadata import own_frame, shown_file
from hlodiff.hlo.model import COPIES, Module, Shape
from hlodiff.hlo.traversal import multiplicities
from hlodiff.policy.budgets import MetricPair, format_metric, over_budget
from hlodiff.policy.program_pair import Hit, ProgramPair, type_of
from hlodiff.policy.rules import RULES_BY_NAME, DonationAliases, NoLostPlacement, over_axis, rule_of

_MOST_LINES = 8
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Program:
    """A case compiled for one target, as returned by `hlodiff.capture_program`.

    Args:
        name: name in messages.
        target: target it is compiled for.
        stablehlo: the StableHLO that JAX gives to XLA.
        compiled: the HLO that XLA compiles it to.
        facts: numbers reported by the compiler, by name: `memory.temp`, `cost.flops`.
        root: the folder that paths of Python files are relative to.
        donated: entry parameters that the case donates.
    """

    name: str
    target: str
    stablehlo: Module = field(repr=False)
    compiled: Module = field(repr=False)
    facts: Mapping[str, float] = field(default_factory=dict, repr=False)
    root: str = field(default="", repr=False)
    donated: tuple[int, ...] = field(default=(), repr=False)

    def metric(self, name: str) -> float:
        """A metric by its name in budgets: "temp_bytes", "fusions", "collectives.all-gather.bytes", "loop.copies".

        Args:
            name: any metric in docs/policy.md, for the compiled program.

        Returns:
            its value.

        Raises:
            ConfigError: there is no such metric, or the compiler does not report it for this target.

        Example:
            >>> program.metric("temp_bytes")  # doctest: +SKIP
            4096
        """
        __tracebackhide__ = True
        if measured_as(name) is None:
            _typed(lambda: budgets([{name: 0}], ""), "metric")  # raises with a suggestion
        value = self._measured().value(name)[1]
        if value is None:
            raise ConfigError(f"`{name}` is not known for {self.target}: the compiler does not report it")
        return value

    def assert_budget(self, **limits: object) -> None:
        """Assert limits of metrics, as in the configuration: `assert_budget(temp_bytes="1 MiB", converts=0)`.

        Args:
            limits: a limit for each metric; names with dots as `**{"collectives.all-gather": 0}`.

        Raises:
            AssertionError: a metric is over its limit.
            ConfigError: no such metric or limit, or a limit of growth, which needs a snapshot.

        Example:
            >>> program.assert_budget(fusions=3)  # doctest: +SKIP
        """
        __tracebackhide__ = True
        (budget,) = _typed(lambda: budgets([limits], ""), "assert_budget")
        growing = [limit.metric for limit in budget.limits if limit.growth is not None]
        if growing:
            hint = "use assert_grows_at_most, or a budget in the configuration"
            raise ConfigError(f"`{growing[0]}` has a growth limit, but there is no earlier value", hint=hint)
        for limit in budget.limits:
            self.metric(limit.metric)
        found = [Hit(one.what, "", one.source) for one in over_budget(self._measured(), budget)]
        self._fail_for(found)

    def assert_rule(self, rule: str, **options: object) -> None:
        """Assert a graph rule: `assert_rule("no-f64")`, `assert_rule("custom-calls", only=["TopK"])`.

        Args:
            rule: its name.
            options: its own, as in the configuration.

        Raises:
            AssertionError: the program breaks it.
            ConfigError: no such rule or option.

        Example:
            >>> program.assert_rule("no-host-callback")  # doctest: +SKIP
        """
        __tracebackhide__ = True
        (use,) = _typed(lambda: rules({rule: options}, "", RULES_BY_NAME), "assert_rule")
        self._fail_for(rule_of(use).violations(self._both()))

    def assert_no_collective(
        self, kind: str = "", *, min_dimension: int = 0, min_bytes: int = 0, axis: str = ""
    ) -> None:
        """Assert that there is no collective of a kind.

        Args:
            kind: "all-gather", "all-reduce", "reduce-scatter", "all-to-all", ...; "" for any.
            min_dimension: only those over a dimension of at least this size (of an array in the program of one device);
                where a collective has no dimension, as an all-reduce, any dimension of its arrays counts.
            min_bytes: only those whose result has at least this many bytes on one device.
            axis: only those over this axis of the mesh.

        Raises:
            AssertionError: there is one.
            ConfigError: no such kind.

        Example:
            >>> program.assert_no_collective("all-gather", min_dimension=4096)  # doctest: +SKIP
        """
        __tracebackhide__ = True
        if kind and kind not in FAMILIES:
            raise ConfigError(f"unknown collective `{kind}`", hint=suggestion(kind, FAMILIES))
        module, weights = self.compiled, multiplicities(self.compiled)
        found = []
        for one in collectives(module):
            shape = module.computations[one.computation].instructions[one.instruction].shape
            is_asked = kind in ("", one.family) and weights[one.computation].total
            if is_asked and one.bytes >= min_bytes and _largest(shape, one.dimension) >= min_dimension:
                found.append(one)
        if axis and found:
            found, unknown = over_axis(found, self.stablehlo, axis)
            self._fail_for([Hit(unknown, "")] if unknown else [])
        hits = []
        for one in found:
            it = module.computations[one.computation].instructions[one.instruction]
            size = _largest(it.shape, one.dimension)
            over = f" over dimension {one.dimension} of {size}" if one.dimension is not None else ""
            what = f"{it.opcode} %{it.name} {type_of(it)} is of the kind {one.family}{over}"
            hits.append(Hit(what, "", module.stack(it.frame)))
        self._fail_for(hits)

    def assert_aliased_bytes(self, at_least: int) -> None:
        """Assert that results reuse at least this many bytes of donated arguments.

        Args:
            at_least: bytes on one device.

        Raises:
            AssertionError: fewer bytes are aliased; the message lists the aliased arguments.

        Example:
            >>> program.assert_aliased_bytes(weights * 4)  # doctest: +SKIP
        """
        __tracebackhide__ = True
        aliased = [part.parameter for part in donated_parts(self.compiled.attributes) if part.result is not None]
        entry = self.compiled.entry_computation
        sizes = {
            number: entry.instructions[at].shape.bytes
            for number, at in enumerate(entry.parameters)
            if number in aliased
        }
        total = self.facts.get("memory.alias", sum(sizes.values()))
        if total >= at_least:
            return
        total_text = (
            f"{format_metric('alias_bytes', total)} are aliased; at least {format_metric('alias_bytes', at_least)}"
        )
        arguments = ", ".join(map(str, sizes)) or "none"
        lost = list(DonationAliases().violations(self._both()))
        self._fail_for([Hit(f"{total_text}. Aliased arguments: {arguments}", ""), *lost])

    def assert_no_copy_in_loop(self, *, min_bytes: int = 0) -> None:
        """Assert that no copy is inside a while loop, fusions included: it would run in every iteration.

        Args:
            min_bytes: only copies of at least this many bytes.

        Raises:
            AssertionError: there is one.

        Example:
            >>> program.assert_no_copy_in_loop(min_bytes=1024)  # doctest: +SKIP
        """
        __tracebackhide__ = True
        module, found = self.compiled, []
        for computation, weight in zip(module.computations, multiplicities(module), strict=True):
            for it in computation.instructions if weight.in_loop else ():
                written = it.shape.tuple_shapes[0] if it.shape.tuple_shapes else it.shape
                if it.opcode in COPIES and written.bytes >= min_bytes:
                    size = format_metric("copy_bytes", written.bytes)
                    what = f"{it.opcode} %{it.name} {type_of(it)} of {size} is in a loop"
                    found.append(Hit(what, "", module.stack(it.frame)))
        self._fail_for(found)

    def assert_grows_at_most(self, times: float, small: Program, metric: str = "temp_bytes") -> None:
        """Assert that a metric is at most `times` that of a smaller case: `temp(4N) / temp(N)` at most 4.

        Args:
            times: the largest ratio.
            small: the same function captured at a smaller size.
            metric: any metric of budgets.

        Raises:
            AssertionError: it grew more.
            ConfigError: no such metric.

        Example:
            >>> long.assert_grows_at_most(4.1, short)  # doctest: +SKIP
        """
        __tracebackhide__ = True
        before, after = small.metric(metric), self.metric(metric)
        if after <= before * times:
            return
        ratio = f"{after / before:.3g} times" if before else "from nothing"
        words = f"{metric} grew {ratio}, from {format_metric(metric, before)} to {format_metric(metric, after)}"
        self._fail_for([Hit(f"{words}; at most {times:g} times", "")])

    def assert_placement_kept(self, before: Program) -> None:
        """Assert that everything placed on the host, in its memory or sharded in another program is still placed so.

        Args:
            before: the same function captured before a change.

        Raises:
            AssertionError: something is placed elsewhere.

        Example:
            >>> refactored.assert_placement_kept(original)  # doctest: +SKIP
        """
        __tracebackhide__ = True
        stages = [(before.stablehlo, self.stablehlo), (before.compiled, self.compiled)]
        pairs = [ProgramComparison(self.name, self.target, new.stage, "changed", diff(old, new)) for old, new in stages]
        both = ProgramPair(self.name, self.target, *pairs)
        self._fail_for(NoLostPlacement().violations(both))

    def _both(self) -> ProgramPair:
        return ProgramPair(self.name, self.target, self._alone(self.stablehlo), self._alone(self.compiled))

    def _alone(self, module: Module) -> ProgramComparison:
        return ProgramComparison(
            self.name, self.target, module.stage, "added", None, {}, self.facts, module=module, donated=self.donated
        )

    def _measured(self) -> MetricPair:
        return MetricPair(self._alone(self.compiled))

    def _fail_for(self, hits: Iterable[Hit]) -> None:
        __tracebackhide__ = True
        found = list(hits)
        if found:
            lines = []
            for hit in found[:_MOST_LINES]:
                frame = own_frame(hit.source)
                at = f" ({shown_file(frame.file, self.root)}:{frame.line}, {frame.function})" if frame else ""
                lines.append(f"  {hit.what}{at}")
            lines += [f"  and {len(found) - _MOST_LINES:,} more"] if len(found) > _MOST_LINES else []
            raise AssertionError("\n".join([f"{self.name} on {self.target}:", *lines]))


def _largest(shape: Shape, dimension: int | None) -> int:
    """The size of a dimension in the arrays of a collective; the largest one if `dimension` is None."""
    sizes = [leaf.dimensions for leaf in shape.leaves]
    if dimension is None:
        return max((size for each in sizes for size in each), default=0)
    return max((each[dimension] for each in sizes if dimension < len(each)), default=0)


def _typed(read: Callable[[], T], call: str) -> T:
    """Read the arguments of a call like configuration; a mistake is reported at the call."""
    __tracebackhide__ = True
    try:
        return read()
    except ConfigError as error:
        what, hint = error.what, error.hint
        of = error.where.strip(" 1.:")  # the metric or option, after the number of a table
    # Raised outside of `except`, so that a test does not show the traceback of the reader.
    raise ConfigError(what, where=f"{call}: {of}" if of else call, hint=hint)
