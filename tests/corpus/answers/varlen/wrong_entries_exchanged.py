# label: wrong
# title: sequence and block exchanged
# says: An entry of the list has the sequence first, and the hooks read the block first.
# names: one edit; out_of_bounds; race; never written; last tile missing
# base: _as_taught

# --- replace
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
# --- with
    blocks = [(b, block) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
