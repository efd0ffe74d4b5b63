# label: wrong
# title: lse and divided again
# says: p is divided by l twice: lse holds it already.
# names: normalised twice

def lse_and_divided_again(s, m, l):
    lse = m + sp.log(l)
    p = s.applyfunc(lambda x: sp.exp(x) / sp.exp(lse) / l)
    return lse, p
