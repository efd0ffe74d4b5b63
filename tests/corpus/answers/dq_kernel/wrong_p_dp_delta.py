# label: wrong
# title: unseen: P dP - delta
# says: delta is subtracted after the product with P: dS is P (dP - delta), not P dP - delta.
# names: delta subtracted after P
# base: _dq_by_the_notebook

# --- replace
        dS = P * (dP - Dl)
# --- with
        dS = P * dP - Dl
