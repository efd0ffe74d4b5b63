# label: wrong
# title: blocks numbered in one count
# says: The blocks are numbered over all sequences, and not from 0 in each.
# names: blocks numbered over all sequences; one edit
# base: _as_taught

# --- replace
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
# --- with
    blocks = []
    for b, length in enumerate(lengths):
        for _ in range(0, length, BLOCK):
            blocks.append((len(blocks), b))
