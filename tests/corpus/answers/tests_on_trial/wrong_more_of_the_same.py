# label: wrong
# title: more of the same
# says: the list repeats one shape with other random numbers: square, not causal and small, so mutants that
#   need ragged, causal or unequal lengths survive
# names: one ordinary test

from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    trials = [Trial(q, k, v, do, alpha)]
    for scale in (0.1, 0.5, 1.0, 2.0):
        trials.append(Trial(q * scale, k * scale, v, do, alpha))
    return trials
