# label: wrong
# title: q.to(tl.float32) * alpha * alpha / <= S_k - S_q + 1) &
# says: Two mistakes: alpha applied twice, and the mask one key too generous.
# names: alpha applied twice + one key too many
# base: right_minus_1e30_as_filler_guarded_by_p_where_see_0_from

# --- replace
    q = q.to(tl.float32) * alpha
# --- with
    q = q.to(tl.float32) * alpha * alpha

# --- replace
        see = (j[None, :] - i[:, None] <= S_k - S_q) & (j < S_k)[None, :]
# --- with
        see = (j[None, :] - i[:, None] <= S_k - S_q + 1) & (j < S_k)[None, :]
