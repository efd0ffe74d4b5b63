# label: wrong
# title: jacobian with the inner product
# says: p.T * p is one number; p * p.T is the matrix.
# names: ⟨p, p⟩ in place of p pᵀ; crashed

def jacobian_with_the_inner_product(p):
    inner = (p.T * p)[0, 0]
    return sp.diag(*p).applyfunc(lambda e: e - inner)
