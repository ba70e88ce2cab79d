"""`hlodiff.watch()`: what the calls in a block made JAX trace and compile, in the process that makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hlodiff.capture.accounts import fingerprint_of, plain_events
from hlodiff.capture.compiled_programs import Program
from hlodiff.capture.observing import Observer, observing
from hlodiff.traces.counted import Account, Counted, count
from hlodiff.traces.words import account_in_words, function_in_words, many

_MOST_NAMES = 8  # of other functions, where one is asked for that was not seen: its name may be misspelt


class Count(int):
    """A number of traces or programs that knows why it is what it is, for messages of failed assertions.

    Example:
        >>> Count(2) == 2, Count(2)
        (True, 2)
    """

    why: str = ""

    @classmethod
    def of(cls, number: int, why: str) -> Count:
        """The number with its reason."""
        made = cls(number)
        made.why = why
        return made


class Seen:
    """What was traced and compiled so far; it can be asked during the block and after it.

    Example:
        >>> with watch() as seen:  # doctest: +SKIP
        ...     step(model, x)
        >>> assert seen.traces("step") == 1  # doctest: +SKIP
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._marks: dict[int, str] = {}

    @property
    def account(self) -> Account:
        """Everything counted, as records."""
        return count(plain_events(list(self._observer.events), self._mark))

    def traces(self, name: str | None = None) -> Count:
        """How often JAX ran the Python code of a function in order to trace it.

        Args:
            name: a function: `step`, `Trainer.step`, `grad(loss)`; all functions where None. JAX's own functions and
                operations are never counted.

        Returns:
            a number; 0 for a function that was answered from JAX's cache or never called.
        """
        found = self._found(name)
        return self._count(sum(one.traces for one in found), name)

    def programs(self, name: str | None = None) -> Count:
        """How many different programs were compiled of a function: different once names and places are left out.

        Args:
            name: as for `traces`.

        Returns:
            a number.
        """
        return self._count(sum(len(one.programs) for one in self._found(name)), name)

    def compiles(self, name: str | None = None) -> Count:
        """How often a program of a function was compiled, equal ones counted each time.

        Args:
            name: as for `traces`.

        Returns:
            a number.
        """
        return self._count(sum(one.compiles for one in self._found(name)), name)

    def waste(self, name: str | None = None) -> Count:
        """How many traces and compiles of a function yielded a program equal to one that there was already.

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
        account = Account(tuple(self._found(name)))
        if name is not None and not account.functions:
            others = ", ".join(one.name for one in self.account.functions[:_MOST_NAMES])
            here = f"here, but {others}" if others else "here"
            return f"{name}: neither traced nor compiled {here}; what was traced before is answered from JAX's cache"
        return "\n".join(account_in_words(account))

    def __repr__(self) -> str:
        account = self.account
        head = f"{many(account.traces, 'trace')}, {many(account.programs, 'program')}"
        return "\n  ".join([f"hlodiff.watch: {head}", *map(function_in_words, account.functions)])

    def _found(self, name: str | None) -> list[Counted]:
        return [one for one in self.account.functions if name is None or _is_called(one, name)]

    def _count(self, number: int, name: str | None) -> Count:
        return Count.of(number, self.explain(name))

    def _mark(self, program: Program) -> str:
        if program.order not in self._marks:
            self._marks[program.order] = fingerprint_of(program)
            program.forget(text=True)
        return self._marks[program.order]


def _is_called(one: Counted, name: str) -> bool:
    function = one.function
    return name in (one.name, function.short, function.name) or function.name.endswith(f".{name}")


@contextmanager
def watch(*, fresh: bool = False, root: str | Path | None = None) -> Iterator[Seen]:
    """Watch what the calls in a block make JAX trace and compile.

    Args:
        fresh: whether JAX's caches are emptied first, so that the counts do not depend on what ran before.
        root: the folder that files are named relative to; the current one by default.

    Yields:
        what was seen.

    Raises:
        CaptureError: this version of JAX keeps what is watched in another place.

    Example:
        >>> import jax
        >>> step = jax.jit(lambda x: x + 1)
        >>> with watch() as seen:
        ...     _ = step(1.0), step(2.0)
        >>> seen.traces("<lambda>"), seen.programs("<lambda>")
        (1, 1)
    """
    if fresh:
        from hlodiff.capture.observing import forget_compiled

        forget_compiled()
    with observing(executables=False, root=root) as observer:
        yield Seen(observer)
