# label: wrong
# title: both hooks deal the heads round
# says: Heads of a group are adjacent; here head h of Q belongs to h % H_k, forward and backward.
# names: heads dealt round
# base: right_by_hooks

# --- replace
    return h // size
# --- with
    return h % H_k

# --- replace
    return first, first + size, 1
# --- with
    return h_k, H, H_k
