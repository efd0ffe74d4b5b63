# label: wrong
# title: vjp entry by entry
# says: Only the diagonal of the Jacobian was used.
# names: only the diagonal of J

def vjp_entry_by_entry(p, dp):
    return p.multiply_elementwise(sp.ones(p.rows, 1) - p).multiply_elementwise(dp)
