# label: wrong
# title: lse adds l
# says: l is the sum itself; its logarithm belongs there.
# names: logarithm of l forgotten

def lse_adds_l(s, m, l):
    lse = m + l
    return lse, sp.Matrix([sp.exp(x - lse) for x in s])
