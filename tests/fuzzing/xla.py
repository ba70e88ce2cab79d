"""XLA's own parser as a second opinion on one input, in a process of its own: what is damaged may end it."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections import Counter

from hlodiff.hlo import mlir
from tests.oracle import proto_facts

_SECONDS, _ADDRESS_SPACE = 10, 8 * 1024**3


def opcodes(text: str) -> Counter[str] | None:
    """How many instructions of each kind XLA's parser reads in a text; None where it refuses it or ends."""
    mlir.load_hlo()  # here, so that it is loaded once
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            found = proto_facts(mlir.hlo_from_text(text).as_serialized_hlo_module_proto())
            with os.fdopen(writer, "wb") as stream_of_answer:
                stream_of_answer.write(json.dumps(Counter(fact.opcode for fact in found)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return Counter(json.loads(data)) if data else None
