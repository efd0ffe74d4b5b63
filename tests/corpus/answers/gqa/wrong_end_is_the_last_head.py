# label: wrong
# title: the end is the last head
# says: The range ends one past the last head; the last head of each group is missing.
# names: the last head of the group is missing
# base: right_by_hooks

# --- replace
    return first, first + size, 1
# --- with
    return first, first + size - 1, 1
