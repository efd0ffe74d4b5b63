# label: wrong
# title: only values
# says: All trials have 32 queries and 32 keys, and no scores are large enough to overflow.
# names: every test is square + every test is a multiple of the block + no scores are large

from flashlearn.lessons.lesson_10_clinic.mutants import Trial


def only_values(q, k, v, do, alpha):
    trials = [Trial(f * q, f * k, v, do, a, c) for f in (1, 3, 10) for a in (0.1, 0.4) for c in (False, True)]
    return [*trials[:7], Trial(q, k.T.contiguous().T, v, 1e6 * do, alpha)]
