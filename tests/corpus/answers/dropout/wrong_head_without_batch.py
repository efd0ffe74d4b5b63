# label: wrong
# title: the head's number without the batch
# says: The heads of every batch drop the same weights.
# names: every batch drops the same weights; one edit
# base: _as_taught

# --- replace
    position = ((b * H + h) * S_q + i) * S_k + j
# --- with
    position = (h * S_q + i) * S_k + j
