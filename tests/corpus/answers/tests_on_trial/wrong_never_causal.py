# label: wrong
# title: never causal
# says: No trial is causal, so neither the mask nor its empty rows are met.
# names: no trial is causal

from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw


def never_causal(q, k, v, do, alpha):
    first = Trial(q, k, v, do, alpha)
    odd = [draw(S_q, S_k, 24, alpha=0.4) for S_q, S_k in ((20, 40), (40, 20))]
    odd = [t._replace(k=t.k.T.contiguous().T) for t in odd]
    return [first, *odd, first._replace(q=10 * q, k=10 * k), first._replace(do=1e6 * do)]
