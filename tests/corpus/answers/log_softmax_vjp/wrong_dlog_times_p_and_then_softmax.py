# label: wrong
# title: dlog times p and then softmax
# says: From log p back to p one divides by p; here dlog is multiplied by p before softmax's gradient is taken.
# names: multiplied by p on the way

def log_softmax_vjp(p, dlog):
    dp = sp.Matrix([share * arrived for share, arrived in zip(p, dlog)])
    mean = (p.T * dp)[0]
    return sp.Matrix([share * (arrived - mean) for share, arrived in zip(p, dp)])
