"""Edits of how far a program's block reaches: its last row in place of the first, or the reverse.

A causal loop ends with what the block's last query sees, and its part without a mask with what the first one
sees.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, names_in
from flashlearn.explaining.edits.name_families import NameFamilies
from flashlearn.explaining.edits.rounding import signed_terms

BLOCK_REACH = edit_kind(
    "block reach",
    question="Which row of the program's block decides here, the first or the last?",
    moves_access=True,
)


def block_reach_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """A sum that holds the block's first row, with the number after its last row, or after its first.

    >>> [edit.new for edit in block_reach_edits(source, function, known)]       # of first + 1 + S_k - S_q
    ['first + BLOCK_Q + S_k - S_q']
    """
    starts = _starts(function, known)
    for node in _sums(function):
        terms = signed_terms(node)
        names = {term.id for sign, term in terms if isinstance(term, ast.Name) and sign > 0}
        for start in sorted(starts.keys() & names):
            put = _other_row(text, terms, starts[start])
            if put:
                yield text.edit(BLOCK_REACH, node, put)


def _starts(function: ast.FunctionDef, known: NameFamilies) -> dict[str, str]:
    """The names of a block's first row, each with the block: those of `tl.program_id(0) * BLOCK_Q`."""
    found = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        value = node.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            for program, block in ((value.left, value.right), (value.right, value.left)):
                counted = "program_id" in ast.unparse(program) or names_in(program) & {*known.programs}
                if counted and isinstance(block, ast.Name) and block.id in known.blocks:
                    found[node.targets[0].id] = block.id
    return found


def _sums(function: ast.FunctionDef) -> Iterator[ast.BinOp]:
    """Every sum that is no operand of another."""
    operations = (node for node in ast.walk(function) if isinstance(node, ast.BinOp))
    nodes = [node for node in operations if isinstance(node.op, ast.Add | ast.Sub)]
    inner = {id(side) for node in nodes for side in (node.left, node.right)}
    return (node for node in nodes if id(node) not in inner)


def _other_row(text: SourceText, terms: list[tuple[int, ast.expr]], block: str) -> str:
    """The sum with the block in place of 1, or with 1 in place of the block; "" if it holds neither.

    The block and −1, the last row itself, are both left out: what remains is the first one.
    """
    blocks = [i for i, (_, term) in enumerate(terms) if isinstance(term, ast.Name) and term.id == block]
    ones = {sign: i for i, (sign, term) in enumerate(terms) if getattr(term, "value", None) == 1}
    if len(blocks) > 1 or any(terms[i][0] < 0 for i in blocks):
        return ""
    words = [f"{'+' if sign > 0 else '-'} {text.of(term)}" for sign, term in terms]
    if blocks and -1 in ones:
        words[blocks[0]] = words[ones[-1]] = ""
    elif blocks:
        words[blocks[0]] = "+ 1"
    elif 1 in ones:
        words[ones[1]] = f"+ {block}"
    else:
        return ""
    return " ".join(filter(None, words)).removeprefix("+ ")
