# label: wrong
# title: the heads of Q are dealt round for dK and dV
# says: dK and dV add up every H_k-th head, and the heads of a group are adjacent.
# names: heads dealt round for dK and dV
# base: right_by_hooks

# --- replace
    return first, first + size, 1
# --- with
    return h_k, H, H_k
