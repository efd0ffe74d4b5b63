"""Two mistakes, one that fp32 shows and one that half precision shows."""

import torch

from flashlearn.exercise import Case
from flashlearn.explaining.findings.precision import RoundedInside
from flashlearn.explaining.findings.some_programs import SomePrograms
from flashlearn.explaining.findings.zero_sign_constants import Sign
from flashlearn.explaining.precision_split import split_by_precision as split
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status


def off_by(error):
    """One output whose largest right number is 2."""
    return (OutputCheck("o", ok=False, error=error, expected=torch.tensor([1.0, -2.0])),)


FULL = Outcome(Case("full"), Status.WRONG, outputs=off_by(1.5))
HALF = Outcome(Case("half", dtype=torch.float16), Status.WRONG, outputs=off_by(0.01))
RIGHT = Outcome(Case("right"), Status.PASS)


def knows(**by_case):
    """Names what is wrong with the first wrong case that it is given; of others it knows nothing."""

    def explain(outcomes):
        wrong = [o.case.name for o in outcomes if o.status is Status.WRONG]
        assert RIGHT in outcomes
        return by_case.get(wrong[0]) if wrong else None

    return explain


SIGN = Finding(Sign("o"), fits=1, of=1)
ROUNDED = Finding(RoundedInside((), (), 1, 0), fits=1, of=1)
VAGUE = Finding(SomePrograms("o", "c", 2, (1,)), fits=1, of=1)


def test_each_precision_may_have_a_mistake_of_its_own():
    found = split([RIGHT, FULL, HALF], knows(full=SIGN, half=ROUNDED), knows())
    assert found.parts == (SIGN, ROUNDED) and (found.fits, found.of) == (2, 2) and not found.partial


def test_what_explains_fp32_alone_is_told_with_how_many_cases_it_fits():
    found = split([RIGHT, FULL, HALF], knows(full=SIGN), knows())
    assert found.parts == (SIGN,) and (found.fits, found.of) == (1, 2) and found.partial


def test_an_edit_is_sought_for_fp32_where_half_precision_is_explained():
    edit = Finding(Sign("lse"), fits=1, of=1)
    assert split([RIGHT, FULL, HALF], knows(half=ROUNDED), knows(full=edit)).parts == (
        edit,
        ROUNDED,
    )
    assert split([RIGHT, FULL, HALF], knows(), knows(full=edit)) is None


def test_what_leaves_the_mistake_open_is_not_told_as_one_of_two():
    assert split([RIGHT, FULL, HALF], knows(full=VAGUE, half=VAGUE), knows()) is None


def test_one_precision_alone_is_nothing_to_take_apart():
    assert split([RIGHT, FULL], knows(full=SIGN), knows()) is None
    assert split([RIGHT, HALF], knows(half=ROUNDED), knows()) is None


def test_errors_that_rounding_cannot_make_are_not_taken_apart():
    much = Outcome(Case("half", dtype=torch.float16), Status.WRONG, outputs=off_by(1.5))
    assert split([RIGHT, FULL, much], knows(full=SIGN, half=ROUNDED), knows()) is None
