"""One source per lesson, two notebooks built from it.

>>> build(["02"])                               # notebooks/02_softmax.ipynb and solutions/02_softmax.ipynb
>>> check()                                     # what is stale, why, and what mends it
>>> load_exercise("notebooks/02_softmax.ipynb", "softmax_forward")
"""

from flashlearn.authoring.builder import Built, build
from flashlearn.authoring.drift import Stale, check
from flashlearn.authoring.execute import ExecutionError
from flashlearn.authoring.loading import exercise_cells, load_exercise
from flashlearn.authoring.regions import Problem, SourceError
from flashlearn.course import CourseError

__all__ = [
    "Built",
    "CourseError",
    "ExecutionError",
    "Problem",
    "SourceError",
    "Stale",
    "build",
    "check",
    "exercise_cells",
    "load_exercise",
]
