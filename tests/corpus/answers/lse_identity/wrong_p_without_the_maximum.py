# label: wrong
# title: p without the maximum
# says: The lse is right; p is exp(s) / l, without the maximum's share.
# names: p without the maximum; factor

def p_without_the_maximum(s, m, l):
    return m + sp.log(l), s.applyfunc(lambda x: sp.exp(x) / l)
