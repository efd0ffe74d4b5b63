# label: wrong
# title: per query, a mean without the last chunk
# says: The mean over D, and the last chunk missing: two mistakes.
# names: mean over D + last tile missing; mean over D + the last components left out
# base: right_launch_per_head_program_per_query_d_in_chunks_8

# --- replace
    for start in range(0, D, CHUNK):
# --- with
    for start in range(0, D - CHUNK, CHUNK):

# --- replace
    tl.store(delta_ptr + i, tl.sum(acc))
# --- with
    tl.store(delta_ptr + i, tl.sum(acc) / D)
