# label: wrong
# title: the loop's end is the last key itself
# says: The loop ends at the last key that the block's last query sees instead of after it: `- 1` is too much.
#   Where that key is the first of a tile (S_k − S_q ≡ 1 modulo the block), its tile is lost.
# names: last tile missing; one edit; loop ends at the last key itself
# base: _course_solution

# --- replace
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q - 1)
