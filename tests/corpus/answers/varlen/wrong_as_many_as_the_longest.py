# label: wrong
# title: every sequence has the longest one's blocks
# says: Each sequence is given as many blocks as the longest one; most programs have nothing to do.
# names: review
# base: _as_taught

# --- replace
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
# --- with
    most = triton.cdiv(max(lengths), BLOCK)
    blocks = [(block, b) for b in range(len(lengths)) for block in range(most)]
