"""Inputs of this lesson's symbolic exercises."""

from __future__ import annotations

import sympy as sp
import torch

from flashlearn.exercise import Case, Inputs


def integers(case: Case, generator: torch.Generator) -> Inputs:
    """The case's numbers as sympy's integers."""
    return {name: sp.Integer(value) for name, value in case.sizes.items()}
