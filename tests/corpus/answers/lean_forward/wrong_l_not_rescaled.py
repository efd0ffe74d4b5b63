# label: wrong
# title: l is not rescaled
# says: l_i must be multiplied by rescale before the new sum is added
# names: l not rescaled; one edit
# base: right_one_stage_v_last

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
# --- with
        l_i = l_i + tl.sum(p, axis=1)
