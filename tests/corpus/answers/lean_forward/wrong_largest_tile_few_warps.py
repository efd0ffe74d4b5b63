# label: wrong
# title: largest tile few warps
# says: `Shape(128, 128, 4, 2)` gives each thread 256 fp32 accumulators at D 128: numbers are right, and
#   registers are spilled.
# names: review

from torch import Tensor
from flashlearn.kernels import tuned_forward as course_forward
from flashlearn.kernels.shapes import Shape


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    # large tiles read K and V least often, and few warps keep many programs on a multiprocessor
    return course_forward.tuned_forward(q, k, v, causal, alpha, shape=Shape(128, 128, 4, 2))
