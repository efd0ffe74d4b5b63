# label: wrong
# title: rows of as many numbers as queries
# says: A row of weights has S_k numbers; the row's number is multiplied by the count of queries.
# names: rows are S_q apart
# base: _as_taught

# --- replace
    position = ((b * H + h) * S_q + i) * S_k + j
# --- with
    position = ((b * H + h) * S_q + i) * S_q + j
