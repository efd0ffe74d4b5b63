# label: wrong
# title: lse subtracted
# says: dlse lowers the gradient here: its sign is wrong.
# names: the sign of dLSE

def lse_subtracted(p, dp, dlse):
    return sp.Matrix([a * (b - p.dot(dp) - dlse) for a, b in zip(p, dp, strict=True)])
