# label: wrong
# title: padded keys count
# says: no `tl.where` for the keys beyond S_k: their scores are 0, not −inf, and each adds exp(0 − m) to the
#   sum.
# names: padded keys are not masked
# base: right_k_loaded_transposed

# --- replace
        z = tl.where(okk[None, :], z, float("-inf"))
# --- with

# --- replace
    out = out * (1.0 / run_sum)[:, None]
# --- with
    out = out / run_sum[:, None]
