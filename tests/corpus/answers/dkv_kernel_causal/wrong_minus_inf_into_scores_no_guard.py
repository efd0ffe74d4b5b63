# label: wrong
# title: −inf into scores, no guard
# says: The mask is set before the exponential, and a row that sees nothing has LSE = −∞: ∞ − ∞.
# names: no guard for queries that see nothing; inf minus inf
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])
# --- with
        scores = qkT * (sm_scale * LOG2E)

# --- replace
        pT = tl.where(keep, pT, 0.0)
# --- with
        pT = tl.math.exp2(tl.where(keep, scores, float("-inf")) - (m * LOG2E)[None, :])
