# label: wrong
# title: total overwritten
# says: Each block of queries, of each batch, writes over the sum before it.
# names: one batch in dlogits; one block in dlogits; one edit
# base: _as_taught

# --- replace
            total += tl.exp(logit - lse) * delta
# --- with
            total = tl.exp(logit - lse) * delta
