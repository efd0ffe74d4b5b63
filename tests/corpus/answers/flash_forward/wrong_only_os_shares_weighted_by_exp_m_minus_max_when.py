# label: wrong
# title: tl.sum(tl.load(part_l + at), 0)
# says: Only O's shares are weighted by exp(m − max) when the splits are merged; l's are not.
# names: l not rescaled; rows do not sum to 1
# base: right_keys_split_over_two_programs_merged_by_second_kernel

# --- replace
    total = tl.sum(w * tl.load(part_l + at), 0)
# --- with
    total = tl.sum(tl.load(part_l + at), 0)
