"""XLA's own parser as a second opinion on one input, in a process of its own: what is damaged may end it."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections import Counter

from hlodiff.hlo import mlir
from tests.oracle import Fact, fields, proto_facts

_SECONDS, _ADDRESS_SPACE = 10, 8 * 1024**3


def opcodes(text: str) -> Counter[str] | None:
    """How many instructions of each kind XLA's parser reads in a text; None where it refuses it or ends.

    Those of a computation count once for each place that calls it, since equal computations become one; parameters do
    not count, since a fusion keeps one of those that are given the same.
    """
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
            found = _counted(mlir.hlo_from_text(text).as_serialized_hlo_module_proto())
            with os.fdopen(writer, "wb") as stream_of_answer:
                stream_of_answer.write(json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return Counter(json.loads(data)) if data else None


def _counted(proto: bytes) -> Counter[str]:
    inside: dict[str, list[Fact]] = {}
    for fact in proto_facts(proto):
        inside.setdefault(fact.computation, []).append(fact)
    known: dict[str, Counter[str]] = {}

    def count(computation: str) -> Counter[str]:
        if computation not in known:
            found: Counter[str] = Counter()
            for fact in inside.get(computation, []):
                found[fact.opcode] += fact.opcode != "parameter"
                for called in fact.called:
                    found.update(count(called))
            known[computation] = +found
        return known[computation]

    return count(fields(proto)[2][0].decode())
