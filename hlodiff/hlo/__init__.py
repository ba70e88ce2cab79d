"""Reading and printing programs: compiled HLO text, StableHLO, HLO protos, all into one model."""

from hlodiff.hlo.files import read, read_bytes, read_text
from hlodiff.hlo.model import Computation, Frame, Instruction, Layout, Module, Shape

__all__ = ["Computation", "Frame", "Instruction", "Layout", "Module", "Shape", "read", "read_bytes", "read_text"]
