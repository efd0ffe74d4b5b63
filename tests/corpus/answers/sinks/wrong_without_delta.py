# label: wrong
# title: the sum of the sink's weights
# says: The gradient of the logits is minus the sum of the weights: delta is missing.
# names: delta forgotten in dlogits; one edit
# base: _as_taught

# --- replace
            total += tl.exp(logit - lse) * delta
# --- with
            total += tl.where(rows < S, tl.exp(logit - lse), 0.0)
