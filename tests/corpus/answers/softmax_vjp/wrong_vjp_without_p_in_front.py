# label: wrong
# title: vjp without p in front
# says: The inner product has to be subtracted before the product with p.
# names: p in front forgotten

def vjp_without_p_in_front(p, dp):
    return dp - (p.T * dp)[0] * sp.ones(p.rows, 1)
