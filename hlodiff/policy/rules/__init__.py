"""Graph rules: what no program of some functions may hold, whatever its numbers. One file for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from hlodiff.config_policy import RuleUse
from hlodiff.policy.programs import Both, Hit
from hlodiff.policy.rules import (
    custom_calls,
    donation_aliases,
    no_collective,
    no_dynamic_shape,
    no_entry_copy,
    no_f64,
    no_host_callback,
    no_lost_placement,
    no_widened_type,
)

Rule = Callable[[Both, RuleUse], Iterator[Hit]]
_FILES: Mapping[str, ModuleType] = {
    "no-f64": no_f64,
    "no-host-callback": no_host_callback,
    "no-collective": no_collective,
    "donation-aliases": donation_aliases,
    "no-widened-type": no_widened_type,
    "no-lost-placement": no_lost_placement,
    "no-entry-copy": no_entry_copy,
    "no-dynamic-shape": no_dynamic_shape,
    "custom-calls": custom_calls,
}
RULES: dict[str, Rule] = {name: file.violations for name, file in _FILES.items()}
ADVICE: dict[str, str] = {name: file.ADVICE for name, file in _FILES.items()}
# The reason that each file begins with; Python leaves it out with -OO.
REASONS: dict[str, str] = {name: (file.__doc__ or "").partition("\n")[0] for name, file in _FILES.items()}
