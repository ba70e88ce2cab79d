"""The policy: turns comparisons, budgets and graph rules into findings and an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.policy.findings import CLEAN as CLEAN
    from hlodiff.policy.findings import FAILED as FAILED
    from hlodiff.policy.findings import PROGRAM_RULES as PROGRAM_RULES
    from hlodiff.policy.findings import SCENARIO_RULES as SCENARIO_RULES
    from hlodiff.policy.findings import UNJUDGED as UNJUDGED
    from hlodiff.policy.findings import Finding as Finding
    from hlodiff.policy.findings import exit_code as exit_code
    from hlodiff.policy.findings import of_policy as of_policy
    from hlodiff.policy.findings import over_programs as over_programs
    from hlodiff.policy.growth import changed_growth as changed_growth
    from hlodiff.policy.growth import checked_record as checked_record
    from hlodiff.policy.growth import growth_record as growth_record
    from hlodiff.policy.growth import judge_growth as judge_growth
    from hlodiff.policy.parity import Parity as Parity
    from hlodiff.policy.parity import ParityProgram as ParityProgram
    from hlodiff.policy.parity import judge_parity as judge_parity
    from hlodiff.policy.rules import RULES_BY_NAME as RULES_BY_NAME
    from hlodiff.policy.rules import Rule as Rule
    from hlodiff.policy.scenarios import judge_scenarios as judge_scenarios
    from hlodiff.policy.verdict import closest_margins as closest_margins
    from hlodiff.policy.verdict import judge as judge


if not TYPE_CHECKING:
    # Import a name on first use: a diff of two files needs no budgets or rules.
    __getattr__ = lazy_names(__spec__)
