# label: wrong
# title: dK and dV divided by the size of the group
# says: Shares add up; a mean is too small by the size of the group.
# names: the mean of the group
# base: right_by_hooks

# --- replace
    return o, lse, dq, dk, dv
# --- with
    size = q.shape[1] // k.shape[1]
    return o, lse, dq, dk / size, dv / size
