# label: wrong
# title: dv dp from o
# says: O stands where dO belongs, in both.
# names: O in place of dO

def dv_dp_from_o(p, v, do):
    o = p * v
    return p.T * o, o * v.T
