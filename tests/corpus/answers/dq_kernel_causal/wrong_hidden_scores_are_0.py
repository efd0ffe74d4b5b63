# label: wrong
# title: unseen: hidden scores are 0
# says: Hidden scores are set to 0, not -inf: hidden keys keep the weight exp(-LSE).
# names: hidden scores set to 0; leak from the future
# base: _dq_block_pointers

# --- replace
        p = tl.exp(s - lse_r[:, None])
        p = tl.where(vis, p, 0.0)
# --- with
        s = tl.where(vis, s, 0.0)
        p = tl.exp(s - lse_r[:, None])
