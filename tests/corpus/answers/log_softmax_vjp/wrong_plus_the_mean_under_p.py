# label: wrong
# title: plus p times the mean under p
# says: The sum of dlog is weighted with p, and it is added where it must be subtracted.
# names: weighted by p, and added

def log_softmax_vjp(p, dlog):
    mean = sum(a * b for a, b in zip(p, dlog))
    return sp.Matrix([b + a * mean for a, b in zip(p, dlog)])
