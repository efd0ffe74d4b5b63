# label: wrong
# title: the group begins at head h_k
# says: The group of head h_k begins at h_k times its size; here the groups overlap.
# names: groups overlap
# base: right_by_hooks

# --- replace
    return first, first + size, 1
# --- with
    return h_k, h_k + size, 1
