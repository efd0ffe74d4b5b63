# label: wrong
# title: the end is the size of the group
# says: The range ends at the number of heads in a group: it is empty for every group but the first.
# names: the group's size for its end
# base: right_by_hooks

# --- replace
    return first, first + size, 1
# --- with
    return first, size, 1
