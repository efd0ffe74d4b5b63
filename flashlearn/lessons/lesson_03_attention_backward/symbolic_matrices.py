"""Matrices of symbols and of exact fractions: what the symbolic exercises are asked about."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case
from flashlearn.lessons.lesson_03_attention_backward.one_head import EXAMPLE_SIZES, shape_in_words
from flashlearn.lessons.shared.cases import build_case

P_IN_FRACTIONS = (("1/6", "1/3", "1/2"), ("1/2", "1/4", "1/4"), ("1/3", "1/3", "1/3"), ("1/5", "1/5", "3/5"))
DS_IN_FRACTIONS = (
    ("1/4", "-1/2", "1/4"),
    ("-1/2", "1/4", "1/4"),
    ("1/3", "0", "-1/3"),
    ("2/5", "1/5", "-3/5"),
)


def any_entries(S_q: int, S_k: int, D: int) -> Case:
    """Matrices whose entries are symbols."""
    return build_case("any entries", {"S_q": S_q, "S_k": S_k, "D": D}, note=shape_in_words(S_q, S_k, D))


SIZES = (any_entries(2, 3, 2), any_entries(3, 2, 1), any_entries(2, 2, 2), any_entries(1, 1, 1))


def the_example(what: str) -> Case:
    """The running example's numbers."""
    return Case(f"the running example's {what}", EXAMPLE_SIZES, data="example")


def symbol_matrix(name: str, rows: int, columns: int) -> sp.Matrix:
    """A matrix of real symbols, P_00, P_01, …"""
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}_{i}{j}", real=True))


def exact(rows: tuple[tuple[str, ...], ...]) -> sp.Matrix:
    """A matrix of fractions, from their texts."""
    return sp.Matrix([[sp.Rational(x) for x in row] for row in rows])
