"""Edits that take away what protects a result, and so make up for a mistake elsewhere.

x = tl.load(x_ptr + i, mask=m)      # without `.to(tl.float32)`: rounded as the wrong line rounds it

A conversion to fp32, a value for hidden lanes or a condition of a mask is seldom one too many. Where every
kind of case is wrong it may be; where only half precision shows the mistake, or a single case, it is not
believed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.returned_forms import FIXED_SIZE
from flashlearn.outcome import Outcome

FULL_PRECISION = re.compile(r"float32|\.float\(\)")
FILLER = re.compile(r"\bother ?=")
MASK = re.compile(r"\bmask ?=")


def compensates(edit: Edit, wrong: Sequence[Outcome]) -> bool:
    """Whether an edit takes a protection away, and the `wrong` cases are too few or too alike to believe it.

    Of an output whose dtype is wrong the cases say enough: there a conversion may be one too many.
    """
    if any(check.misfit is not None for o in wrong for check in o.outputs):
        return False
    single = len(wrong) == 1
    half = all(o.case.itemsize == 2 for o in wrong)
    if _fewer(FULL_PRECISION, edit) or _rounds(edit):
        return single or half
    if edit.kind is FIXED_SIZE:
        return half  # with larger tiles fewer sums are rounded
    return single and (_fewer(FILLER, edit) or _fewer(MASK, edit) or _drops_a_condition(edit))


def _fewer(what: re.Pattern[str], edit: Edit) -> bool:
    """Whether the new text has something less often than the old one."""
    return len(what.findall(edit.new)) < len(what.findall(edit.old))


def _rounds(edit: Edit) -> bool:
    """Whether the edit puts a tensor's own dtype in the place of fp32."""
    return edit.kind.changes_dtype and "float32" in edit.old and edit.new.endswith(".dtype")


def _drops_a_condition(edit: Edit) -> bool:
    """Whether a mask loses one of its conditions."""
    return edit.old.count("&") > edit.new.count("&") and edit.new in edit.old
