# label: wrong
# title: stacked, no clamp
# says: −inf − (−inf) is NaN where both parts are empty.
# names: the empty merge is not guarded; inf minus inf
# base: right_both_parts_stacked_the_maximum_clamped

# --- replace
    finite = torch.clamp(top, min=-1e30)
# --- with
    finite = top
