"""Reading and printing programs: compiled HLO text, StableHLO, HLO protos, all into one model."""

from hlodiff.ir.model import Computation, Frame, Instruction, Layout, Module, Shape
from hlodiff.ir.reading import read, read_bytes, read_text

__all__ = ["Computation", "Frame", "Instruction", "Layout", "Module", "Shape", "read", "read_bytes", "read_text"]
