"""Edits of loads and stores: a mask, what the masked lanes hold, an atomic addition."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flashlearn.explaining.edits.comparisons import COMPARISON
from flashlearn.explaining.edits.dtypes import CAST
from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies

MASKED = ("load", "store", "atomic_add")
DEPTH = 6
"""How many assignments are followed from a name back to what it is computed from."""

FILL_QUESTION = (
    "Which number must a lane without an element hold, so that it changes nothing in what follows?"
)

FILL_VALUE = edit_kind("fill value", question=FILL_QUESTION, changes_values=True, fills_absence=True)
MISSING_OTHER = edit_kind(
    "missing other",
    sentence="Line {line} loads with a mask and without `other`: `{old}`; with `{new}`",
    question=FILL_QUESTION,
    changes_values=True,
    fills_absence=True,
    in_gluon=False,
)
MISSING_MASK = edit_kind(
    "missing mask",
    sentence="Line {line} accesses memory without a mask: `{old}`; with `{new}`",
    question="Which lanes of this access have no element of their own, and what must become of them?",
    moves_access=True,
    fills_absence=True,
    in_gluon=False,
)
PARTIAL_MASK = edit_kind(
    "partial mask",
    sentence="Line {line} masks with `{old}`; with `{new}`",
    question="Along which of its dimensions can the tile extend beyond the tensor?",
    moves_access=True,
    in_gluon=False,
)
WRONG_MASK = edit_kind(
    "wrong mask",
    question="Which indices move this address, and which of them does the mask check?",
    moves_access=True,
    fills_absence=True,
)
ATOMIC_ADD = edit_kind(
    "atomic add",
    sentence="Line {line} stores into elements that several programs write: `{old}`; with `{new}`",
    question="Which programs contribute to this element?",
    moves_access=True,
    in_gluon=False,
    requires="race",
)


def access_edits(text: SourceText, node: ast.Call, known: NameFamilies, name: str) -> Iterator[Edit]:
    """A mask for a load or store without one, another condition in it, or a value for the masked lanes."""
    whole, keywords = text.of(node)[:-1], {k.arg for k in node.keywords}
    masked = (
        "mask" in keywords or len(node.args) > (1 if name == "load" else 2) or "boundary_check" in keywords
    )
    if not masked:
        filler = ", other=0.0" if name == "load" else ""
        if known.block_pointers:
            for variant, axes in enumerate(("(0, 1)", "(0,)", "(1,)")):
                yield text.edit(MISSING_MASK, node, f"{whole}, boundary_check={axes})", variant)
        for variant, mask in enumerate(known.masks):
            yield text.edit(MISSING_MASK, node, f"{whole}, mask={mask}{filler})", variant)
    elif name == "load" and "mask" in keywords and "other" not in keywords:
        for variant, filler in enumerate(("0.0", 'float("-inf")')):
            yield text.edit(MISSING_OTHER, node, f"{whole}, other={filler})", variant)
    mask = _mask_of(node)
    if mask is not None:
        own = text.of(mask)
        for condition in known.conditions:
            if condition not in own:
                yield text.edit(PARTIAL_MASK, mask, f"{bracketed(mask, own)} & {condition}")
    if name == "load":
        yield text.edit(CAST, node, f"{whole}).to(tl.float32)")
    yield from _whole_index(text, node)


def fill_edits(text: SourceText, node: ast.Call, name: str) -> Iterator[Edit]:
    """Another value for lanes that do not exist, or for a start: −∞, or 0 in its place."""
    given = {k.arg: k.value for k in node.keywords}
    at = {"load": [given.get("other")], "where": node.args[2:3], "full": node.args[1:2]}[name]
    for place in filter(None, at):
        written = text.of(place)
        if "inf" in written.lower() and name != "full":
            minimum = b"tl.min(" in text.raw  # +∞ is neutral for a minimum
            if minimum and "-" in written:
                yield text.edit(FILL_VALUE, place, 'float("inf")')
            yield text.edit(FILL_VALUE, place, "0.0", int(minimum), "mask" if name == "load" else "")
            if name == "load" and "-" in written and _subtracted_in_an_exponent(text, node):
                yield text.edit(FILL_VALUE, place, 'float("inf")')
        elif "inf" not in written.lower() and "load" not in written:
            if name == "load" and _subtracted_in_an_exponent(text, node):
                yield text.edit(FILL_VALUE, place, 'float("inf")')  # exp(s − ∞) is 0 for every s
            yield text.edit(FILL_VALUE, place, 'float("-inf")')
            if name == "load" and isinstance(place, ast.Constant) and place.value:
                yield text.edit(FILL_VALUE, place, "0.0")


def infinite_load(edit: Edit) -> bool:
    """True for a 0 in place of −∞ for the lanes of a load that do not exist."""
    return edit.kind is FILL_VALUE and edit.about == "mask"


def _subtracted_in_an_exponent(text: SourceText, node: ast.Call) -> bool:
    """Whether the name that a load is assigned to is what an exponential's argument has after its minus."""
    assigned = (n for n in ast.walk(text.tree) if isinstance(n, ast.Assign) and n.value is node)
    names = {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}
    return any(
        isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and names & names_in(inner.right)
        for call in ast.walk(text.tree)
        if names and isinstance(call, ast.Call) and name_of(call) in ("exp", "exp2")
        for inner in ast.walk(call)
    )


def atomic_edit(text: SourceText, node: ast.Call) -> Edit:
    """An atomic addition in place of a store."""
    return text.edit(ATOMIC_ADD, node, "tl.atomic_add" + text.of(node)[len(text.of(node.func)) :])


def mask_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """The name of another mask, likelier if that one bounds the address and this one does not."""
    sources = _sources(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or name_of(node) not in MASKED or not node.args:
            continue
        mask = _mask_of(node)
        if not isinstance(mask, ast.Name):
            continue
        indices = _origins(names_in(node.args[0]), sources) & {*known.offsets}
        for other in known.masks:
            if other.isidentifier() and other != mask.id:
                fits = indices <= _origins({other}, sources) and not indices <= _origins({mask.id}, sources)
                yield text.edit(WRONG_MASK, mask, other, 0 if fits else 1, "mask")


def _mask_of(node: ast.Call) -> ast.expr | None:
    return next((k.value for k in node.keywords if k.arg == "mask"), None)


def _whole_index(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """The whole index of the address in the mask, where only a part of it is compared."""
    at = node.args[0] if node.args else None
    mask = _mask_of(node)
    if not (isinstance(mask, ast.Compare) and isinstance(mask.left, ast.Name) and isinstance(at, ast.BinOp)):
        return
    pointer = at
    while isinstance(pointer, ast.BinOp):
        pointer = pointer.left
    index = text.raw[text.span(pointer)[1] : text.span(at)[1]].decode().strip().removeprefix("+").strip()
    if index != text.of(mask.left) and index.count("(") == index.count(")"):
        rest = text.raw[text.span(mask.left)[1] : text.span(mask)[1]].decode()
        yield text.edit(COMPARISON, mask, f"{index}{rest}", 3)


def _sources(function: ast.FunctionDef) -> Mapping[str, set[str]]:
    """For each name the names in its first value."""
    sources: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for one, its in pairs:
                if isinstance(one, ast.Name):
                    sources.setdefault(one.id, names_in(its))
    return sources


def _origins(names: set[str], sources: Mapping[str, set[str]]) -> set[str]:
    found = set(names)
    for _ in range(DEPTH):
        found |= {origin for name in found for origin in sources.get(name, ())}
    return found
