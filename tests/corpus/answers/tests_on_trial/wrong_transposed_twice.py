# label: wrong
# title: transposed twice
# says: the layout trial does _replace(k=wide.k.T.T), which gives back the same view with the same strides, so
#   no trial has k in another layout than q and the mutant that assumes q's strides survives (needs
#   .T.contiguous().T).
# names: every tensor is contiguous

from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    """Trials that kill twelve mutants and spare three right kernels."""
    first = Trial(q, k, v, do, alpha)
    wide = draw(20, 40, 24, alpha=0.4, causal=True)
    by_columns = wide._replace(k=wide.k.T.T)  # the same numbers, laid out by columns
    blind = draw(40, 20, causal=True)  # the first twenty queries see nothing
    sharp = first._replace(q=10 * q, k=10 * k)
    large = first._replace(do=1e6 * do)
    return [first, wide, by_columns, blind, sharp, large]
