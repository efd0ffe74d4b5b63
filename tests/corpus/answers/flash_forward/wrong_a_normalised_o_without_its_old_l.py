# label: wrong
# title: unseen: a normalised O without its old l
# says: O is kept divided by l, and must be multiplied by the old l before the new tile is added; it is not.
# names: divided in every step
# base: right_flashattention_1_o_kept_normalised_k_loaded

# --- replace
        Oi = ((li * a)[:, None] * Oi + b[:, None] * PV) / li_new[:, None]
# --- with
        Oi = (a[:, None] * Oi + b[:, None] * PV) / li_new[:, None]
