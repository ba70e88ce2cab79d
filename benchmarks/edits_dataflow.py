"""Edits of the dataflow: insert, delete, opcode, operand order, repeated layer."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.truth import Bench, Made, TrueEdit, around, changed
from benchmarks.workbench import Body, Node, descendants, topological
from hlodiff.hlo.model import Instruction, is_commutative

FLOAT_UNARY = ("negate", "tanh", "sine", "cosine", "sqrt", "rsqrt", "exponential", "log", "floor", "ceil", "abs")
INT_UNARY = ("negate", "abs", "not")
FLOAT_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")
INT_BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor")
LOGICAL = ("and", "or", "xor")
# Swapping these operands always changes the meaning.
ORDERED = {
    "subtract": (0, 1), "divide": (0, 1), "power": (0, 1), "atan2": (0, 1), "remainder": (0, 1), "compare": (0, 1),
    "select": (1, 2), "concatenate": (0, 1), "dot": (0, 1), "dot_general": (0, 1), "complex": (0, 1),
    "shift_left": (0, 1), "shift_right_logical": (0, 1),
}  # fmt: skip
# Asynchronous pairs: nothing is inserted between them, and neither is deleted.
_PAIRED = ("-start", "-done", "-update")


def is_float(node: Node) -> bool:
    return node.shape.is_array and node.shape.element_type.startswith(("f", "bf"))


def is_int(node: Node) -> bool:
    return node.shape.is_array and node.shape.element_type[0] in "su" and node.shape.element_type[1:].isdigit()


def is_paired(node: Node) -> bool:
    return node.opcode.endswith(_PAIRED) or "async" in node.opcode


def _unary_choices(node: Node) -> tuple[str, ...]:
    if is_float(node):
        return FLOAT_UNARY
    if is_int(node):
        return INT_UNARY if node.shape.element_type.startswith("s") else ("not",)
    return ("not",) if node.shape.element_type == "pred" else ()


def _binary_choices(node: Node) -> tuple[str, ...]:
    if is_float(node):
        return FLOAT_BINARY
    if is_int(node):
        return INT_BINARY
    return LOGICAL if node.shape.element_type == "pred" else ()


def in_async(bench: Bench, body: Body) -> bool:
    """Whether an asynchronous or collective instruction calls a body: the two are parsed as one record."""
    return any(is_paired(node) for _, node in bench.piece.call_sites(body))


def insert_on_all_edges(bench: Bench) -> Made | None:
    """Insert an instruction between a value and all its users."""
    return _insert(bench, all_users=True)


def insert_on_one_edge(bench: Bench) -> Made | None:
    """Insert an instruction between a value and one of its several users."""
    return _insert(bench, all_users=False)


def _insert(bench: Bench, all_users: bool) -> Made | None:
    for body, node in bench.shuffled(lambda n: bool(_unary_choices(n)) and not is_paired(n)):
        users = body.users(node)
        if in_async(bench, body) or any(is_paired(u) or not bench.free(u) for u in users):
            continue
        if (all_users and not users and node is not body.root) or (not all_users and len(users) < 2):
            continue
        near = {n.opcode for n in (node, *node.operands, *users)}
        choices = [c for c in _unary_choices(node) if c not in near]
        if not choices:
            continue
        touched = around(body, node)
        new = insert_after(bench, body, node, bench.chance.choice(choices))
        chosen = users if all_users else [bench.chance.choice(users)]
        for user in chosen:
            user.operands = [new if operand is node else operand for operand in user.operands]
        if all_users and node is body.root:
            body.root = new
        return Made((TrueEdit("added", node=new),), (*touched, new))
    return None


def insert_after(bench: Bench, body: Body, node: Node, opcode: str) -> Node:
    """Insert a unary node, still unused, with the shape of `node` and after it in the order."""
    results = node.record.results and ()
    record = Instruction(bench.piece.fresh(opcode), opcode, node.shape, results=results)
    new = Node(record, [node])
    body.nodes.insert(body.nodes.index(node) + 1, new)
    return new


def delete(bench: Bench) -> Made | None:
    """Delete an instruction; its users use its operand. Up to two instructions left unused are deleted with it."""
    for body, node in bench.shuffled(lambda n: len(n.operands) in (1, 2) and not n.control and not is_paired(n)):
        same = [o for o in node.operands if o.shape == node.shape and o.opcode != node.opcode]
        users = body.users(node)
        if not same or in_async(bench, body) or not bench.free(*users) or not (users or node is body.root):
            continue
        if any(node in other.control for other in body.nodes) or node.callees or any(map(is_paired, users)):
            continue
        heir = same[0]
        if any(user.opcode == node.opcode for user in users) or node.record.results:
            continue
        dead = _left_dead(body, node, heir)
        if dead is None or not bench.free(*dead):
            continue
        near = (*around(body, node), heir)
        for user in users:
            user.operands = [heir if operand is node else operand for operand in user.operands]
        if body.root is node:
            body.root = heir
        gone = [node, *dead]
        body.nodes = [n for n in body.nodes if n not in gone]
        edits = tuple(TrueEdit("removed", old=n.old) for n in gone)
        return Made(edits, near)
    return None


def _left_dead(body: Body, node: Node, heir: Node) -> list[Node] | None:
    """The nodes that only `node` used, without parameters; None if more than two or with calls or control edges."""
    gone = [node]
    for other in gone:
        for operand in dict.fromkeys(other.operands):
            if operand is heir or operand.opcode == "parameter" or operand in gone:
                continue
            if operand is not body.root and all(user in gone for user in body.users(operand)):
                gone.append(operand)
    dead = gone[1:]
    plain = len(dead) <= 2 and not any(n.callees or n.control or is_paired(n) for n in dead)
    controls = any(n in other.control for other in body.nodes for n in dead)
    return dead if plain and not controls else None


def opcode(bench: Bench) -> Made | None:
    """Replace an opcode by another one of the same arity and shape."""
    for body, node in bench.shuffled(lambda n: len(n.operands) in (1, 2) and not n.callees):
        choices = _unary_choices(node) if len(node.operands) == 1 else _binary_choices(node)
        others = [c for c in choices if c != node.opcode]
        if node.opcode not in choices or not others:
            continue
        if any(
            is_paired(site) or site.opcode in ("all-reduce", "reduce-scatter")
            for _, site in bench.piece.call_sites(body)
        ):
            continue
        node.record = replace(node.record, opcode=bench.chance.choice(others))
        return Made((changed(node, "opcode"),), around(body, node))
    return None


def operand_order(bench: Bench) -> Made | None:
    """Swap two operands of equal shape and different content."""
    for body, node in bench.shuffled(lambda n: n.opcode in ORDERED and not is_commutative(n.record)):
        first, second = ORDERED[node.opcode]
        if len(node.operands) <= second:
            continue
        a, b = node.operands[first], node.operands[second]
        if a is b or a.shape != b.shape or in_async(bench, body):
            continue
        if not bench.free(*_outside(bench, body, a, b)) or (
            node.opcode.startswith("dot") and a.shape.dimensions != b.shape.dimensions
        ):
            continue
        operands = list(node.operands)
        operands[first], operands[second] = b, a
        node.operands = operands
        elsewhere = _outside(bench, body, a, b)
        return Made((changed(node, "operands", elsewhere=elsewhere),), (*around(body, node), *elsewhere))
    return None


def _outside(bench: Bench, body: Body, a: Node, b: Node) -> tuple[Node, ...]:
    """The calls of `body` if `a` and `b` are parameters without other users: swapping call operands is equivalent."""
    if a.opcode == b.opcode == "parameter" and len(body.users(a)) == len(body.users(b)) == 1:
        return tuple(node for _, node in bench.piece.call_sites(body))
    return ()


def layer(bench: Bench) -> Made | None:
    """Repeat a stretch of the program between its end and its users, like one more layer."""
    for body, end in bench.shuffled(lambda n: n.shape.is_array and bool(n.shape.dimensions) and len(n.operands) > 0)[
        :60
    ]:
        users = body.users(end)
        if not users or any(is_paired(u) for u in users) or in_async(bench, body):
            continue
        stretch = _stretch(bench, body, end)
        if stretch is None:
            continue
        start, inside = stretch
        copies: dict[int, Node] = {id(start): end}
        for node in inside:
            copies[id(node)] = _copy(bench, node, copies)
        new = [copies[id(node)] for node in inside]
        for user in users:
            user.operands = [new[-1] if operand is end else operand for operand in user.operands]
        if body.root is end:
            body.root = new[-1]
        at = max(body.nodes.index(node) for node in inside) + 1
        body.nodes[at:at] = new
        body.nodes = topological(body)
        within = [inner for node in new for inner in _everything_in(node)]
        edits = tuple(TrueEdit("added", node=node, anywhere=True) for node in (*new, *within))
        return Made(edits, (*body.nodes,))
    return None


def _stretch(bench: Bench, body: Body, end: Node) -> tuple[Node, list[Node]] | None:
    """An ancestor of `end` with the same shape, and the 3 to 60 nodes between them, in order."""
    above: dict[int, Node] = {id(end): end}
    queue = [end]
    for node in queue:
        for operand in node.operands:
            if id(operand) not in above and len(above) < 400:
                above[id(operand)] = operand
                queue.append(operand)
    starts = [n for n in queue[1:] if n.shape == end.shape]
    bench.chance.shuffle(starts)
    for start in starts[:8]:
        below = descendants(body, start)
        inside = [n for n in topological(body) if id(n) in above and id(n) in below and n is not start]
        plain = not any(is_paired(n) or n.control or n.opcode == "parameter" for n in inside)
        if 3 <= len(inside) <= 60 and plain and inside[-1] is end and _may_repeat(bench, inside):
            return start, inside
    return None


def _may_repeat(bench: Bench, inside: list[Node]) -> bool:
    """Whether the nodes may be copied. StableHLO regions are not: their captures would have to be copied too."""
    if bench.piece.stage == "stablehlo":
        return not any(node.callees for node in inside)
    return not any(node.opcode in ("while", "conditional", "custom-call") for node in inside)


def _copy(bench: Bench, node: Node, copies: dict[int, Node]) -> Node:
    """Copy a node and its callees, as XLA clones them: two fusions never share a computation."""
    record = replace(node.record, name=bench.piece.fresh(node.opcode))
    operands = [copies.get(id(operand), operand) for operand in node.operands]
    if bench.piece.stage == "stablehlo":
        return Node(record, operands, calls=list(node.calls))
    return Node(record, operands, calls=[(name, [_clone(bench, b) for b in group]) for name, group in node.calls])


def _clone(bench: Bench, body: Body) -> Body:
    copies: dict[int, Node] = {}
    for node in topological(body):
        copies[id(node)] = _copy(bench, node, copies)
    nodes = [copies[id(node)] for node in body.nodes]
    clone = Body(replace(body.record, name=bench.piece.fresh("clone")), nodes, copies[id(body.root)])
    bench.piece.bodies.insert(bench.piece.bodies.index(body) + 1, clone)
    return clone


def _everything_in(node: Node) -> list[Node]:
    """All nodes in the computations that a node calls, transitively, except parameters: those are call operands."""
    inner = [n for body in node.callees for n in body.nodes if n.opcode != "parameter"]
    return [*inner, *(deeper for n in inner for deeper in _everything_in(n))]
