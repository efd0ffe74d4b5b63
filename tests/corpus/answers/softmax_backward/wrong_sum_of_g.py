# label: wrong
# title: sum of g
# says: The sum is of dp, not of p ∘ dp.
# names: sum of dp, not weighted by p
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    out = pg - p * tl.sum(pg, axis=0)
# --- with
    out = pg - p * tl.sum(g, axis=0)
