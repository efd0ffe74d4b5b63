# label: wrong
# title: no block for what remains
# says: The length is divided by the block's size without rounding up: short sequences have no block at all.
# names: only whole blocks are listed; never written; never read; one edit
# base: _as_taught

# --- replace
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
# --- with
    blocks = [(n, b) for b, length in enumerate(lengths) for n in range(length // BLOCK)]
