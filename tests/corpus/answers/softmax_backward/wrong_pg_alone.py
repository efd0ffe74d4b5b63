# label: wrong
# title: pg alone
# says: The inner product is left out: what is stored is p ∘ dp.
# names: ⟨p, dp⟩ forgotten
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    out = pg - p * tl.sum(pg, axis=0)
# --- with
    out = pg
