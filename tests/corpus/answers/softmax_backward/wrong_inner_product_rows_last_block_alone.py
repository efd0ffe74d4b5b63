# label: wrong
# title: lanes = p * g in the loop
# says: The inner product is that of the row's last block alone.
# names: inner product of the last block
# base: _dsoftmax

# --- replace
        lanes += p * g
# --- with
        lanes = p * g
