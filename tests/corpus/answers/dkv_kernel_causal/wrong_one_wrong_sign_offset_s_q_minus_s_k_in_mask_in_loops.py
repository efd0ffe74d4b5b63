# label: wrong
# title: off = n_q - n_k
# says: One wrong sign: the offset is S_q − S_k, in the mask and in the loop's start.
# names: S_k − S_q with the wrong sign
# base: _dkv_while

# --- replace
    off = n_k - n_q
# --- with
    off = n_q - n_k
