# label: wrong
# title: unseen: padded keys have score 0
# says: Keys beyond S_k get the score 0, not -inf, and are counted in l and in the LSE.
# names: padded keys are not masked
# base: right_flashattention_1_o_kept_normalised_k_loaded

# --- replace
        Sij = tl.where(valid[None, :], Sij, float("-inf"))
# --- with
        Sij = tl.where(valid[None, :], Sij, 0.0)
