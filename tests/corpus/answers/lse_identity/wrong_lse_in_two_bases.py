# label: wrong
# title: lse in two bases
# says: log2 of l was added to a natural maximum.
# names: base-2 logarithm

def lse_in_two_bases(s, m, l):
    lse = m + sp.log(l, 2)
    return lse, s.applyfunc(lambda x: sp.exp(x - lse))
