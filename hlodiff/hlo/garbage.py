"""Python's garbage collector waits while programs are read and compared.

A program is hundreds of thousands of small records that live until the comparison ends, and the collector walks them
again and again for cycles that are not there: a seventh of the time of a comparison. What is dropped on the way is
freed by its reference count as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """No collections of cycles inside; afterwards they are as they were, also after an error.

    What was made inside counts as old afterwards: else the first collection would walk all of it. A later collection of
    what is old finds it. Where this runs at once in several threads, the one that began decides: collections are on
    again when it ends.

    Example:
        >>> with without_garbage_collection():
        ...     gc.isenabled()
        False
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # what somebody froze stays frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()
