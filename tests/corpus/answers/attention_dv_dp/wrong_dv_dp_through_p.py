# label: wrong
# title: dv dp through p
# says: You went on through P: dP itself has no factor P.
# names: dP multiplied by P

def dv_dp_through_p(p, v, do):
    dv = p.T * do
    dp = sp.matrix_multiply_elementwise(p, do * v.T)
    return dv, dp
