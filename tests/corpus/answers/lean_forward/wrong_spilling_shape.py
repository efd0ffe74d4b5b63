# label: wrong
# title: spilling shape
# says: the shape 128 × 128 with 4 warps has 256 accumulators per thread, which spill; the budget forbids
#   spilled registers.
# names: review

from torch import Tensor
from flashlearn.kernels import tuned_forward as course_forward
from flashlearn.kernels.shapes import Shape


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    # the largest tile reads K and V least often
    return course_forward.tuned_forward(q, k, v, causal, alpha, Shape(128, 128, 4, 2))
