# label: wrong
# title: head before batch
# says: LSE is [B, H, S]: entry b of head h begins at (b H + h) S.
# names: one edit
# base: _as_taught

# --- replace
            at = (b * H + h) * S + rows
# --- with
            at = (h * B + b) * S + rows
