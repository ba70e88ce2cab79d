"""Proves that a program repeats one body, copy after copy, each fed by the previous one.

Copies are compared in lockstep. A row holds one instruction of each copy: the same operation, from the same call in
Python, with the same types. Rows grow along operands and users from one chain of instructions, and a row stays only
where each of its operands leads every copy to the same row, by the same number of copies back, or to a value that no
copy computed: an argument, a weight of this layer, a constant. The remaining rows are isomorphic by construction; they
are a chain if the row that they grew from depends on itself one copy before. Each edge is visited a few times, so the
time is about linear in the size of the copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import COMMUTATIVE, Computation, Instruction
from hlodiff.hlo.traversal import operands_first

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
    """The type of one result."""
    several = it.shape.tuple_shapes
    return shape_text(several[result] if result < len(several) else it.shape, False)


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
