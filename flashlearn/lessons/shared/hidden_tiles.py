"""Does a causal kernel multiply tiles in which no query sees a key? Does a kernel compute S once?

What counts are tiles of pairs, and not operations: D may be padded, Q Kᵀ may be computed twice, and a program
may own several blocks. With random rows a product itself shows which queries and keys it multiplies: the
rows of its operands have the directions of rows of Q and K, whatever their scale.
"""

from __future__ import annotations

import numpy as np

from flashlearn.exercise import Inputs
from flashlearn.interpreter.observers.dot_operands import DotOperands, Product
from flashlearn.lessons.shared import reference
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

MIN_COSINE = 0.99  # cosine of a row and itself, rounded to fp16 or bf16; two random rows are far from it
MIN_HIDDEN_SHARE = 0.45
"""This share of the hidden pairs lies in hidden tiles of 128 × 128 at S 256; of smaller tiles, more."""


def hidden_tiles(
    answer: Answer, inputs: Inputs, visible: np.ndarray | None = None, share: float = MIN_HIDDEN_SHARE
) -> int:
    """How many fully masked tiles a kernel multiplies, 0 if it skips all but a few of them.

    `inputs` have one head, with q and k of random rows. `visible` [S_q, S_k] is causal unless given; a few
    are less than `share` of the hidden pairs.
    """
    products = _products(answer, inputs)
    q, k = (_directions(inputs[name][0, 0].float().numpy()) for name in "qk")
    if visible is None:
        visible = reference.visible(len(q), len(k), causal=True).numpy()
    visited, tiles = np.zeros_like(visible), set()
    for left, right in products:
        pairs = _pairs_of(left, right.T, q, k)
        if pairs is None or visible[np.ix_(*pairs)].any():
            continue
        visited[np.ix_(*pairs)] = True
        tiles.add((tuple(pairs[0]), tuple(pairs[1])))
    return len(tiles) if visited.sum() >= share * (~visible).sum() else 0


def products_per_pair(answer: Answer, inputs: Inputs) -> np.ndarray:
    """In how many products each pair of query and key occurs, [S_q, S_k]: once each if S is computed once.

    `inputs` have one head, with q and k of random rows.
    """
    products = _products(answer, inputs)
    q, k = (_directions(inputs[name][0, 0].float().numpy()) for name in "qk")
    counts = np.zeros((len(q), len(k)), int)
    for left, right in products:
        pairs = _pairs_of(left, right.T, q, k)
        if pairs is not None:
            counts[np.ix_(*pairs)] += 1
    return counts


def _products(answer: Answer, inputs: Inputs) -> tuple[Product, ...]:
    evidence = answer.run(inputs, Observed(seed=0, observers=(DotOperands(),)))
    return evidence.completed().observations[DotOperands]


def _pairs_of(
    left: np.ndarray, right: np.ndarray, q: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The queries and the keys of a product of rows with rows; None if it is not part of Q Kᵀ."""
    for queries, keys in ((left, right), (right, left)):
        found = _matching_rows(queries, q), _matching_rows(keys, k)
        if found[0] is not None and found[1] is not None:
            return found
    return None


def _matching_rows(rows: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """Indices of the known directions that the rows have; None if a row has none, or all rows are 0."""
    depth = known.shape[1]
    if rows.shape[1] < depth or rows[:, depth:].any():
        return None
    rows = rows[rows.any(axis=1), :depth]
    cosines = np.abs(_directions(rows) @ known.T)
    if not len(rows) or cosines.max(axis=1).min() < MIN_COSINE:
        return None
    return np.unique(cosines.argmax(axis=1))


def _directions(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
