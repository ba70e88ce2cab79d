"""Work that a program repeats: Python loops that left many copies of one body, and values that are computed again.

JAX unrolls every Python loop. Each iteration leaves the same operations with the same Python stack, and takes values of
the previous iteration. Both are proved among the operations whose stacks go through the lines of one loop of one
function; counts of operations prove nothing. Compiled programs are not searched: XLA splits and merges copies.

The proof (`Repetition`) compares the copies in lockstep. A row holds one instruction of each copy: the same operation,
from the same call in Python, with the same types. Rows grow along operands and users from one chain of instructions,
and a row stays only where each of its operands leads every copy to the same row, by the same number of copies back, or
to a value that no copy computed: an argument, a weight of this layer, a constant. The remaining rows are isomorphic by
construction; they are a chain if the row that they grew from depends on itself one copy before. Each edge is visited a
few times, so the time is about linear in the size of the copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.regions import CARRIERS
from hlodiff.hlo.fingerprint import computation_hashes, digest
from hlodiff.hlo.metadata import REMATERIALISED, is_library, own_frame
from hlodiff.hlo.model import CALLS, COMMUTATIVE, CONDITIONALS, Computation, Frame, Instruction, Module, Place, Shape
from hlodiff.hlo.traversal import called_by, callees_first, is_continuation, multiplicities, operands_first

# --- The proof that a computation repeats one body, copy after copy, each fed by the one before.

_MOST_STEPS = 5_000_000  # about ten seconds; a program of 20,000 operations with a loop takes 200,000
Scope = Mapping[int, None]


class TooLarge(Exception):
    """The proof needs more steps than allowed: nothing is known about the program."""


@dataclass(slots=True)
class Steps:
    """The steps left for the proofs of one program."""

    left: int = _MOST_STEPS

    def take(self, count: int = 1) -> None:
        """Count steps.

        Raises:
            TooLarge: there are none left.
        """
        self.left -= count
        if self.left < 0:
            raise TooLarge


@dataclass(frozen=True, slots=True)
class Proof:
    """Isomorphic copies of one body in a computation.

    Args:
        copies: how many, each fed by the one before.
        rows: for each instruction of the body its position in every copy, in the order of the chain.
        carry: the rows that the value runs through which one copy hands to the next.
    """

    copies: int
    rows: tuple[tuple[int, ...], ...]
    carry: tuple[tuple[int, ...], ...]

    def positions(self) -> Iterator[int]:
        """All instructions of all copies."""
        return (position for row in self.rows for position in row)


@dataclass(frozen=True, slots=True)
class _Edge:
    """A row reads another: `back` copies before its own."""

    user: int
    operand: int
    back: int


@dataclass(slots=True)
class Repetition:
    """Finds isomorphic copies in one computation.

    Args:
        computation: of StableHLO.
        kinds: for each instruction the label that must be equal in every copy; -1 for those in no copy.
        steps: how many steps it may take.
    """

    computation: Computation
    kinds: Sequence[int]
    steps: Steps
    depths: list[int] = field(default_factory=list)
    users: list[list[tuple[int, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        instructions = self.computation.instructions
        self.depths = [0] * len(instructions)
        self.users = [[] for _ in instructions]
        for position in operands_first(self.computation):
            operands = instructions[position].operands
            self.depths[position] = 1 + max((self.depths[operand] for operand in operands), default=0)
            for slot, operand in enumerate(operands):
                self.users[operand].append((position, slot))

    def proofs(self, members: Sequence[int], scope: Scope, least: int) -> tuple[Proof, ...]:
        """The copies that instructions of one kind belong to.

        Args:
            members: all instructions of one kind in the scope.
            scope: the instructions that may belong to a copy.
            least: the minimum number of copies.

        Returns:
            one proof for each place with the same copies, all with the same body; () if nothing is proved.
        """
        found: tuple[Proof, ...] = ()
        for chains in self._chains(members, scope, least):
            proofs = [proof for chain in chains if (proof := self._proof(chain, scope)) is not None]
            bodies = Counter(self._body(proof) for proof in proofs)
            if bodies:
                most = max(bodies, key=lambda body: (bodies[body] * len(body), body))
                equal = tuple(proof for proof in proofs if self._body(proof) == most)
                found = max(found, equal, key=_extent)
            if found and found[0].copies * len(found) == len(members):
                break
        return found

    def _body(self, proof: Proof) -> tuple[int, ...]:
        return tuple(sorted(self.kinds[row[0]] for row in proof.rows))

    def _chains(self, members: Sequence[int], scope: Scope, least: int) -> Iterator[list[list[int]]]:
        """Ways to order members into chains of one length, in which each depends on the one before in the same way."""
        ordered = sorted(members, key=lambda member: (self.depths[member], member))
        if len({self.depths[member] for member in ordered}) < least:
            return  # on a chain, depths increase
        for start in dict.fromkeys((ordered[-1], ordered[len(ordered) // 2])):
            path = self._path(start, scope)
            chains = [chain for chain in self._linked(ordered, path) if len(chain) >= least] if path else []
            lengths = Counter(map(len, chains))
            if lengths:
                length = max(lengths, key=lambda length: (length * lengths[length], length))
                yield [chain for chain in chains if len(chain) == length]

    def _path(self, start: int, scope: Scope) -> list[tuple[int, int]]:
        """The shortest path along operands to another of its kind, as operand numbers and kinds; [] if there is none.

        Of equally short ones, the path to the latest: an iteration may also read values from two iterations before.
        """
        reached_from: dict[int, tuple[int, int]] = {start: (-1, -1)}
        worklist = [start]
        while worklist:
            self.steps.take(len(worklist))
            fresh = []
            for position in worklist:
                for slot, operand in enumerate(self.computation.instructions[position].operands):
                    if operand not in reached_from and operand in scope:
                        reached_from[operand] = (position, slot)
                        fresh.append(operand)
            found = [position for position in fresh if self.kinds[position] == self.kinds[start]]
            if found:
                end = max(found, key=self.depths.__getitem__)
                path = []
                while reached_from[end][0] >= 0:
                    user, slot = reached_from[end]
                    path.append((slot, self.kinds[end]))
                    end = user
                return path[::-1]
            worklist = fresh
        return []

    def _linked(self, members: Sequence[int], path: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
        """The chains along one path; a member with two successors ends one."""
        self.steps.take(len(members) * len(path))
        before = {m: found for m in members if (found := self._follow(m, path)) is not None}
        followers = Counter(before.values())
        after = {found: m for m, found in before.items() if followers[found] == 1}
        following = set(after.values())
        for member in members:
            if member in after and member not in following:
                chain = [member]
                while chain[-1] in after:
                    chain.append(after[chain[-1]])
                yield chain

    def _follow(self, position: int, path: Sequence[tuple[int, int]]) -> int | None:
        for slot, kind in path:
            operands = self.computation.instructions[position].operands
            if slot >= len(operands) or self.kinds[operands[slot]] != kind:
                return None
            position = operands[slot]
        return position

    def _proof(self, chain: Sequence[int], scope: Scope) -> Proof | None:
        """The copies around a chain; None if they are not isomorphic, or the chain does not run through them."""
        rows = self._grown(tuple(chain), scope)
        edges = self._edges(rows)
        if 0 not in edges:
            return None
        import networkx as nx

        flat = [edge for group in edges.values() for edge in group]
        graph: nx.DiGraph[int] = nx.DiGraph((edge.user, edge.operand) for edge in flat)
        graph.add_node(0)
        carry: set[int] = next(ring for ring in nx.strongly_connected_components(graph) if 0 in ring)
        if not any(edge.back == 1 and edge.user in carry and edge.operand in carry for edge in flat):
            return None
        whole = next(part for part in nx.weakly_connected_components(graph) if 0 in part)
        return Proof(len(chain), tuple(rows[n] for n in sorted(whole)), tuple(rows[n] for n in sorted(carry)))

    def _grown(self, chain: tuple[int, ...], scope: Scope) -> list[tuple[int, ...]]:
        """All rows reachable along operands and users, starting with the chain."""
        rows, taken = [chain], set(chain)
        size = 0
        while size < len(rows):  # the second of two equal readers is identified by the first
            size = len(rows)
            for row in rows:
                for find in (self._operand_rows, self._user_rows):
                    for candidate in find(row, taken):
                        if self._is_row(candidate, scope, taken):
                            rows.append(candidate)
                            taken.update(candidate)
        return rows

    def _is_row(self, candidate: tuple[int, ...], scope: Scope, taken: set[int]) -> bool:
        self.steps.take(len(candidate))
        kind = self.kinds[candidate[0]]
        alike = kind >= 0 and all(self.kinds[position] == kind for position in candidate)
        alone = len(set(candidate)) == len(candidate) and not any(position in taken for position in candidate)
        return alike and alone and all(position in scope for position in candidate)

    def _operand_rows(self, row: Sequence[int], taken: set[int]) -> Iterator[tuple[int, ...]]:
        instructions = self.computation.instructions
        for slot in range(min(len(instructions[position].operands) for position in row)):
            candidate = tuple(instructions[position].operands[slot] for position in row)
            if candidate[0] not in taken:
                yield candidate

    def _user_rows(self, row: Sequence[int], taken: set[int]) -> Iterator[tuple[int, ...]]:
        """Rows of users, where each copy has exactly one such user that is in no row yet.

        Several equal slices are told apart by the part that they take, which is the same in every copy.
        """
        readers: list[dict[tuple[int, int, str], int]] = []
        for position in row:
            self.steps.take(len(self.users[position]))
            keys: dict[tuple[int, int, str], list[int]] = {}
            for user, slot in self.users[position]:
                if self.kinds[user] >= 0 and user not in taken:
                    for part in dict.fromkeys(("", repr(self.computation.instructions[user].attributes))):
                        keys.setdefault((self.kinds[user], slot, part), []).append(user)
            readers.append({key: users[0] for key, users in keys.items() if len(users) == 1})
        for key in readers[0]:
            if all(key in one for one in readers):
                yield tuple(one[key] for one in readers)

    def _edges(self, rows: Sequence[tuple[int, ...]]) -> dict[int, list[_Edge]]:
        """Edges of the rows that are the same in every copy.

        A row that differs is dropped; its values then count as given from outside for every copy.
        """
        edges: dict[int, list[_Edge]] = {}
        kept = dict.fromkeys(range(len(rows)))
        while True:
            at = {position: (n, copy) for n in kept for copy, position in enumerate(rows[n])}
            found = {n: self._row_edges(n, rows[n], at) for n in kept}
            edges = {n: group for n, group in found.items() if group is not None}
            if len(edges) == len(kept):
                return edges
            kept = dict.fromkeys(edges)

    def _row_edges(self, n: int, row: Sequence[int], at: Mapping[int, tuple[int, int]]) -> list[_Edge] | None:
        """The rows that a row reads; None if its copies differ."""
        instructions = self.computation.instructions
        first = instructions[row[0]]
        found = []
        for slot in range(len(first.operands)):
            self.steps.take(len(row))
            operands = [instructions[position].operands[slot] for position in row]
            uses = [(instructions[position].results or (0,) * len(first.operands))[slot] for position in row]
            if len({_type_of(instructions[o], use) for o, use in zip(operands, uses, strict=True)}) > 1:
                return None
            if len({use for o, use in zip(operands, uses, strict=True) if o in at}) > 1:
                return None
            edge = _edge(n, operands, at)
            if edge == "differs":
                return None
            if isinstance(edge, _Edge):
                found.append(edge)
        return found


def _type_of(it: Instruction, result: int) -> str:
    several = it.shape.tuple_shapes
    return (several[result] if result < len(several) else it.shape).bare.text


def _edge(user: int, operands: Sequence[int], at: Mapping[int, tuple[int, int]]) -> _Edge | str:
    """One operand of all copies: an edge to a row, "outside" if no copy computed it, otherwise "differs"."""
    known = {(at[operand][0], copy - at[operand][1]) for copy, operand in enumerate(operands) if operand in at}
    if not known:
        return "outside"
    if len(known) > 1:
        return "differs"
    ((row, back),) = known
    # The first copies read values from before the loop, and so do those past an end of the row.
    inside = [0 <= copy - back < len(operands) for copy in range(len(operands))]
    alike = all((operand in at) == within for operand, within in zip(operands, inside, strict=True))
    return _Edge(user, row, back) if alike else "differs"


def _extent(proofs: tuple[Proof, ...]) -> int:
    return sum(proof.copies * len(proof.rows) for proof in proofs)


def only_sums(computation: Computation, proof: Proof) -> bool:
    """Whether copies pass on only a running sum, product or maximum whose inputs depend on no other copy."""
    return len(proof.carry) == 1 and computation.instructions[proof.carry[0][0]].opcode in COMMUTATIVE


# --- Lines of Python, the loops around them, and the copies that they left.

# Maps a file and a line to the first lines of the enclosing Python loops, outermost first; comprehensions are negative.
# True means one loop, False and () none, None an unreadable file.
InLoop = Callable[[str, int], Sequence[int] | bool | None]


_COMPREHENSIONS = frozenset(["<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])


def unknown(file: str, line: int) -> None:
    """An `InLoop` that reads no files."""
    return None


def loops_around(frame: Frame, in_loop: InLoop) -> tuple[int, ...]:
    """The loops around a frame, outermost first.

    A comprehension runs in a frame of its own, so the function's own code in that line runs once. A lambda is in no
    loop, whatever its line.

    Example:
        >>> loops_around(Frame("a.py", 3, "f"), lambda file, line: (2, -3))
        (2,)
    """
    found = in_loop(frame.file, frame.line)
    if isinstance(found, bool):
        return (0,) if found else ()
    name = frame.function.rpartition(".")[2]
    loops = tuple(found or ())
    if name in _COMPREHENSIONS:
        return tuple(line for line in loops if line < 0)
    first = next((n for n, line in enumerate(loops) if line < 0), len(loops))
    return () if name == "<lambda>" else loops[:first]


@dataclass(frozen=True, slots=True)
class FrameTree:
    """Lines of one Python function.

    Args:
        file: as the program names it.
        first, last: 1-based.
        function: its name; "" if unknown.
    """

    file: str
    first: int
    last: int
    function: str

    @staticmethod
    def of(frame: Frame) -> FrameTree:
        """The line of a frame."""
        return FrameTree(frame.file, frame.line, frame.line, frame.function)

    def frame(self) -> Frame:
        """The first line as a frame."""
        return Frame(self.file, self.first, self.function)


def chain(module: Module, frame: int) -> Iterator[int]:
    """A frame and its callers, innermost first, as indices; a cycle in a damaged table ends it."""
    seen: set[int] = set()
    while 0 <= frame < len(module.frames) and frame not in seen:
        seen.add(frame)
        yield frame
        frame = module.frames[frame].parent


def own_line(module: Module, frame: int) -> FrameTree | None:
    """The innermost line of the user's own code; the innermost of all if every one is a library's."""
    found = own_frame(module.stack(frame))
    return FrameTree.of(found) if found else None


# Where an iteration of a loop reads its slice and writes its result.
_POSITIONS = frozenset(
    ["start_indices", "limit_indices", "edge_padding_low", "edge_padding_high", "slice", "padding", "backend_config"]
)
_EXPANDED = CALLS | {"composite"}
_NAMES = _EXPANDED | {"fusion"}  # only their callees count
# Data movement: a loop of the program does it differently from unrolled copies.
_MOVES = frozenset(
    ["slice", "dynamic_slice", "dynamic_update_slice", "reshape", "broadcast_in_dim", "broadcast", "transpose", "pad",
     "concatenate", "gather", "convert", "select", "compare", "iota", "constant"]
)  # fmt: skip
COUNTING = frozenset(["s32", "u32", "s64", "u64", "pred"])
_DEEPEST = 8
_OPENED = _NAMES | {"while", "if", "case", "conditional"}


def is_operation(it: Instruction) -> bool:
    """Whether an instruction computes something, itself or in a callee."""
    if it.opcode in _EXPANDED:
        return True
    return it.opcode not in BOOKKEEPING and it.opcode != "constant" and not is_continuation(it.opcode)


def labels_of(module: Module) -> tuple[tuple[bytes, ...], ...]:
    """Opcode, types, attributes and callees of each instruction of each computation, without positions.

    Args:
        module: a program of either stage.

    Returns:
        equal bytes for operations that differ only in the slice they take and the number they hold; their callees are
        equal including numbers.
    """
    known: dict[str, tuple[tuple[bytes, ...], ...]] = module.__dict__
    if "labels" not in known:
        hashes = computation_hashes(module)
        known["labels"] = tuple(tuple(_label(it, hashes) for it in one.instructions) for one in module.computations)
    return known["labels"]


def _label(it: Instruction, hashes: Sequence[str]) -> bytes:
    attributes = sorted(f"{key}={value}" for key, value in it.attributes if key not in _POSITIONS)
    callees = [part for name, group in it.calls for part in (name, *(hashes[callee] for callee in group))]
    own = [it.opcode, it.shape.bare.text, str(len(it.operands))]
    return digest([part.encode("utf-8", "surrogatepass") for part in (*own, *attributes, "", *callees)])


def computed(
    instructions: Iterable[Instruction], own: Iterable[bytes], module: Module, labels: Sequence[Sequence[bytes]]
) -> Counter[bytes]:
    """Counts of the operations that compute something, among instructions and in their callees.

    Args:
        instructions: of one computation.
        own: their labels.
        module: the program.
        labels: `labels_of` the program.

    Returns:
        counts by label, without slices, reshapes and the like, and without integer counters.
    """
    found: Counter[bytes] = Counter()
    worklist = [(it, label, 0) for it, label in zip(instructions, own, strict=True)]
    for it, label, depth in worklist:
        if it.opcode in _EXPANDED and depth < _DEEPEST:
            worklist += [
                (inner, known, depth + 1)
                for callee in it.called
                for inner, known in zip(module.computations[callee].instructions, labels[callee], strict=True)
            ]
        elif stands_alone(it) and it.opcode not in _MOVES and it.shape.element_type not in COUNTING:
            found[label] += 1
    return found


def sizes_of(module: Module) -> tuple[int, ...]:
    """The number of operations of each computation, callees counted at each call.

    Example:
        >>> sizes_of(Module("m", "compiled", (Computation("e", (), 0),), 0))
        (0,)
    """
    found: dict[int, int] = {}
    for index in callees_first(module):
        instructions = module.computations[index].instructions
        found[index] = min(sum(size_of(it, found) for it in instructions), 10**15)
    return tuple(found[index] for index in range(len(module.computations)))


def size_of(it: Instruction, sizes: Mapping[int, int]) -> int:
    """The number of operations of an instruction; a reduction includes the computation that it applies."""
    inside = sum(sizes.get(callee, 0) for callee in it.called) if it.opcode in _OPENED else 0
    return inside + int(stands_alone(it))


def stands_alone(it: Instruction) -> bool:
    """Whether an instruction is an operation itself, not only a call."""
    return is_operation(it) and it.opcode not in _NAMES


LEAST_COPIES = 3
_PASSES = ("transpose(", "rematted_computation")  # scopes of a backward pass and of rematerialization

_Call = tuple[str, str, object, tuple[bool, ...]]
Order = Literal["chained"]
Looping = Callable[[Frame], Sequence[int]]
"""The loops that a line of Python lies in, outermost first; () for none."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Copies of one body, each fed by the one before.

    Args:
        where: the lines of the body.
        callers: the calling lines, innermost first.
        copies: how many there are.
        body: the number of operations in one copy, including callees and the backward pass.
        order: "chained": each copy uses what the one before it computed.
        times: the number of call sites of the whole.
        in_loop: whether the lines are known to lie in a Python loop.
        computed: the labels of what one copy computes, see `computed`.
    """

    where: FrameTree
    callers: tuple[FrameTree, ...]
    copies: int
    body: int
    order: Order = "chained"
    times: int = 1
    in_loop: bool = False
    computed: Mapping[bytes, int] = field(default_factory=dict, repr=False)

    @property
    def operations(self) -> int:
        """Operations of all copies."""
        return self.copies * self.body * self.times


def repeats(module: Module, in_loop: InLoop = unknown, least: int = LEAST_COPIES) -> tuple[Repeat, ...]:
    """All bodies that a Python loop left as several copies in a program, largest first.

    Args:
        module: a program that knows its Python frames.
        in_loop: the loops of Python that a line of a file lies in.
        least: the minimum number of copies.

    Returns:
        one record for each loop whose copies are proved to be isomorphic and chained; () for a compiled program.
    """

    return copies_of(module, lambda frame: loops_around(frame, in_loop), least, calls=2)


def copies_of(
    module: Module,
    looping: Looping,
    least: int = LEAST_COPIES,
    calls: int = 1,
    labels: Sequence[Sequence[bytes]] | None = None,
    by_line: bool = True,
) -> tuple[Repeat, ...]:
    """Bodies with several copies below certain frames in a program, largest first.

    Args:
        module: a program that knows its Python frames.
        looping: the loops that a frame lies in.
        least: the minimum number of copies.
        calls: the minimum number of Python places that a copy comes from. What JAX repeats within one call (a
            polynomial, a power of a matrix) comes from one.
        labels: `labels_of` the module, where they are known.
        by_line: whether copies come from the same places in the loop. Copies written out by hand do not, and each of
            them is complete: a partial one is different code.

    Returns:
        see `repeats`.
    """
    if module.stage != "stablehlo":
        return ()
    places = _EnclosingLoops(module, looping)
    if places.none:
        return ()
    labels = labels_of(module) if labels is None else labels
    sizes = dict(enumerate(sizes_of(module)))
    steps, found = Steps(), []
    try:
        for index, weight in enumerate(multiplicities(module)):
            if weight.total:
                inside = module.computations[index]
                calls_of = _calls_of(module, inside, around := places.of(index), by_line)
                group = _OperationsByLoop(inside, labels[index], sizes, around, calls_of, by_line, steps)
                for loop in group.loops(least, calls):
                    first = [inside.instructions[position] for position in loop.first]
                    its_labels = [labels[index][position] for position in loop.first]
                    found.append(_repeat(module, loop, weight.total, computed(first, its_labels, module, labels)))
    except TooLarge:
        return ()
    # Equal copies are one entry with the sum of their call sites: two calls in one line are two.
    groups: dict[tuple[FrameTree, tuple[FrameTree, ...], int, int], list[Repeat]] = {}
    for each in found:
        if each is not None:
            groups.setdefault((each.where, each.callers, each.copies, each.body), []).append(each)
    merged = [replace(group[0], times=sum(each.times for each in group)) for group in groups.values()]
    return tuple(sorted(merged, key=lambda r: (-r.operations, r.where.file, r.where.first, r.where.function)))


@dataclass(frozen=True, slots=True)
class _LoopCall:
    """A loop in one call of one function: the frame that calls it, and where the loops begin that lie around it."""

    caller: int
    file: str
    function: str
    loops: tuple[int, ...]


Around = Mapping[int, dict[_LoopCall, int]]
"""For each frame the loops in its stack, innermost first, each with the frame in that loop."""


class _EnclosingLoops:
    """The loops that stacks go through, up to the call of the computation.

    A call runs a computation as one: a loop around `lax.scan`, or around a jitted function that was traced once, makes
    no copies inside.
    """

    def __init__(self, module: Module, looping: Looping) -> None:
        self._module = module
        # A recorded program has lost its name; the scopes of its operations begin with it.
        scopes = {it.op_name.partition("/")[0] for it in module.entry_computation.instructions if it.op_name}
        self._jitted = {_plain(scope[4:-1]) for scope in scopes if scope.startswith("jit(") and scope.endswith(")")}
        self._jitted.add(_plain(module.name.removeprefix("jit_")))
        self._loops = [tuple(looping(frame)) for frame in module.frames]
        self._callers: dict[int, dict[int, None]] = {}
        self.none = not any(self._loops)
        for computation in module.computations if not self.none else ():
            for it in computation.instructions:
                for callee in it.called:
                    self._callers.setdefault(callee, {}).update(dict.fromkeys(chain(module, it.frame)))

    def of(self, index: int) -> Around:
        """The loops that the stacks of one computation go through."""
        instructions = self._module.computations[index].instructions
        frames = dict.fromkeys(it.frame for it in instructions if it.frame >= 0)
        stacks = {frame: list(chain(self._module, frame)) for frame in frames}
        if index == self._module.entry:
            within = dict(zip(stacks, self._in_jitted(list(stacks.values())), strict=True))
        else:
            within = {frame: self._in_callee(stack, self._callers.get(index, {})) for frame, stack in stacks.items()}
        return {frame: self._loops_around(stack) for frame, stack in within.items()}

    def _in_jitted(self, stacks: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
        """Frames of the jitted function and of its callees.

        The jitted function is the one of that name that most stacks go through; of several, the innermost. For stacks
        that do not go through it, the frames that not all stacks share.
        """
        frames = self._module.frames
        callers = Counter[int]()
        for stack in stacks:
            callers.update({frames[index].parent for index in stack if self._is_jitted(index)})
        depth = {caller: len(list(chain(self._module, caller))) for caller in callers}
        jitted = max(callers, key=lambda caller: (callers[caller], depth[caller]), default=None)
        shared = set.intersection(*map(set, stacks)) if stacks else set()
        for stack in stacks:
            ends = [n for n, index in enumerate(stack) if self._is_jitted(index) and frames[index].parent == jitted]
            yield stack[: ends[0] + 1] if ends else [index for index in stack if index not in shared]

    def _is_jitted(self, index: int) -> bool:
        return _plain(self._module.frames[index].function.rpartition(".")[2]) in self._jitted

    def _in_callee(self, stack: Sequence[int], callers: Mapping[int, None]) -> Sequence[int]:
        """Frames of a computation without those of its callers: JAX starts a new stack or continues the caller's.

        A full stack that leads to no caller belongs to an earlier caller, for which the function was first traced.
        """
        for position, index in enumerate(stack):
            if index in callers:
                return stack[:position]
        frames = self._module.frames
        begins = {(frames[index].file, frames[index].function) for index in callers if frames[index].parent < 0}
        first = frames[stack[-1]]
        return () if (first.file, first.function) in begins else stack

    def _loops_around(self, stack: Sequence[int]) -> dict[_LoopCall, int]:
        found: dict[_LoopCall, int] = {}
        for index in stack:
            frame, loops = self._module.frames[index], self._loops[index]
            for count in range(len(loops), 0, -1):
                found.setdefault(_LoopCall(frame.parent, frame.file, frame.function, loops[:count]), index)
        return found


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_")


@dataclass(frozen=True, slots=True)
class _CopiedLoop:
    """The copies of one loop.

    Args:
        place: the loop.
        copies: how many there are.
        body: operations in one of them.
        passes: for the forward pass, the backward pass and its rematerialization, one proof per call site.
        lines: frames in the loop that the copies come from.
        first: the operations of one copy, as positions.
    """

    place: _LoopCall
    copies: int
    body: int
    passes: tuple[tuple[Proof, ...], ...]
    lines: tuple[int, ...]
    first: tuple[int, ...]

    @property
    def times(self) -> int:
        """The number of call sites with these copies."""
        return len(self.passes[0])

    @property
    def operations(self) -> int:
        """Operations of all copies."""
        return self.copies * self.body * self.times


class _OperationsByLoop:
    """The operations of one computation, by the loops that their stacks go through."""

    def __init__(
        self,
        computation: Computation,
        labels: Sequence[bytes],
        sizes: Mapping[int, int],
        around: Around,
        calls: Sequence[_Call],
        by_line: bool,
        steps: Steps,
    ) -> None:
        self._instructions, self._labels, self._sizes, self._around = computation.instructions, labels, sizes, around
        self._calls, self._by_line = calls, by_line
        self._computation = computation
        # A number for each operation in a loop: equal for the same Python call in the same pass.
        numbers: dict[tuple[bytes, _Call], int] = {}
        self._kinds: list[int] = []
        for it, label, call in zip(self._instructions, labels, calls, strict=True):
            known = is_operation(it) and bool(around.get(it.frame))
            self._kinds.append(numbers.setdefault((label, call), len(numbers)) if known else -1)
        self._search = Repetition(computation, self._kinds, steps) if max(self._kinds, default=-1) >= 0 else None

    def loops(self, least: int, calls: int) -> Iterator[_CopiedLoop]:
        """One record for each loop, largest first; nested loops too if their copies lie in single iterations."""
        if self._search is None:
            return
        own: dict[_LoopCall, dict[int, list[int]]] = {}
        for position, kind in enumerate(self._kinds):
            if kind >= 0:
                innermost = next(iter(self._around[self._instructions[position].frame]))
                own.setdefault(innermost, {}).setdefault(kind, []).append(position)
        found = [self._loop(self._search, place, kinds, least, calls) for place, kinds in own.items()]
        turns: dict[int, tuple[int, int, int]] = {}
        ordered = sorted((one for one in found if one), key=lambda one: (-one.operations, one.place.loops))
        for number, loop in enumerate(ordered):
            proofs = [proof for group in loop.passes for proof in group]
            within = [{turns[position] for position in proof.positions() if position in turns} for proof in proofs]
            if any(len(one) > 1 for one in within):
                continue
            yield loop
            for n, proof in enumerate(proofs):
                for row in proof.rows:
                    turns |= {position: (number, n, copy) for copy, position in enumerate(row)}

    def _loop(
        self, search: Repetition, place: _LoopCall, own: Mapping[int, Sequence[int]], least: int, calls: int
    ) -> _CopiedLoop | None:
        """The copies of one loop, found from operations that lie in no loop further in."""
        within = [n for n, kind in enumerate(self._kinds) if kind >= 0 and place in self._around[self._frame(n)]]
        scopes: dict[tuple[bool, ...], dict[int, None]] = {}
        for position in within:
            scopes.setdefault(_pass_of(self._instructions[position]), {})[position] = None
        found: list[tuple[Proof, ...]] = []
        covered: set[int] = set()
        for members in sorted(own.values(), key=lambda group: (len(group), self._labels[group[0]])):
            if len(members) < least or covered.issuperset(members):
                continue
            proofs = search.proofs(members, scopes[_pass_of(self._instructions[members[0]])], least)
            if (
                proofs
                and self._is_body(proofs[0], place, calls)
                and (len(proofs) == 1 or self._in_another(proofs, place))
            ):
                found.append(proofs)
                covered.update(position for proof in proofs for position in proof.positions())
        return self._joined(place, found)

    def _frame(self, position: int) -> int:
        return self._instructions[position].frame

    def _is_body(self, proof: Proof, place: _LoopCall, calls: int) -> bool:
        """Whether copies are iterations of a user's loop."""
        frames = {self._frame(row[0]) for row in proof.rows}
        # The user cannot rewrite a library's sum over leaves, such as a norm.
        idle = is_library(place.file) and only_sums(self._computation, proof)
        is_whole = len(proof.rows) > 1 or self._instructions[proof.rows[0][0]].opcode in CALLS
        return is_whole and len(frames) >= calls and not idle

    def _in_another(self, proofs: Sequence[Proof], place: _LoopCall) -> bool:
        """Whether copies at several places are a nested loop, and not one loop with an iteration that differs.

        In a nested loop the values that enter the first copy come from the outer loop.
        """
        for proof in proofs:
            known = set(proof.positions())
            for row in proof.carry:
                outermost = list(self._around[self._frame(row[0])])[-1]
                given = [o for o in self._instructions[row[0]].operands if o not in known and self._kinds[o] >= 0]
                if outermost == place or any(place in self._around[self._frame(o)] for o in given):
                    return False
        return True

    def _joined(self, place: _LoopCall, found: Sequence[tuple[Proof, ...]]) -> _CopiedLoop | None:
        """The largest proof of each pass over a loop; None if other iterations differ."""
        passes: dict[tuple[bool, ...], tuple[Proof, ...]] = {}
        for proofs in sorted(found, key=lambda group: -sum(self._extent(proof) for proof in group)):
            largest = next(iter(passes.values()), proofs)
            # The first iteration may need no gradient, or the last one no value.
            if len(proofs) == len(largest) and abs(proofs[0].copies - largest[0].copies) <= 1:
                passes.setdefault(_pass_of(self._instructions[proofs[0].rows[0][0]]), proofs)
        if not passes:
            return None
        further = self._further(place, min(passes.items())[1])
        if further is None:
            return None
        rows = [row for proofs in passes.values() for row in proofs[0].rows]
        copies = max([proofs[0].copies for proofs in passes.values()] + [min(passes.items())[1][0].copies + further])
        body = round(sum(self._extent(proofs[0]) for proofs in passes.values()) / copies)
        lines = tuple(dict.fromkeys(self._around[self._frame(row[0])][place] for row in rows))
        return _CopiedLoop(place, copies, body, tuple(passes.values()), lines, tuple(row[0] for row in rows))

    def _further(self, place: _LoopCall, proofs: Sequence[Proof]) -> int | None:
        """1 if one more iteration left only part of the body, such as a last one without a value, else 0.

        An operation that each copy has once, and that occurs once outside the copies, belongs to one more iteration.
        None if the calls that carry the value have more operations left over than one iteration has: then some
        iterations differ from the copies and the number of copies is not the trip count.
        """
        known = {position for proof in proofs for position in proof.positions()}
        kinds = Counter(self._kinds[row[0]] for row in proofs[0].rows)
        calls = Counter(self._calls[row[0]] for row in proofs[0].rows)
        carrying = {self._calls[row[0]] for row in proofs[0].carry}
        left, others = Counter[int](), Counter[_Call]()
        for position, kind in enumerate(self._kinds):
            if kind >= 0 and position not in known and place in self._around[self._frame(position)]:
                left[kind] += 1
                others[self._calls[position]] += 1
        if any(others[call] > calls[call] * len(proofs) for call in carrying):
            return None
        return int(
            self._by_line and len(proofs) == 1 and any(left[kind] == 1 for kind, count in kinds.items() if count == 1)
        )

    def _extent(self, proof: Proof) -> int:
        return proof.copies * sum(size_of(self._instructions[row[0]], self._sizes) for row in proof.rows)


def _calls_of(module: Module, computation: Computation, around: Around, by_line: bool) -> list[_Call]:
    """For each operation its place in Python, its JAX primitive and its pass.

    Without `by_line` the place is only the function that the loop calls, from whatever line.
    """
    places: dict[int, object] = {}
    for frame, loops in around.items() if not by_line else ():
        stack = list(chain(module, frame))
        below = stack[: min(map(stack.index, loops.values()), default=len(stack))]
        places[frame] = tuple((line.file, line.line, line.function) for line in (module.frames[n] for n in below))
    return [
        (it.opcode, it.op_name.rpartition("/")[2], places.get(it.frame, it.frame), _pass_of(it))
        for it in computation.instructions
    ]


def _pass_of(it: Instruction) -> tuple[bool, ...]:
    return tuple(scope in it.op_name for scope in _PASSES)


def _repeat(module: Module, loop: _CopiedLoop, times: int, computed: Mapping[bytes, int]) -> Repeat | None:
    """The copies of a loop with its lines; None for a library's loop that no user line calls."""
    lines = [module.frames[index].line for index in loop.lines]
    where = FrameTree(loop.place.file, min(lines), max(lines), loop.place.function)
    callers = tuple(map(FrameTree.of, module.stack(loop.place.caller)))
    if is_library(where.file) and all(is_library(caller.file) for caller in callers):
        return None
    known = bool(loop.place.loops)
    return Repeat(where, callers, loop.copies, loop.body, "chained", loop.times * times, known, computed)


# --- What a backward pass computes again, as `jax.checkpoint` tells it to.

# They hand on what they take.
_BARRIERS = frozenset(["optimization_barrier", "reduce_precision"])
# Known by their types alone: what a body is given or reads from an array at an index, and what may be saved for it.
_GIVEN = (
    CALLS
    | CONDITIONALS
    | {"parameter", "dynamic_slice", "while", "sdy.manual_computation", "dot_general", "convolution"}
)


@dataclass(frozen=True, slots=True)
class RepeatedValue:
    """Instructions that compute one value.

    Args:
        opcode: of all of them.
        first: those of the forward pass, by computation and position.
        again: those in the scope of rematerialisation.
    """

    opcode: str
    first: tuple[Place, ...]
    again: tuple[Place, ...]


def repeated_values(module: Module) -> Iterator[RepeatedValue]:
    """Values that a program computes, and computes again in the scope of rematerialisation.

    That scope also holds what only the backward pass needs, such as a cosine where the function has a sine. In
    StableHLO two values are equal if the same operations of the same lines compute them. XLA moves operations between
    fusions, so in a compiled program opcode, type and line decide.
    """
    inside = _computations_inside(module)
    hashes = computation_hashes(module)
    lines: dict[int, object] = {}
    groups: dict[tuple[str, bytes], tuple[list[Place], list[Place]]] = {}
    run = called_by(module, CARRIERS | CALLS) | {module.entry}  # a reduction applies others
    for number, computation in enumerate(module.computations):
        values: list[Sequence[bytes]] = []  # the results of each instruction
        for position, it in enumerate(computation.instructions):
            if it.frame not in lines:
                lines[it.frame] = own_line(module, it.frame)
            line = "" if it.opcode in CARRIERS else lines[it.frame]  # equal constants have the line of one of them
            own = [f"{it.opcode} {it.literal} {line}", it.shape.bare.text]
            inputs: list[bytes] = []
            if module.stage == "stablehlo":
                own += [str(it.attributes), *(hashes[callee] for callee in it.called)]
                inputs = [values[operand][result] for operand, result in it.reads]
            key = digest([*(part.encode("utf-8", "surrogatepass") for part in own), *inputs])
            if module.stage == "stablehlo":
                values.append(_results(it, computation, inputs, key))
            if number in inside and not it.op_name and module.stage == "compiled":
                continue  # XLA's own, such as the condition of a loop
            is_again = number in inside or REMATERIALISED in it.op_name
            if number not in run or ("transpose(" in it.op_name and not is_again):
                continue
            groups.setdefault((it.opcode, key), ([], []))[is_again].append((number, position))
    for (opcode, _), (first, again) in groups.items():
        if first and again:
            yield RepeatedValue(opcode, tuple(first), tuple(again))


def _results(it: Instruction, computation: Computation, inputs: Sequence[bytes], key: bytes) -> list[bytes]:
    """What identifies each result of an operation for its users; `key` identifies the operation and its inputs."""
    if it.opcode in _BARRIERS or _is_same_array(it, computation):
        return [*inputs]
    is_read = it.opcode == "reshape" and computation.instructions[it.operands[0]].opcode in _GIVEN
    if it.opcode in _GIVEN or is_read:
        return [str(_without_ones(part)).encode() for part in it.shape.tuple_shapes or (it.shape,)]
    return [digest([key, b"%d" % n]) for n in range(len(it.shape.tuple_shapes) or 1)]


def _is_same_array(it: Instruction, computation: Computation) -> bool:
    """Whether a value only gains or loses dimensions of size 1, as a bias does outside of a loop or inside it."""
    if it.opcode not in ("reshape", "broadcast_in_dim"):
        return False
    operand, result = it.reads[0]
    taken = computation.instructions[operand].shape
    return _without_ones(it.shape) == _without_ones(taken.tuple_shapes[result] if taken.tuple_shapes else taken)


def _without_ones(shape: Shape) -> tuple[str, tuple[int, ...]]:
    return shape.element_type, tuple(size for size in shape.dimensions if size != 1)


def _computations_inside(module: Module) -> set[int]:
    """Computations that are called only from the scope. Inside loops and `shard_map`, names of scopes start afresh."""
    inside: dict[int, bool] = {}
    for number in reversed(callees_first(module)):
        for it in module.computations[number].instructions:
            if it.called and it.opcode in CARRIERS:
                is_inside = inside.get(number, False) or REMATERIALISED in it.op_name
                inside.update((callee, is_inside and inside.get(callee, True)) for callee in it.called)
    return {number for number, is_inside in inside.items() if is_inside}
