"""What `print` and a notebook show of a difference and of a report."""

from __future__ import annotations

import subprocess
import sys

import hlodiff
from hlodiff.report import Report

OLD = "HloModule step\nENTRY e {\n  p = f32[8]{0} parameter(0)\n  ROOT r = f32[8]{0} tanh(p)\n}"


def test_print_of_a_difference_is_the_short_text() -> None:
    found = hlodiff.diff(hlodiff.read_text(OLD), hlodiff.read_text(OLD.replace("tanh", "exponential")))
    lines = str(found).split("\n")
    assert lines[0] == "step  = same cost; tanh -> exponential"
    assert "    changed tanh -> exponential  (8 flops, 64 B)" in lines
    assert lines[-1] == "1 changed"
    assert str(hlodiff.diff(hlodiff.read_text(OLD), hlodiff.read_text(OLD))) == "1 unchanged"


def test_a_notebook_gets_both_forms_and_nothing_breaks_out() -> None:
    hostile = OLD.replace("HloModule step", "HloModule <script>alert")
    found = hlodiff.diff(hlodiff.read_text(hostile), hlodiff.read_text(hostile.replace("tanh", "exponential")))
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == str(found)
    assert bundle["text/html"] == found._repr_html_()
    assert bundle["text/html"].startswith("<pre style=") and bundle["text/html"].endswith("</pre>")
    assert "<script" not in bundle["text/html"]
    assert "changed tanh -&gt; exponential" in bundle["text/html"]


def test_a_report_shows_itself() -> None:
    empty = Report("diff", "a", "b", ())
    assert str(empty) == "nothing to compare"
    assert ">nothing to compare</span></pre>" in empty._repr_html_()
    assert set(empty._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_reports_are_imported_only_when_somebody_looks() -> None:
    code = "import sys, hlodiff; hlodiff.diff; print('hlodiff.report.text' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
