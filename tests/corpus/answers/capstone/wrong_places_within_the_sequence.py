# label: wrong
# title: dropout counts within the sequence
# says: Dropout's numbers count the places within a sequence.
# names: numbers counted within the sequence; one edit
# base: _as_taught

# --- replace
    row_0, key_0, _, _ = packed_sequence(b, S_q, S_k, extras[5])
    T_q, T_k = extras[6]
    return kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3])
# --- with
    return kept_weights(w, b * 0, h, i, j, S_q, S_k, extras[3])
