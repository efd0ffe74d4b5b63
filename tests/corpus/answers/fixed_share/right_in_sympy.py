# label: right
# title: counted by a ceiling, summed by sympy

def fixed_share(pid, programs, blocks, heads):
    taken = sp.Max(0, sp.ceiling(sp.Rational(blocks * heads - pid, programs)))
    n = sp.Symbol("n", integer=True)
    return taken, sp.summation(blocks - sp.floor((pid + n * programs) / heads), (n, 0, taken - 1)).doit()
