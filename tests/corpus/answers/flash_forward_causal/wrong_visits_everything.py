# label: wrong
# title: visits everything
# says: line for start in range(0, S_k, BLOCK_K): the mask is right, but all tiles are visited, also those
#   that no query of the block sees
# names: review
# base: wrong_end_of_first_query

# --- replace
    end = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q)
    for start in range(0, end, BLOCK_K):
# --- with
    for start in range(0, S_k, BLOCK_K):
