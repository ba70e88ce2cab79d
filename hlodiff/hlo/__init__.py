"""Reading and printing programs: compiled HLO text, StableHLO, HLO protos, all into one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.hlo.files import read as read
from hlodiff.hlo.files import read_bytes as read_bytes
from hlodiff.hlo.files import read_text as read_text
from hlodiff.hlo.model import STAGES as STAGES
from hlodiff.hlo.model import Computation as Computation
from hlodiff.hlo.model import Frame as Frame
from hlodiff.hlo.model import Instruction as Instruction
from hlodiff.hlo.model import Layout as Layout
from hlodiff.hlo.model import Module as Module
from hlodiff.hlo.model import Shape as Shape
from hlodiff.hlo.model import Stage as Stage
from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.hlo.fingerprint import contents as contents
    from hlodiff.hlo.fingerprint import program_fingerprint as program_fingerprint
    from hlodiff.hlo.parser import LazyComputations as LazyComputations
    from hlodiff.hlo.parser import read_hlo as read_hlo
    from hlodiff.hlo.printer import print_hlo as print_hlo
    from hlodiff.hlo.printer import print_instruction as print_instruction
    from hlodiff.hlo.stablehlo_parser import read_stablehlo as read_stablehlo
    from hlodiff.hlo.stablehlo_printer import print_stablehlo as print_stablehlo
    from hlodiff.hlo.text_fingerprint import TextFingerprinter as TextFingerprinter


if not TYPE_CHECKING:
    # Import a reader or printer on first use.
    __getattr__ = lazy_names(__spec__)
