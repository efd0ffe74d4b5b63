"""One source per lesson, two notebooks built from it.

>>> build(["02"])                               # notebooks/02_softmax.ipynb and solutions/02_softmax.ipynb
>>> check()                                     # what is stale, why, and what fixes it
>>> load_exercise("notebooks/02_softmax.ipynb", "softmax_forward")
"""

from flashlearn.course.authoring.builder import Built, build
from flashlearn.course.authoring.drift import Stale, check
from flashlearn.course.authoring.execute import ExecutionError
from flashlearn.course.authoring.loading import exercise_cells, load_exercise
from flashlearn.course.authoring.regions import Problem, SourceError
from flashlearn.course.files import CourseError

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
