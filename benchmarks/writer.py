"""Prints a module as a compiler does: computations in the module's order, with debug tables and metadata."""

from __future__ import annotations

from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.printer import print_instruction


def write(module: Module) -> str:
    """The program as text of its stage.

    `hlodiff.hlo.printer` writes callees in call order and no metadata; noise needs a free order and metadata.
    """
    if module.stage == "stablehlo":
        from hlodiff.hlo.stablehlo_printer import print_stablehlo

        return print_stablehlo(module)
    head = [f"HloModule {module.name}", *(f"{k}={v}" if v else k for k, v in module.attributes)]
    parts = [", ".join(head) + "\n", *_tables(module)]
    for index in range(len(module.computations)):
        parts.append(_computation(module, index))
    return "\n".join(parts)


def _computation(module: Module, index: int) -> str:
    computation = module.computations[index]
    lines = [f"{'ENTRY ' if index == module.entry else ''}%{computation.name} {{"]
    for n, it in enumerate(computation.instructions):
        lines.append("  " + print_instruction(module, index, n) + _metadata(it))
    tail = [f"{k}={v}" if v else k for k, v in computation.attributes]
    if computation.execution_thread:
        tail.append(f'execution_thread="{computation.execution_thread}"')
    return "\n".join([*lines, ", ".join(["}", *tail]) + "\n"])


def _metadata(it: Instruction) -> str:
    parts = [f"op_name={_quote(it.op_name)}"] if it.op_name else []
    if it.frame >= 0:
        parts.append(f"stack_frame_id={it.frame + 1}")
    if it.metadata:
        parts.append(it.metadata)
    return ", metadata={" + " ".join(parts) + "}" if parts else ""


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _tables(module: Module) -> list[str]:
    """The four debug tables; XLA writes a frame's parent as its id plus one, 1 for none."""
    if not module.frames:
        return []
    files = {name: n for n, name in enumerate(dict.fromkeys(f.file for f in module.frames), 1)}
    functions = {name: n for n, name in enumerate(dict.fromkeys(f.function for f in module.frames), 1)}
    places = [
        f"{n} {{file_name_id={files[f.file]} function_name_id={functions[f.function]} "
        f"line={f.line} end_line={f.line} column=1 end_column=9}}"
        for n, f in enumerate(module.frames, 1)
    ]
    stack = [f"{n} {{file_location_id={n} parent_frame_id={f.parent + 2}}}" for n, f in enumerate(module.frames, 1)]
    rows = {
        "FileNames": [f"{n} {_quote(name)}" for name, n in files.items()],
        "FunctionNames": [f"{n} {_quote(name)}" for name, n in functions.items()],
        "FileLocations": places,
        "StackFrames": stack,
    }
    return ["\n".join([name, *lines]) + "\n" for name, lines in rows.items()]
