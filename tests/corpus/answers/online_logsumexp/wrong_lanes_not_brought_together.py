# label: wrong
# title: lanes, not brought together
# says: The lanes are added without being brought to the common maximum.
# names: lanes not brought together; not rescaled
# base: right_a_running_maximum_for_every_lane

# --- replace
    total = tl.sum(s * tl.exp(m - ref), 0)
# --- with
    total = tl.sum(s, 0)
