"""The judge of sympy answers: what came back, is it right, and if not, where.

`run_symbolic` calls a learner's function for each case of an exercise and returns outcomes; `judge`
alone compares two values.

The modules in the order in which an answer passes through them: `unreadable` and `forms` (type and shape),
`screening` and `symbols` (what it contains), `sampling_plan` and `points` (where to compare), `evaluation`,
`exact_numbers` and `comparison` (exact values), `proofs` for a right answer, `patterns` and `examples` for a
wrong one, `verdict` and `cases`. `flashlearn.explaining.symbolic` names the mistake that was made.
"""

from flashlearn.judging.symbolic.cases import run_symbolic
from flashlearn.judging.symbolic.verdict import Verdict, judge

__all__ = ["Verdict", "judge", "run_symbolic"]
