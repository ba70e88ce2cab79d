"""Judging: comparisons, budgets and graph rules -> findings -> exit code."""

from hlodiff.policy.findings import CLEAN as CLEAN
from hlodiff.policy.findings import FAILED as FAILED
from hlodiff.policy.findings import PROGRAM_RULES as PROGRAM_RULES
from hlodiff.policy.findings import UNJUDGED as UNJUDGED
from hlodiff.policy.findings import Finding as Finding
from hlodiff.policy.findings import Judgement as Judgement
from hlodiff.policy.findings import Severity as Severity
from hlodiff.policy.findings import exit_code as exit_code
from hlodiff.policy.findings import of_policy as of_policy
from hlodiff.policy.rules import RULES_BY_NAME as RULES_BY_NAME
from hlodiff.policy.scenarios import SCENARIO_RULES as SCENARIO_RULES
from hlodiff.policy.scenarios import judge_scenarios as judge_scenarios
from hlodiff.policy.verdict import judge as judge
from hlodiff.policy.verdict import over_programs as over_programs
