# label: wrong
# title: mean_key without delta
# says: The second sum is not multiplied by delta.
# names: delta not multiplied in
# base: right_three_sums

# --- replace
    return alpha * acc - alpha * delta * mean_key
# --- with
    return alpha * acc - alpha * mean_key
