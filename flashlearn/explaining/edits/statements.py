"""Edits of whole statements: one removed, in the wrong place, or without a part."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Set

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.leftovers import else_left_over
from flashlearn.explaining.edits.name_families import NameFamilies, similar
from flashlearn.explaining.edits.operators import BRACKETS, SIGN
from flashlearn.explaining.edits.reductions import discarded_result_edits, overwriting_guard_edits
from flashlearn.explaining.edits.single_terms import is_term_elsewhere
from flashlearn.explaining.edits.strides import STRIDES, missing_stride_edits, renamed, tensor_stride_edits

SIMPLE = ast.Assign | ast.AugAssign | ast.Expr
ASSIGNMENTS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}
OTHER_ASSIGNMENTS = {"+=": ("=", "-="), "-=": ("+=",), "*=": ("/=", "="), "/=": ("*=",)}
BASES = ("0.6931471805599453", "1.4426950408889634")
LATE = 3
"""A variant after the others."""
LOOP_QUESTION = "What should happen in every iteration, and what once?"

REDUNDANT_STATEMENT = edit_kind(
    "redundant statement",
    sentence="Line {line} is `{old}`; without it",
    question="What does this line do to the result, and should it?",
    quotes_both=False,
    lengthens_loop=True,
)
ASSIGNMENT = edit_kind(
    "assignment",
    question="How should this line change the value so far: replace it, add to it or subtract from it, or "
    "multiply it?",
)
MISSING_RESCALE = edit_kind(
    "missing rescale",
    question="To which maximum does each of the terms that are added here belong?",
    by_chance=True,
)
OTHER_SUMMAND = edit_kind(
    "other summand",
    question="To which of the two terms does this factor belong?",
    by_chance=True,
)
MISSING_FACTOR = edit_kind(
    "missing factor",
    question="Write the formula beside the line, and compare them factor by factor.",
    changes_values=True,
    by_chance=True,
)
EXCHANGED_NAMES = edit_kind(
    "exchanged names",
    question="What do the two exchanged parts stand for, and where does each belong?",
    moves_access=True,
    mixes_names=True,
)
EXCHANGED_DIVISIONS = edit_kind(
    "exchanged divisions",
    sentence="From line {line} on there is `{old}`; with `{new}`",
    question="From one number to the next the remainder advances, and the quotient only after a whole turn. "
    "Which of the two is which here?",
    moves_access=True,
)
STATEMENT_ORDER = edit_kind(
    "statement order",
    sentence="Line {line}, `{old}`, is followed by `{new}`; with the two exchanged",
    question="Which of the two lines needs what the other one computes or changes?",
    quotes_both=False,
)
OVERWRITTEN_EARLY = edit_kind(
    "overwritten early",
    sentence="Line {line} is `{old}`; as the last line of the loop",
    question="Which lines of the same iteration still need the value that this line overwrites?",
    quotes_both=False,
)
INSIDE_LOOP = edit_kind(
    "inside the loop",
    sentence="Line {line}, `{old}`, is inside the loop; placed after it",
    question=LOOP_QUESTION,
    quotes_both=False,
)
AFTER_LOOP = edit_kind(
    "after the loop",
    sentence="Line {line}, `{old}`, is after the loop; as the loop's last line",
    question=LOOP_QUESTION,
    quotes_both=False,
)


def statement_edits(
    text: SourceText, function: ast.FunctionDef, known: NameFamilies, kernel: bool
) -> Iterator[Edit]:
    """Every edit of the statements of a function."""
    for loop, body in _bodies(function):
        yield from overwriting_guard_edits(text, body) if kernel else ()
        yield from _copied_last(text, body) if loop is not None else ()
        for number, statement in enumerate(body):
            following = body[number + 1] if number + 1 < len(body) else None
            if isinstance(statement, SIMPLE):
                yield from tensor_stride_edits(text, statement, known)
                yield from discarded_result_edits(text, statement, kernel)
                yield from missing_stride_edits(text, statement, known) if kernel else ()
                changed = _simple_statement(text, statement, known, kernel, loop is not None)
                kept = else_left_over(function, statement)
                odd = (REDUNDANT_STATEMENT, ASSIGNMENT) if kept else ()
                odd += (SIGN,) if is_term_elsewhere(function, statement) else ()
                yield from (e for e in changed if e.kind not in odd)
                if isinstance(following, SIMPLE):
                    yield _exchanged(text, statement, following)
            if isinstance(statement, ast.For | ast.While):
                yield from _loop_end(text, statement, following)


def exchanged_name_edits(
    text: SourceText, function: ast.FunctionDef, names: Set[str], sizes: Set[str] = frozenset()
) -> Iterator[Edit]:
    """Two of the names in each other's place, throughout an expression or before an =; or two such sizes."""
    apart = list(_quotients_and_remainders(function))
    yield from (_exchanged_operators(text, *pair) for pair in apart)
    defined = {one.targets[0].id for pair in apart for one in pair}
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Tuple) and len(target.elts) == 2 and names & {*map(text.of, target.elts)}:
            one, other = map(text.of, target.elts)
            start, end = text.span(target)
            new = f"{other}, {one} = {text.of(node.value)}"
            if "(" not in text.of(target):
                kind = EXCHANGED_DIVISIONS if _divides_and_leaves(node.value) else EXCHANGED_NAMES
                yield Edit(kind, start, end, f"{other}, {one}", node.lineno, text.of(node), new)
        for family in (names, sizes) if isinstance(node, ast.BinOp) else ():
            found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in family]
            pairs = list(itertools.combinations(sorted({n.id for n in found}), 2))
            for one, other in pairs if family is sizes or len(pairs) == 1 else ():
                if family is names or similar(one, other):
                    own = [n for n in found if n.id in (one, other)]
                    new = renamed(text, node, own, {one: other, other: one})
                    late = LATE * bool(defined & names_in(node))  # their definitions are tried first
                    yield text.edit(EXCHANGED_NAMES, node, new, late)


def _divides_and_leaves(value: ast.expr) -> bool:
    """True for `n // H, n % H`, in this order or the other."""
    parts = [part for part in getattr(value, "elts", ()) if isinstance(part, ast.BinOp)]
    operators = {type(part.op) for part in parts}
    operands = {(ast.unparse(part.left), ast.unparse(part.right)) for part in parts}
    return operators == {ast.FloorDiv, ast.Mod} and len(parts) == 2 and len(operands) == 1


def _quotients_and_remainders(function: ast.FunctionDef) -> Iterator[tuple[ast.Assign, ast.Assign]]:
    """Two assignments, one after the other, of what a number leaves and gives when it is divided."""
    for _, body in _bodies(function):
        for one, other in itertools.pairwise(body):
            if not all(
                isinstance(s, ast.Assign)
                and isinstance(s.targets[0], ast.Name)
                and isinstance(s.value, ast.BinOp)
                for s in (one, other)
            ):
                continue
            operators = {type(one.value.op), type(other.value.op)}
            operands = [(ast.unparse(s.value.left), ast.unparse(s.value.right)) for s in (one, other)]
            if operators == {ast.FloorDiv, ast.Mod} and operands[0] == operands[1]:
                yield one, other


def _exchanged_operators(text: SourceText, one: ast.Assign, other: ast.Assign) -> Edit:
    """`b = n // H` and `h = n % H` for `b = n % H` and `h = n // H`."""
    (start, middle), (after, end) = text.span(one.value), text.span(other.value)
    first, second = text.of(one.value), text.of(other.value)
    a, b = text.of(one.targets[0]), text.of(other.targets[0])
    put = second + text.raw[middle:after].decode() + first
    old, new = f"{a} = {first}; {b} = {second}", f"{a} = {second}; {b} = {first}"
    return Edit(EXCHANGED_DIVISIONS, start, end, put, one.lineno, old, new)


def _bodies(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt | None, list[ast.stmt]]]:
    """Each block of statements, with its loop if it is the body of one."""
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            if isinstance(body := getattr(node, name, None), list):
                yield (node if isinstance(node, ast.For | ast.While) else None), body


def _simple_statement(
    text: SourceText, statement: ast.stmt, known: NameFamilies, kernel: bool, looped: bool
) -> Iterator[Edit]:
    if isinstance(statement, ast.AugAssign):
        yield from _augmented(text, statement, known)
        yield from _value_edits(text, statement.value, known, kernel)
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        target = statement.targets[0].id
        if known.assigned[target] > 1:
            yield text.edit(REDUNDANT_STATEMENT, statement, "pass", int(_is_bound(statement.value)))
            if isinstance(statement.value, ast.Name) and statement.value.id in known.scales:
                yield text.edit(ASSIGNMENT, statement, f"{target} *= {text.of(statement.value)}")
            if looped:
                yield text.edit(ASSIGNMENT, statement, f"{target} += {text.of(statement.value)}", 1)
        uses = (n for n in ast.walk(statement.value) if isinstance(n, ast.Name) and n.id == target)
        for name in uses if looped else ():
            for factor in _rescaling_factors(known) if target in known.values else ():
                yield text.edit(MISSING_RESCALE, name, f"({target} * {factor})")
        if looped:
            yield from _rescaled_accumulator(text, statement.value, target)
            yield from _factor_of_the_other(text, statement.value)
        if target in known.values:
            yield from _rescaled_summands(text, statement.value, known)
        yield from _value_edits(text, statement.value, known, kernel)
    elif kernel and isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        stored = call.args[1:2] if name_of(call) in ("store", "atomic_add") else ()
        for value in stored:
            yield from _value_edits(text, value, known, kernel)


def _is_bound(value: ast.expr) -> bool:
    """True for the bound of a loop: a kernel without it may be right, and do superfluous work."""
    return isinstance(value, ast.Call) and name_of(value) in ("minimum", "maximum", "min", "max", "cdiv")


def _rescaled_accumulator(text: SourceText, value: ast.expr, target: str) -> Iterator[Edit]:
    """`acc = tl.dot(p, v, acc) * factor`: the factor belongs to the old value, to which the call adds."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return
    for call, factor in ((value.left, value.right), (value.right, value.left)):
        for old in getattr(call, "args", ()):
            if isinstance(call, ast.Call) and text.of(old) == target:
                begin, end, (start, stop) = *text.span(call), text.span(old)
                head, tail = (text.raw[a:b].decode() for a, b in ((begin, start), (stop, end)))
                put = f"{head}{target} * {bracketed(factor, text.of(factor))}{tail}"
                yield text.edit(BRACKETS, value, put)


def _rescaled_summands(text: SourceText, value: ast.expr, known: NameFamilies) -> Iterator[Edit]:
    """One of two summands rescaled to the unit of the other."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for side in (value.left, value.right):
            for factor in _rescaling_factors(known):
                if factor.partition("[")[0] not in text.of(side):
                    yield text.edit(MISSING_RESCALE, side, f"({text.of(side)}) * {factor}")


def _factor_of_the_other(text: SourceText, value: ast.expr) -> Iterator[Edit]:
    """`f * a + b` for `a + f * b`, and the other way: a factor that belongs to the other term of a sum."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return
    for product, other in ((value.left, value.right), (value.right, value.left)):
        if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            for factor, rest in ((product.left, product.right), (product.right, product.left)):
                if isinstance(factor, ast.Name | ast.Subscript):
                    times = f"{bracketed(other, text.of(other))} * {text.of(factor)}"
                    yield text.edit(OTHER_SUMMAND, value, f"{times} + {text.of(rest)}")


def _augmented(text: SourceText, statement: ast.AugAssign, known: NameFamilies) -> Iterator[Edit]:
    """Another operator for `+=` and its relatives, no such statement, or the sum so far rescaled."""
    written, value = text.of(statement.target), text.of(statement.value)
    yield text.edit(REDUNDANT_STATEMENT, statement, "pass")
    if written in known.pointers:  # a pointer is never meant to be set anew, or moved backwards
        for stride in known.strides:
            scaled = f"{bracketed(statement.value, value)} * {stride}"
            yield text.edit(STRIDES, statement.value, scaled, 1, "strides")
        return
    for new in OTHER_ASSIGNMENTS.get(ASSIGNMENTS.get(type(statement.op), ""), ()):
        yield text.edit(ASSIGNMENT, statement, f"{written} {new} {value}", 0)
    if isinstance(statement.op, ast.Add):
        for factor in _rescaling_factors(known):
            yield text.edit(MISSING_RESCALE, statement, f"{written} = {written} * {factor} + ({value})")


def _value_edits(text: SourceText, value: ast.expr, known: NameFamilies, kernel: bool) -> Iterator[Edit]:
    """A value times one of the function's scalars, with the opposite sign, or to another base."""
    written = text.of(value)
    if isinstance(value, ast.Constant | ast.Compare | ast.Tuple) or "arange" in written:
        return
    if kernel and ("stride" in written or "program_id" in written or "_ptr" in written.partition("(")[0]):
        return
    used = names_in(value)
    for name in known.scales:
        if name not in used:
            yield text.edit(MISSING_FACTOR, value, f"({written}) * {name}")
    if isinstance(value, ast.Name):
        return
    for base in BASES if kernel else ():
        yield text.edit(MISSING_FACTOR, value, f"({written}) * {base}", 1)
    if not (kernel and _is_loaded(value)):  # the sign is that of a term of a formula, further down
        yield text.edit(SIGN, value, f"-({written})", 1)


def _is_loaded(value: ast.expr) -> bool:
    """True for tl.load(…), converted or not: what an input holds."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
        value = value.func.value
    return isinstance(value, ast.Call) and name_of(value) == "load"


def _rescaling_factors(known: NameFamilies) -> Iterator[str]:
    """Possible factors of a sum so far: the variables that hold an exponential."""
    factors = [name for name in known.exponentials if name not in known.tiles] or known.exponentials
    for name in factors:
        yield name
        yield f"{name}[:, None]"


def _exchanged(text: SourceText, one: ast.stmt, other: ast.stmt) -> Edit:
    (start, middle), (after, end) = text.span(one), text.span(other)
    put = text.of(other) + text.raw[middle:after].decode() + text.of(one)
    return Edit(STATEMENT_ORDER, start, end, put, one.lineno, text.of(one), text.of(other))


def _copied_last(text: SourceText, body: list[ast.stmt]) -> Iterator[Edit]:
    """`m_i = m_new` as the last line of a loop, in which other lines still need the old value."""
    for at, statement in enumerate(body[:-2]):
        copies = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        if not copies or not isinstance(statement.value, ast.Name):
            continue
        if any(statement.targets[0].id in names_in(later) for later in body[at + 1 :]):
            start, end, own = *text.span(statement), text.of(statement)
            last = text.span(body[-1])[1]
            put = f"pass{text.raw[end:last].decode()}\n{' ' * statement.col_offset}{own}"
            yield Edit(OVERWRITTEN_EARLY, start, last, put, statement.lineno, own, own)


def _loop_end(text: SourceText, loop: ast.For | ast.While, after: ast.stmt | None) -> Iterator[Edit]:
    """A loop's last statement moved after it, and the statement after it moved to the loop's end."""
    last = loop.body[-1]
    if isinstance(last, SIMPLE) and len(loop.body) > 1:
        start, end = text.starts[last.lineno - 1], text.span(last)[1]
        put = " " * loop.col_offset + text.of(last)
        yield Edit(INSIDE_LOOP, start, end, put, last.lineno, text.of(last), text.of(last))
    if isinstance(after, SIMPLE):
        start, end = text.starts[after.lineno - 1], text.span(after)[1]
        put = " " * last.col_offset + text.of(after)
        yield Edit(AFTER_LOOP, start, end, put, after.lineno, text.of(after), text.of(after))
