"""The way of a wrong formula: its stages, which need neither torch nor triton."""

from __future__ import annotations

from flashlearn.exercise import Kind
from flashlearn.explaining.edits.formula_trial import FORMULA_RUNS
from flashlearn.explaining.edits.line_of_mistake import LINE_WORK
from flashlearn.explaining.formula_stages import LINE_RUNS, edit_of_formula, line_of_declared, with_line
from flashlearn.explaining.stage import Role, Stage
from flashlearn.explaining.symbolic import name_mistake

FORMULAS = (
    Stage(
        "declared mistakes and patterns",
        "A declared mistake, or two, give the answer in every case; otherwise a pattern that the error "
        "follows everywhere, or two outputs or arguments that are swapped.",
        lambda s: name_mistake(s.exercise, s.outcomes, s.answer),
        reruns=False,
    ),
    Stage(
        "one edit of a formula",
        "With one edit of the formula, every failing case passes.",
        edit_of_formula,
        Role.REFINEMENT,
        budget=f"{FORMULA_RUNS} runs",
    ),
    Stage(
        "line of a formula",
        "Where a declared mistake explains everything, the edit that takes it back shows its line.",
        line_of_declared,
        Role.REFINEMENT,
        budget=f"{LINE_RUNS} runs",
    ),
    Stage(
        "line of a formula's mistake",
        "A name that has no line gets that of the first natural edit with which every failing case passes.",
        with_line,
        Role.REFINEMENT,
        budget=f"{LINE_WORK[Kind.SYMBOLIC]:g} runs",
    ),
)
"""The stages for a symbolic answer."""
