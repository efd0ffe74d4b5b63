"""The judge of sympy answers: what came back, is it right, and if not, where.

`run_symbolic` calls a learner's function for each case of an exercise and returns outcomes; `judge`
alone compares two values; `name_mistake` finds which of an exercise's named mistakes was made.

The way of an answer: `foreign` and `reading` (type and shape) → `screening` and `names` (what it
holds) → `planning` and `points` (where to look) → `evaluating`, `exact` and `comparing` (exact values)
→ `proving` if it is right, `patterns` and `describing` if not → `judging` → `running`, and for a name
`predicted`, `misplaced` and `stands_for` → `naming`.
"""

from flashlearn.judging.symbolic.judging import Verdict, judge
from flashlearn.judging.symbolic.naming import name_mistake
from flashlearn.judging.symbolic.running import run_symbolic

__all__ = ["Verdict", "judge", "name_mistake", "run_symbolic"]
