# label: wrong
# title: rows with neither key nor sink
# says: Where a row has neither a key nor a sink, exp(−∞ + ∞) is NaN in the gradient of the logits.
# names: not finite; one edit; inf minus inf
# base: _as_taught

# --- replace
    seen = lse.masked_fill(lse == -float("inf"), float("inf"))
# --- with
    seen = lse
