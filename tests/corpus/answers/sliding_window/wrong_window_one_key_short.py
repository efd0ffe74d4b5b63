# label: wrong
# title: distance below window − 1
# says: The window holds one key less than asked.
# names: window one key short
# base: right_by_hooks

# --- replace
    return (distance >= 0) & (distance < extras[0])
# --- with
    return (distance >= 0) & (distance < extras[0] - 1)
