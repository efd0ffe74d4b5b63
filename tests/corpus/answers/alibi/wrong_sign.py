# label: wrong
# title: the bias is added
# says: Far keys are preferred: the bias has the opposite sign.
# names: far keys are preferred
# base: right_by_hook

# --- replace
    return x - slope * distance
# --- with
    return x + slope * distance
