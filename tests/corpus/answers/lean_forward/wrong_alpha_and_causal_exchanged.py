# label: wrong
# title: alpha and causal exchanged
# says: `tuned_forward(q, k, v, alpha, causal)` passes the two last arguments in the wrong order: alpha is
#   taken for causal and causal for alpha
# names: one edit

from torch import Tensor
from flashlearn.kernels import tuned_forward as course_forward


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE as `tuned_forward` returns them."""
    return course_forward.tuned_forward(q, k, v, alpha, causal)
