# label: wrong
# title: all contiguous
# says: Every tensor is contiguous: a kernel that reads k with q's strides survives.
# names: every tensor is contiguous

from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw


def all_contiguous(q, k, v, do, alpha):
    first = Trial(q, k, v, do, alpha)
    large = [first._replace(q=10 * q, k=10 * k), first._replace(do=1e6 * do)]
    return [draw(20, 40, 24, alpha=0.4, causal=True), draw(40, 20, causal=True), *large]
