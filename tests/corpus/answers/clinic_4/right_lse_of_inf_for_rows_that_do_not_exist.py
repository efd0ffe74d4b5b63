# label: right
# title: LSE of +∞ for rows that do not exist
# base: _clinic_4_kernel

# --- replace
        p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        p = tl.exp(s - tl.where(rows < S_q, lse_i, float("inf"))[:, None])
