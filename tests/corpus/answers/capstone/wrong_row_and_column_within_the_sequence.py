# label: wrong
# title: dropout's row and column within the sequence
# says: Row and column of a weight's number are counted within the sequence; T_q and T_k are those of the packed tensors.
# names: rows and columns counted within the sequence; one edit
# base: _as_taught

# --- replace
    return kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3])
# --- with
    return kept_weights(w, b * 0, h, i, j, T_q, T_k, extras[3])
