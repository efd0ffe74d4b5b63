# label: wrong
# title: unseen: top-left, and no alpha
# says: Two mistakes: the mask is aligned top-left (and the start with it), and dK lacks alpha.
# names: mask aligned top-left + alpha is missing from dK; mask aligned top-left; alpha is missing from dK;
#   loop start without S_k − S_q
# base: _dkv_while

# --- replace
    off = n_k - n_q
# --- with
    off = 0

# --- replace
    dk = dk * scale
# --- with
