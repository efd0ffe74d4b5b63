"""Runs of a formula in sympy: a call as it is, or with another text. They need neither torch nor triton."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flashlearn.exercise import Inputs
from flashlearn.interpreter.deadline import deadline
from flashlearn.running import answer_source
from flashlearn.running.answer_source import Section
from flashlearn.running.counted_turns import Counter
from flashlearn.running.crashes import describe_exception, is_user_interrupt
from flashlearn.running.evidence import Evidence, Output
from flashlearn.running.forks import no_forks
from flashlearn.running.run_modes import Edited, PlainCall
from flashlearn.running.values import as_tuple, copies, plain


def called(function: Callable[..., Any], inputs: Inputs, how: PlainCall) -> Evidence:
    """One call, with the formula's arguments."""
    try:
        with deadline(how.limit), no_forks():
            returned = function(*copies(inputs).values())
    except BaseException as error:  # TimeLimit, SystemExit and anything else that a learner may raise
        if is_user_interrupt(error):
            raise
        return Evidence(raised=describe_exception(error, how.limit, function, launches=False))
    return _returned(returned)


def edited(
    function: Callable[..., Any], sections: Sequence[Section], inputs: Inputs, how: Edited
) -> Evidence:
    """One call with another text in place of a section of the answer."""
    texts: Mapping[int, str] = {how.section: how.text, **dict(how.more)}
    turns = Counter(how.turns)
    try:
        with answer_source.rebuilt(function, sections, texts, turns) as anew, deadline(how.limit), no_forks():
            evidence = _returned(anew(*copies(inputs).values()))
    except BaseException as error:  # the edited text need not be a program at all
        if is_user_interrupt(error):
            raise
        evidence = Evidence(raised=answer_source.edit_failure(error))
    return replace(evidence, turns=turns.turns)


def _returned(value: Any) -> Evidence:
    value = plain(value)
    return Evidence(value, tuple(map(Output, as_tuple(value))))
