# label: wrong
# title: only whole blocks are listed
# says: The number of blocks is rounded down, so that a sequence's last rows are never computed.
# names: never written; last tile missing; one edit
# base: _as_taught

# --- replace
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
# --- with
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(max(1, length // BLOCK))]
