# label: wrong
# title: three sums, one returned
# says: delta is left out.
# names: delta forgotten
# base: right_three_sums

# --- replace
    return alpha * acc - alpha * delta * mean_key
# --- with
    return alpha * acc
