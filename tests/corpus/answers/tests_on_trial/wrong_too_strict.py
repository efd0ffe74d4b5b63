# label: wrong
# title: too strict
# says: The suite kills right kernels too: scores of 10⁶ leave fp32 no digits.
# names: a right kernel is condemned

from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw


def too_strict(q, k, v, do, alpha):
    one = draw(20, 40, 24, alpha=0.4, causal=True)
    one = one._replace(k=one.k.T.contiguous().T)
    return [
        one,
        draw(40, 20, causal=True),
        Trial(400 * q, 400 * k, v, do, alpha),
        Trial(q, k, v, 1e6 * do, alpha),
    ]
