# label: wrong
# title: all heads of Q
# says: Every head of K gets the shares of all heads of Q, not only of its own group.
# names: all heads of Q
# base: right_by_hooks

# --- replace
    return first, first + size, 1
# --- with
    return 0, H, 1
