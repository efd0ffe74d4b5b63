# label: wrong
# title: lanes not in one unit
# says: the line `l = tl.sum(total, axis=0)` adds the lanes' sums although each is in the unit of its own
#   lane's maximum; they must be rescaled to m first
# names: lanes not brought together
# base: right_lane_by_lane

# --- replace
    safe_m = tl.where(m == -float("inf"), 0.0, m)
    l = tl.sum(total * tl.exp(top - safe_m), axis=0)
# --- with
    l = tl.sum(total, axis=0)
