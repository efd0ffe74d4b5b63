# label: wrong
# title: unseen: < for <=, and no delta
# says: Two mistakes: < for <= hides each query's last key, and delta is not subtracted.
# names: mask hides the diagonal + delta omitted; mask hides the diagonal; delta omitted
# base: _dq_causal_by_the_notebook

# --- replace
        S = tl.where((cols < S_k)[None, :] & (cols[None, :] <= limit), S, -float("inf"))
# --- with
        S = tl.where((cols < S_k)[None, :] & (cols[None, :] < limit), S, -float("inf"))

# --- replace
        dS = P * (dP - Dl)
# --- with
        dS = P * dP
