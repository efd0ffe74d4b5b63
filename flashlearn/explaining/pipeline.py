"""The way of a wrong answer: the stages that look for its mistake, as lists in order of trust.

A name is worth much, and a wrong name costs more than none. So what an experiment proves comes first, then
the mistakes that the exercise declares, then rules for mistakes that no exercise declares, and last what only
says where to look; where nothing is sure there is no finding. Every stage is optional: one that fails is
logged, and the others go on without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashlearn.exercise import Kind
from flashlearn.explaining import stages
from flashlearn.explaining.declared_mistakes import (
    PAIR_WORK,
    find_declared_where_written,
    find_exchanged_outputs,
)
from flashlearn.explaining.divergence import BUDGET
from flashlearn.explaining.edits.line_of_mistake import LINE_WORK
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.edits.second_mistake import FIRST_EDIT_WORK, SECOND_EDIT_WORK
from flashlearn.explaining.edits.verification import SEARCH_WORK
from flashlearn.explaining.experiments import (
    nothing_launched,
    rounded_inside,
    undefined_lanes,
    uninitialised_memory,
)
from flashlearn.explaining.findings import SURE, VAGUE
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.formula_stages import LINE_RUNS, edit_of_crash, line_of_declared, with_line
from flashlearn.explaining.in_some_cases import find_in_some_cases
from flashlearn.explaining.nan_origins import nan_origin
from flashlearn.explaining.numbers_besides import find_numbers_besides
from flashlearn.explaining.precision_split import split_by_precision
from flashlearn.explaining.rounded_besides import rounded_besides
from flashlearn.explaining.second_look import MOST_WORK, look_again
from flashlearn.explaining.stage import Role, Search, Stage, attempted, run, worst_status
from flashlearn.explaining.waits import WORK as WAITS_WORK
from flashlearn.explaining.waits import edit_for_waits
from flashlearn.explaining.weights import find_in_weights
from flashlearn.outcome import Finding, Outcome, Status


def _by_precision(search: Search) -> Finding | None:
    """What is wrong in fp32, and what besides in half precision, where nothing else says what was done."""
    if search.finding is not None and not search.finding.kind.locates:
        return None

    def name(some: list[Outcome]) -> Finding | None:
        return run(NAMING, replace(search, outcomes=some, finding=None, pairs=False))

    def edit(some: list[Outcome]) -> Finding | None:
        return attempted(search.exercise, "one edit", find_edit, search.exercise, search.answer, some)

    return split_by_precision(search.outcomes, name, edit)


def _second_look(search: Search) -> Finding | None:
    """What a repair that is certain makes right, and what is wrong then."""

    def explain(again: Search, whole: bool) -> Finding | None:
        line = stages_for(again.outcomes) if whole else (*PROOFS, *NAMING)
        return run(line, replace(again, pairs=again.pairs and whole))

    found = look_again(search, explain)
    if found is None or isinstance((found.parts or (found,))[0].kind, Shape):
        return found
    return stages.combined(search.finding, found)


def _numbers_besides(search: Search) -> Finding | None:
    """What is wrong with the numbers of an answer that changes an input."""

    def name(again: Search) -> Finding | None:
        rounded = Stage("", "", lambda s: rounded_inside(s.exercise, s.wrong, s.answer, numbers=True))
        declared, one_edit = NAMING[0], next(stage for stage in REFINEMENTS if stage.name == "one edit")
        return run((declared, rounded, one_edit), again)

    return find_numbers_besides(search, name)


EDIT_BUDGET = f"{SEARCH_WORK:,} units of work, most of them accesses to memory"

LINE_BUDGET = f"{LINE_WORK[Kind.KERNEL]:g} units of work, most of them accesses to memory"

PROOFS = (
    Stage(
        "launcher",
        "What the launcher returned or changed is enough to make the case wrong.",
        stages.launcher_fault,
        Role.PROOF,
        reruns=False,
    ),
    Stage(
        "nothing launched",
        "No kernel ran: memory filled with a mark comes back as that mark.",
        lambda s: nothing_launched(s.exercise, s.wrong, s.answer),
        Role.PROOF,
    ),
    Stage(
        "undefined lanes",
        "A load has a mask and no `other=`: with zeros (or −∞) in the hidden lanes every failing case "
        "passes.",
        lambda s: undefined_lanes(s.exercise, s.wrong, s.answer),
        Role.PROOF,
    ),
    Stage(
        "uninitialised memory",
        "Memory is read that was never written: with zeros there, every failing case passes.",
        lambda s: uninitialised_memory(s.exercise, s.wrong, s.answer),
        Role.PROOF,
    ),
)
"""Experiments that leave no doubt."""

NAMING = (
    Stage(
        "declared mistakes",
        "A mistake that the exercise declares, or two at once, would give just these numbers.",
        stages.declared_mistake,
        reruns=False,
        budget=f"{PAIR_WORK:,.0f} units of work for pairs, twice",
    ),
    Stage(
        "declared mistakes where written",
        "Some elements are never written, and a declared mistake explains the others.",
        lambda s: find_declared_where_written(s.exercise, s.outcomes),
        reruns=False,
    ),
    Stage(
        "exchanged outputs",
        "Two outputs are swapped; once they are swapped back, the rest is right or shows a declared mistake.",
        lambda s: find_exchanged_outputs(s.exercise, s.outcomes),
        reruns=False,
    ),
    Stage(
        "rounded inside",
        "Without the roundings to half precision inside the kernel, every failing case passes.",
        lambda s: rounded_inside(s.exercise, s.wrong, s.answer, s.outcomes),
    ),
    Stage(
        "rules that name",
        "The numbers are the right ones transposed, negated, times a constant, in another order, for a part "
        "of the input, and so on: the rules that say what was done.",
        lambda s: stages.by_rules(s.exercise, s.wrong, SURE),
        reruns=False,
    ),
    Stage(
        "origin of a NaN",
        "The kernel runs once more with an observer that remembers the operation from which the first NaN or "
        "infinity comes.",
        lambda s: nan_origin(s.exercise, s.wrong, s.answer),
    ),
    Stage(
        "declared mistake in some outputs",
        "A declared mistake would give some outputs in every failing case; the others are wrong in another "
        "way.",
        stages.declared_in_some_outputs,
        reruns=False,
    ),
    Stage(
        "weights",
        "With inputs chosen for it, an attention kernel's outputs show P itself: pairs that leak from the "
        "future, pairs that are missing, factors.",
        lambda s: find_in_weights(s.exercise, s.wrong, s.answer),
    ),
    Stage(
        "rules that locate",
        "The wrong elements have something in common: some heads, some programs, the ragged tail.",
        lambda s: stages.by_rules(s.exercise, s.wrong, VAGUE),
        reruns=False,
    ),
)
"""What was done, the surest first, and last where to look."""

REFINEMENTS = (
    Stage(
        "numbers besides",
        "After an input that is changed or returned: where numbers are wrong as well, that is said, and why, "
        "if a declared mistake, a rounding or one edit explains all of them.",
        _numbers_besides,
        Role.REFINEMENT,
        budget=EDIT_BUDGET,
        after_proof=True,
    ),
    Stage(
        "another origin of a NaN",
        "A declared mistake whose only evidence is NaN is withdrawn if its formula produces its first NaN in "
        "another operation.",
        stages.other_nan_origin,
        Role.REFINEMENT,
    ),
    Stage(
        "first divergence",
        "The values of the variables are recognised by their numbers: the first statement whose value is "
        "none of the exercise's quantities is shown, if the results are right once that value is put right.",
        stages.with_first_divergence,
        Role.REFINEMENT,
        budget=f"{BUDGET:,} units of work, most of them values that are recorded",
    ),
    Stage(
        "one edit",
        "With one edit of the text, or two, every failing case passes, and the others still pass.",
        stages.with_edit,
        Role.REFINEMENT,
        budget=EDIT_BUDGET,
    ),
    Stage(
        "line in torch",
        "Where a declared mistake of a formula in torch explains everything, the edit that takes it back "
        "shows its line.",
        line_of_declared,
        Role.REFINEMENT,
        budget=f"{LINE_RUNS} runs",
    ),
    Stage(
        "edit in place of NaN",
        "The same replaces a declared mistake whose only evidence is NaN.",
        stages.edit_for_nan_alone,
        Role.REFINEMENT,
        budget=EDIT_BUDGET,
    ),
    Stage(
        "by precision",
        "Where the mistake is still unknown, the fp32 cases and the half-precision cases are explained "
        "separately.",
        _by_precision,
        Role.REFINEMENT,
    ),
    Stage(
        "second look",
        "A repair is an edit with which some cases pass, or another dtype for an output. What is still wrong "
        "after the repair is explained in the same way.",
        _second_look,
        Role.REFINEMENT,
        budget=f"{MOST_WORK:g} accesses to memory",
    ),
    Stage(
        "declared mistake in some cases",
        "Where nothing is known, or only where to look: a declared mistake would give just the numbers of "
        "some failing cases, and the others show something else.",
        stages.declared_in_some_cases,
        Role.REFINEMENT,
        reruns=False,
    ),
    Stage(
        "factor in some cases",
        "Where nothing is known: in several failing cases an output is the right one negated, or times a "
        "factor that has a meaning; the others show another mistake.",
        lambda s: find_in_some_cases(s.exercise, s.wrong) if s.finding is None else None,
        Role.REFINEMENT,
        reruns=False,
    ),
    Stage(
        "unused strides",
        "Where nothing is known, or only where to look or what is not read: views alone fail, and a kernel "
        "has parameters that none of its lines uses.",
        stages.unused_strides,
        Role.REFINEMENT,
        reruns=False,
    ),
    Stage(
        "line of a named mistake",
        "A name that has no line gets that of the first natural edit with which every failing case passes.",
        with_line,
        Role.REFINEMENT,
        budget=LINE_BUDGET,
        after_proof=True,
    ),
    Stage(
        "rounding besides",
        "Where a declared mistake gives the numbers, the half-precision cases may show that a sum is rounded "
        "as well.",
        rounded_besides,
        Role.REFINEMENT,
        reruns=False,
    ),
    Stage(
        "own explanation",
        "The exercise explains the answer itself (`HowExplained.explain`).",
        stages.own_words,
    ),
)
"""What may be added to a name, or take its place."""

WRONG_NUMBERS = (*PROOFS, *NAMING, *REFINEMENTS)
"""The stages for an answer that ran to the end in every case, and whose numbers are wrong."""


# ---------------------------------------------------------------- cases that ended early


ENDED_EARLY = (
    Stage(
        "result in an input",
        "The launcher stores its result into an input; where that input has other strides, the store goes "
        "outside the tensor.",
        stages.result_into_input,
        Role.PROOF,
        reruns=False,
    ),
    Stage(
        "case status",
        "A crash, an access out of bounds and a race are reported as they were met, with line and program; "
        "where a kernel that the exercise declares fails in just this way, its mistake is named.",
        stages.case_status,
        reruns=False,
    ),
    Stage(
        "declared mistake besides",
        "The cases that did run may show a declared mistake as well.",
        stages.with_declared_mistake,
        Role.REFINEMENT,
        reruns=False,
    ),
    Stage(
        "edit for a fault",
        "After an access out of bounds or a race: one edit of the lines from which address, mask and grid "
        "are computed makes everything right.",
        stages.with_edit_for_fault,
        Role.REFINEMENT,
        budget=EDIT_BUDGET,
    ),
    Stage(
        "edit for waits",
        "After a fault of synchronisation: the counts, parities, bytes and slots from which waits follow are "
        "edited one at a time, until everything is right.",
        edit_for_waits,
        Role.REFINEMENT,
        budget=f"{WAITS_WORK:g} units of work, most of them accesses to memory",
    ),
    Stage(
        "edit for a crash",
        "After a crash of a formula in torch: one edit makes everything right.",
        edit_of_crash,
        Role.REFINEMENT,
        budget=EDIT_BUDGET,
    ),
    Stage(
        "second look at a fault",
        "After an edit with which some cases pass and no access fails, what is still wrong is explained in "
        "the same way.",
        _second_look,
        Role.REFINEMENT,
        budget=f"{MOST_WORK:g} accesses to memory",
    ),
    Stage(
        "edit and mistake",
        "An edit keeps every access inside; the numbers that come then show a declared mistake, or are made "
        "right by a second edit.",
        stages.with_edit_and_mistake,
        Role.REFINEMENT,
        budget=f"{FIRST_EDIT_WORK:,.0f} units of work, {SECOND_EDIT_WORK:,.0f} for a second edit",
    ),
)
"""The stages for an answer of which some case ended early."""


def stages_for(outcomes: Sequence[Outcome]) -> tuple[Stage, ...]:
    """The stages for a kernel, or a function in torch, with these outcomes.

    There are none where nothing is wrong, or there is nothing to explain.
    """
    first = next((o.status for o in outcomes if o.status is not Status.PASS), None)
    if first in (None, Status.TODO, Status.NEEDS_GPU):
        return ()
    return WRONG_NUMBERS if worst_status(list(outcomes)) is Status.WRONG else ENDED_EARLY
