# label: wrong
# title: dv dp with p as it is
# says: P is not turned: its rows are queries, dV's rows are keys.
# names: one edit; wrong shape

def dv_dp_with_p_as_it_is(p, v, do):
    return p * do, do * v.T
