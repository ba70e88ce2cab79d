"""XLA's pass dumps: which text is which stage, what each pass did, where an instruction comes from, where two part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.differ.passes.blame import PassBlame as PassBlame
    from hlodiff.differ.passes.dumps import Dump as Dump
    from hlodiff.differ.passes.dumps import dumps_of as dumps_of
    from hlodiff.differ.passes.origin import InstructionOrigin as InstructionOrigin
    from hlodiff.differ.passes.origin import PassHistory as PassHistory
    from hlodiff.differ.passes.origin import origin_of as origin_of
    from hlodiff.differ.passes.steps import PassStep as PassStep
    from hlodiff.differ.passes.steps import followed as followed
    from hlodiff.differ.passes.steps import pass_steps as pass_steps


if not TYPE_CHECKING:
    # Import a name on first use: a command needs one of them.
    __getattr__ = lazy_names(__spec__)
