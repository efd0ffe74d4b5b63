# label: wrong
# title: more seeds and larger numbers
# says: square non-causal trials only differ in seed and size (no S_q ≠ S_k, no causal mask, no odd alpha, no
#   layout), and `1000 * q` kills the innocent as well
# names: a right kernel is condemned

from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    first = Trial(q, k, v, do, alpha)
    return [
        first,
        draw(48, 48, seed=1),
        draw(64, 64, seed=2),
        draw(33, 33, seed=3),
        first._replace(v=100 * first.v),
        first._replace(q=1000 * first.q, k=1000 * first.k),
    ]
