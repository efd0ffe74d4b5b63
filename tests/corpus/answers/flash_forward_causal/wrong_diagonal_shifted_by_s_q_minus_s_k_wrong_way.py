# label: wrong
# title: limit = rows + (Tq - Tk)
# says: The diagonal is shifted by S_q − S_k, the wrong way.
# names: S_k − S_q with the wrong sign
# base: right_early_return_where_block_sees_nothing_heads_first_in

# --- replace
    limit = rows + (Tk - Tq)
# --- with
    limit = rows + (Tq - Tk)
