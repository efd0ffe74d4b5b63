# label: wrong
# title: dK and dV of the first head of the group
# says: The other heads of the group have no share in dK and dV.
# names: one head of the group
# base: right_by_hooks

# --- replace
    return first, first + size, 1
# --- with
    return first, first + 1, 1
