# label: wrong
# title: tl.minimum(S_k, (qb + 1) * B) - 1
# says: The scan starts at the top-left diagonal though the mask is right.
# names: loop end without S_k − S_q
# base: right_minus_1e30_as_filler_guarded_by_p_where_see_0_from

# --- replace
    last = tl.minimum(S_k, (qb + 1) * B + S_k - S_q) - 1  # last key that anybody here sees
# --- with
    last = tl.minimum(S_k, (qb + 1) * B) - 1  # last key that anybody here sees
