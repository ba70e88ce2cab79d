"""`hlodiff.watch()`: counts what JAX traces and compiles for the calls in a block, in the calling process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hlodiff.tracing.counts import FunctionCounts, TraceCounts, count_traces, format_counts, format_function, many
from hlodiff.tracing.observer import CompiledProgram, Observer, fingerprint_of, observing, plain_events

_MOST_NAMES = 8  # other functions listed if the requested one was not observed: it may be misspelled


class ExpectedCount(int):
    """A number of traces or programs with its reasons, shown by failed assertions.

    Example:
        >>> ExpectedCount(2) == 2, ExpectedCount(2)
        (True, 2)
    """

    why: str = ""

    @classmethod
    def of(cls, number: int, why: str) -> ExpectedCount:
        """The number with its reason."""
        made = cls(number)
        made.why = why
        return made


class WatchResult:
    """Traces and compilations so far; usable during the block and after it.

    Example:
        >>> with watch() as seen:  # doctest: +SKIP
        ...     step(model, x)
        >>> assert seen.traces("step") == 1  # doctest: +SKIP
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._fingerprints: dict[int, str] = {}

    @property
    def counts(self) -> TraceCounts:
        """All counts, as records."""
        return count_traces(plain_events(list(self._observer.events), self._fingerprint))

    def traces(self, name: str | None = None) -> ExpectedCount:
        """How often JAX ran the Python code of a function to trace it.

        Args:
            name: a function: `step`, `Trainer.step`, `grad(loss)`; a JAX operation that received a function outside
                `jax.jit`: `scan`, `cond`, `pure_callback`; None for all of these. Single operations, such as
                `jnp.ones`, are counted by `eager`.

        Returns:
            a number; 0 for a function that JAX found in its cache or that was never called.
        """
        found = self._found(name)
        return self._count(sum(one.traces for one in found), name)

    def programs(self, name: str | None = None) -> ExpectedCount:
        """Number of distinct programs compiled for a function; names and source locations are ignored.

        Args:
            name: as for `traces`.

        Returns:
            a number.
        """
        return self._count(sum(len(one.programs) for one in self._found(name)), name)

    def compiles(self, name: str | None = None) -> ExpectedCount:
        """How often a program of a function was compiled, counting equal ones each time.

        Args:
            name: as for `traces`.

        Returns:
            a number.
        """
        return self._count(sum(one.compiles for one in self._found(name)), name)

    def eager(self) -> ExpectedCount:
        """Number of programs compiled for single operations: `jnp.ones`, a cast, and others that run by themselves.

        Together with `compiles()` these are all programs that the process compiled. An operation that one line compiles
        many times is listed as a function, and counted by `compiles` instead.

        Returns:
            a number.
        """
        return self._count(self.counts.eager, None)

    def waste(self, name: str | None = None) -> ExpectedCount:
        """Number of traces and compiles of a function that yielded a program equal to an earlier one.

        Args:
            name: as for `traces`.

        Returns:
            a number.
        """
        return self._count(sum(one.waste for one in self._found(name)), name)

    def explain(self, name: str | None = None) -> str:
        """Each function with its counts, and why it was traced or compiled again.

        Args:
            name: as for `traces`.

        Returns:
            several lines; the same in every process.
        """
        counts = self.counts if name is None else TraceCounts(tuple(self._found(name)))
        if name is not None and not counts.functions:
            others = ", ".join(one.name for one in self.counts.functions[:_MOST_NAMES])
            here = f"here, but {others}" if others else "here"
            return f"{name}: neither traced nor compiled {here}; what was traced before is answered from JAX's cache"
        return "\n".join(format_counts(counts))

    def __repr__(self) -> str:
        counts = self.counts
        head = f"{many(counts.traces, 'trace')}, {many(counts.programs, 'program')}"
        return "\n  ".join([f"hlodiff.watch: {head}", *map(format_function, counts.functions)])

    def _found(self, name: str | None) -> list[FunctionCounts]:
        if name is None:
            return list(self.counts.functions)
        return [
            one
            for one in self.counts.functions
            if name in (one.name, one.function.short, one.function.name) or one.function.name.endswith(f".{name}")
        ]

    def _count(self, number: int, name: str | None) -> ExpectedCount:
        return ExpectedCount.of(number, self.explain(name))

    def _fingerprint(self, program: CompiledProgram) -> str:
        if program.order not in self._fingerprints:
            self._fingerprints[program.order] = fingerprint_of(program)
            program.forget(text=True)
        return self._fingerprints[program.order]


@contextmanager
def watch(*, fresh: bool = False, root: str | Path | None = None) -> Iterator[WatchResult]:
    """Watch what JAX traces and compiles for the calls in a block.

    Args:
        fresh: whether to empty JAX's caches first, so that the counts do not depend on what ran before.
        root: the folder that file names are relative to; the current folder by default.

    Yields:
        the result.

    Raises:
        CaptureError: this version of JAX has moved a private function that is observed.

    Example:
        >>> import jax
        >>> step = jax.jit(lambda x: x + 1)
        >>> with watch() as seen:
        ...     _ = step(1.0), step(2.0)
        >>> seen.traces("<lambda>"), seen.programs("<lambda>")
        (1, 1)
    """
    if fresh:
        from hlodiff.tracing.observer import forget_compiled

        forget_compiled()
    with observing(executables=False, root=root) as observer:
        yield WatchResult(observer)
