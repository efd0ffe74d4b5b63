# label: wrong
# title: distance above 0
# says: The key at the own place belongs to the window.
# names: the diagonal is hidden
# base: right_by_hooks

# --- replace
    return (distance >= 0) & (distance < extras[0])
# --- with
    return (distance > 0) & (distance < extras[0])
