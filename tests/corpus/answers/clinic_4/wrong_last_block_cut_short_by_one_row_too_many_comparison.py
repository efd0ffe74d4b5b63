# label: wrong
# title: rows < S_q − 1
# says: The last block is cut short by one row too many: the comparison is off by one.
# names: the last query is left out; last tile missing
# base: _clinic_4_kernel

# --- replace
        p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        p = tl.where((rows < S_q - 1)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
