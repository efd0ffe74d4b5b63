# label: wrong
# title: unseen: -1.0e6 for the hidden
# says: Hidden scores are lowered by a million instead of set to -inf: a query that sees nothing averages what
#   it must not see.
# names: a finite number for −inf; leak from the future
# base: _tutorial_blocks

# --- replace
        qk = tl.where(mask, qk, float("-inf"))
# --- with
        qk = qk + tl.where(mask, 0, -1.0e6)
