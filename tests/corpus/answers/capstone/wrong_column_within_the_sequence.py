# label: wrong
# title: dropout's column within the sequence
# says: The row of a weight's number is packed, its column is counted within the sequence.
# names: columns counted within the sequence; one edit
# base: _as_taught

# --- replace
    return kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3])
# --- with
    return kept_weights(w, b * 0, h, row_0 + i, j, T_q, T_k, extras[3])
