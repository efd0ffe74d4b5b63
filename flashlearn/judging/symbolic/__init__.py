"""The judge of sympy answers: what came back, is it right, and if not, where.

`run_symbolic` calls a learner's function for each case of an exercise and returns outcomes; `judge`
alone compares two values.

The way of an answer: `foreign` and `reading` (type and shape) → `screening` and `names` (what it
holds) → `planning` and `points` (where to look) → `evaluating`, `exact` and `comparing` (exact values)
→ `proving` if it is right, `patterns` and `describing` if not → `judging` → `running`. Which mistake was
made is named in `flashlearn.explaining.symbolic`.
"""

from flashlearn.judging.symbolic.judging import Verdict, judge
from flashlearn.judging.symbolic.running import run_symbolic

__all__ = ["Verdict", "judge", "run_symbolic"]
