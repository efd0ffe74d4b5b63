# label: wrong
# title: blocks counted by the packed rows
# says: The number of a sequence's blocks is taken from its borders, rounded up, instead of from its length.
# names: blocks counted from packed borders; one edit
# base: _as_taught

# --- replace
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
# --- with
    blocks = []
    for b in range(len(lengths)):
        begun = len(range(0, borders[b], BLOCK))
        blocks += [(n, b) for n in range(len(range(0, borders[b + 1], BLOCK)) - begun)]
