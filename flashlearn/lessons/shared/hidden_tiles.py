"""Does a causal kernel multiply tiles in which no query sees a key? Does a kernel compute S once?

What counts are tiles of pairs, and not operations: D may be padded, Q Kᵀ may be computed twice, and a program
may own several blocks. With random rows a product tells by itself which queries and keys meet in it: the rows
of its operands point where those of Q and K do, whatever they were scaled by.
"""

from __future__ import annotations

import numpy as np

from flashlearn.exercise import Inputs
from flashlearn.interpreter.observers.dot_operands import DotOperands, Product
from flashlearn.lessons.shared import reference
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

ALIKE = 0.99  # cosine of a row and itself, rounded to fp16 or bf16; two random rows are far from it
MANY = 0.45
"""This share of the hidden pairs lies in hidden tiles of 128 × 128 at S 256; of smaller tiles, more."""


def hidden_tiles(answer: Answer, inputs: Inputs) -> int:
    """How many tiles with nothing to see a kernel multiplies, 0 if it leaves out all but a few of them.

    `inputs` have one head, with q and k of random rows.
    """
    products = _products(answer, inputs)
    q, k = (_directions(inputs[name][0, 0].float().numpy()) for name in "qk")
    visible = reference.visible(len(q), len(k), causal=True).numpy()
    visited, tiles = np.zeros_like(visible), set()
    for left, right in products:
        met = _met(left, right.T, q, k)
        if met is None or visible[np.ix_(*met)].any():
            continue
        visited[np.ix_(*met)] = True
        tiles.add((tuple(met[0]), tuple(met[1])))
    return len(tiles) if visited.sum() >= MANY * (~visible).sum() else 0


def meetings(answer: Answer, inputs: Inputs) -> np.ndarray:
    """In how many products each query met each key, [S_q, S_k]: once each if S is computed once.

    `inputs` have one head, with q and k of random rows.
    """
    products = _products(answer, inputs)
    q, k = (_directions(inputs[name][0, 0].float().numpy()) for name in "qk")
    counts = np.zeros((len(q), len(k)), int)
    for left, right in products:
        met = _met(left, right.T, q, k)
        if met is not None:
            counts[np.ix_(*met)] += 1
    return counts


def _products(answer: Answer, inputs: Inputs) -> tuple[Product, ...]:
    evidence = answer.run(inputs, Observed(seed=0, observers=(DotOperands(),)))
    return evidence.completed().observations[DotOperands]


def _met(
    left: np.ndarray, right: np.ndarray, q: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Which queries met which keys in a product of rows with rows; None if it is no part of Q Kᵀ."""
    for queries, keys in ((left, right), (right, left)):
        found = _which(queries, q), _which(keys, k)
        if found[0] is not None and found[1] is not None:
            return found
    return None


def _which(rows: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """Numbers of the known directions that the rows have; None if a row has none of them, or all are 0."""
    depth = known.shape[1]
    if rows.shape[1] < depth or rows[:, depth:].any():
        return None
    rows = rows[rows.any(axis=1), :depth]
    alike = np.abs(_directions(rows) @ known.T)
    if not len(rows) or alike.max(axis=1).min() < ALIKE:
        return None
    return np.unique(alike.argmax(axis=1))


def _directions(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
