# label: wrong
# title: all square
# says: every trial has S_q = S_k and a multiple of the block: the mutants that need ragged or unequal
#   lengths, or empty rows, survive.
# names: every test is square + every test is a multiple of the block + every test has ordinary values + every
#   tensor is contiguous

from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    trials = [Trial(q, k, v, do, alpha)]
    for size in (16, 32, 64):
        trials.append(draw(size, size, 16, alpha=0.5, causal=True))
        trials.append(draw(size, size, 32, alpha=0.125, causal=False))
    return trials
