# label: wrong
# title: squares by seed and one unfair
# says: two faults: all trials of the list are square with one alpha and one layout (other seeds break no
#   other assumption), and the last one has scores of millions, which right kernels fail too.
# names: a right kernel is condemned

from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    first = Trial(q, k, v, do, alpha)
    trials = [first]
    for seed, length in enumerate((16, 48, 64), start=1):
        trials.append(draw(length, length, seed=seed))
        trials.append(draw(length, length, seed=seed + 10, causal=True))
    trials.append(first._replace(q=1000 * q, k=1000 * k))
    return trials
