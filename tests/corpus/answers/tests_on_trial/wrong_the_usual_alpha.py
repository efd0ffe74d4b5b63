# label: wrong
# title: the usual alpha
# says: alpha is 1/√D in every trial: a kernel that takes it for granted survives.
# names: every test has the default alpha

from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw


def the_usual_alpha(q, k, v, do, alpha):
    first = Trial(q, k, v, do, alpha)
    one = draw(20, 40, 24, causal=True)
    one = one._replace(k=one.k.T.contiguous().T)
    return [
        first,
        one,
        draw(40, 20, causal=True),
        first._replace(q=10 * q, k=10 * k),
        first._replace(do=1e6 * do),
    ]
