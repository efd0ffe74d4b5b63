# label: wrong
# title: the first batch alone
# says: The gradient of the logits has the share of the first batch alone.
# names: one batch in dlogits; one edit
# base: _as_taught

# --- replace
            at = (b * H + h) * S + rows
# --- with
            at = h * S + rows

# --- replace
    for b in range(B):
# --- with
    for b in range(1):
