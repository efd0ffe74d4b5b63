"""Edits of what makes partitions and copies wait for each other, in a Gluon kernel.

That is how many arrive in a phase, its parity, its bytes, and the number from which slot and phase follow.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, lines_of, name_of, names_in
from flashlearn.explaining.edits.gluon import is_gluon

ARRIVALS = edit_kind(
    "arrivals",
    question="Which operations arrive on this barrier in one phase? A copy brings bytes, and is no arrival.",
)
REDUNDANT_ARRIVAL = edit_kind(
    "redundant arrival",
    sentence="Line {line} is `{old}`; without it",
    question="Which operations arrive on this barrier in one phase? A copy brings bytes, and is no arrival.",
    quotes_both=False,
)
PARITY = edit_kind(
    "parity",
    question="How many phases of this barrier are over when this wait is met for the first time, and how "
    "many the next time?",
)
PHASE_BYTES = edit_kind(
    "bytes of a phase",
    question="How many bytes do all copies to this barrier bring in one phase?",
)
RING_NUMBER = edit_kind(
    "number in a ring",
    question="Slot and phase follow from how many blocks the ring has had before this one: do all partitions "
    "count them from the same number?",
)
PREDICATE = edit_kind(
    "missing predicate",
    question="In which steps should this arrival be left out?",
)

COUNTS = (1, 2)
COPY = "async_copy_global_to_shared"
LOOPS = ("range", "static_range")


def synchronisation_edits(text: SourceText) -> Iterator[Edit]:
    """The edits of every Gluon function of a text."""
    for function in text.functions():
        if is_gluon(function):
            yield from _bytes(text, function)
            yield from _arrivals(text, function)
            yield from _parities(text, function)
            yield from _ring_numbers(text, function)
            yield from _predicates(text, function)


def _calls(function: ast.FunctionDef, name: str) -> Iterator[ast.Call]:
    found = (node for node in ast.walk(function) if isinstance(node, ast.Call) and name_of(node) == name)
    return iter(sorted(found, key=lambda call: (call.lineno, call.col_offset)))


def _argument(call: ast.Call, number: int, name: str) -> ast.expr | None:
    given = next((k.value for k in call.keywords if k.arg == name), None)
    return given if given is not None or len(call.args) <= number else call.args[number]


def _arrivals(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """No arrival where there is one beside `mbarrier.expect`, which is one; another count in `init`."""
    expected = {text.of(call.args[0]) for call in _calls(function, "expect") if call.args}
    statements = (n for n in ast.walk(function) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
    for node in statements:
        call = node.value
        if name_of(call) == "arrive" and call.args and text.of(call.args[0]) in expected:
            yield text.edit(REDUNDANT_ARRIVAL, node, "pass")
    for call in _calls(function, "init"):
        count = _argument(call, 1, "count")
        if isinstance(count, ast.Constant):
            for other in COUNTS:
                yield text.edit(ARRIVALS, count, str(other))


def _parities(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """The other parity in a wait; a parity that changes with every turn of the ring."""
    for call in _calls(function, "wait"):
        parity = _argument(call, 1, "phase")
        if parity is None:
            continue
        written = text.of(parity)
        if isinstance(parity, ast.Constant):
            yield text.edit(PARITY, parity, str(1 - parity.value) if parity.value in (0, 1) else "0")
            continue
        if isinstance(parity, ast.BinOp) and isinstance(parity.op, ast.BitXor):
            yield text.edit(PARITY, parity, text.of(parity.left))
        else:
            plain = isinstance(parity, ast.Name | ast.BinOp | ast.Call)
            yield text.edit(PARITY, parity, f"{written} ^ 1" if plain else f"({written}) ^ 1")
        yield from _by_turns(text, function, parity)


def _by_turns(text: SourceText, function: ast.FunctionDef, parity: ast.expr) -> Iterator[Edit]:
    """`i % 2` becomes `i // STAGES % 2`, where a slot is `i % STAGES`."""
    slots = {
        text.of(node.right)
        for node in ast.walk(function)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Name)
    }
    halved = isinstance(parity, ast.BinOp) and isinstance(parity.op, ast.Mod)
    if halved and isinstance(parity.right, ast.Constant) and isinstance(parity.left, ast.Name):
        for size in sorted(slots):
            yield text.edit(PARITY, parity, f"{parity.left.id} // {size} % 2")


def _bytes(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """What the copies to one barrier bring, in place of what is expected there."""
    repeats = _repeats(function)
    copies: dict[str, list[str]] = {}
    for call in _calls(function, COPY):
        if len(call.args) < 4:
            return
        barrier, size = text.of(call.args[2]), f"{text.of(call.args[0])}.block_type.nbytes"
        copies.setdefault(barrier, []).extend([size] * repeats.get(call.lineno, 1))
    for call in _calls(function, "expect"):
        expected = _argument(call, 1, "bytes_per_cta")
        brought = copies.get(text.of(call.args[0])) if call.args else None
        if expected is not None and brought:
            names = list(dict.fromkeys(brought))
            counts = [(brought.count(name) // repeats.get(call.lineno, 1), name) for name in names]
            terms = [name if n == 1 else f"{n} * {name}" for n, name in counts if n]
            yield text.edit(PHASE_BYTES, expected, " + ".join(terms))


def _repeats(function: ast.FunctionDef) -> dict[int, int]:
    """How often each line of an unrolled loop with a written count runs."""
    found: dict[int, int] = {}
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For)):
        call = loop.iter
        written = isinstance(call, ast.Call) and name_of(call) in LOOPS and len(call.args) == 1
        if written and isinstance(call.args[0], ast.Constant):
            for line in set().union(*map(lines_of, loop.body)):
                found[line] = found.get(line, 1) * int(call.args[0].value)
    return found


def _ring_numbers(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """A number counted from the loop's first one, or one less, where slot and phase follow from it."""
    used = _ring_names(function)
    assigned = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and len(n.targets) == 1]
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For)):
        call, variable = loop.iter, getattr(loop.target, "id", "")
        if not (isinstance(call, ast.Call) and name_of(call) in LOOPS and len(call.args) > 1):
            continue
        first, inner = call.args[0], list(itertools.chain.from_iterable(map(ast.walk, loop.body)))
        if isinstance(first, ast.Constant) or not variable:
            continue
        shifted = f"{variable} - {text.of(first)}"
        for node in inner:
            copied = isinstance(node, ast.Assign) and getattr(node.value, "id", "") == variable
            if copied and {getattr(t, "id", "") for t in node.targets} & used:
                yield text.edit(RING_NUMBER, node.value, shifted)
        yield from _everywhere(text, inner, variable, f"({shifted})")
    for node in assigned:
        if getattr(node.targets[0], "id", "") in used and isinstance(node.value, ast.Name):
            yield text.edit(RING_NUMBER, node.value, f"{node.value.id} - 1")


def _ring_names(function: ast.FunctionDef) -> set[str]:
    """The names of which a slot or a phase is computed."""
    return set().union(*(names_in(node.left) for node in ast.walk(function) if _divides(node)))


def _divides(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv)


def _everywhere(text: SourceText, nodes: list[ast.AST], name: str, put: str) -> Iterator[Edit]:
    """One edit that puts something in a name's place wherever it is divided."""
    found = {n.left for n in nodes if _divides(n) and isinstance(n.left, ast.Name) and n.left.id == name}
    places = sorted(map(text.span, found))
    if not places:
        return
    start, end = places[0][0], places[-1][1]
    new, at = b"", start
    for begin, over in places:
        new += text.raw[at:begin] + put.encode()
        at = over
    lines = tuple(sorted({node.lineno for node in found}))
    old = text.raw[start:end].decode()
    if len(lines) > 1:
        yield Edit(RING_NUMBER, start, end, new.decode(), lines[0], name, put, also=lines[1:])
    else:
        yield Edit(RING_NUMBER, start, end, new.decode(), lines[0], old, new.decode())


def _predicates(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """An arrival that the first step of a loop leaves out."""
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For)):
        variable = getattr(loop.target, "id", "")
        for call in (n for part in loop.body for n in ast.walk(part) if isinstance(n, ast.Call)):
            if name_of(call) == "arrive" and variable and not any(k.arg == "pred" for k in call.keywords):
                written = text.of(call)
                yield text.edit(PREDICATE, call, f"{written[:-1].rstrip().rstrip(',')}, pred={variable} > 0)")
