# label: wrong
# title: per query, the last chunk left out
# says: The last chunk of components is left out.
# names: last tile missing; the last components left out
# base: right_launch_per_head_program_per_query_d_in_chunks_8

# --- replace
    for start in range(0, D, CHUNK):
# --- with
    for start in range(0, D - CHUNK, CHUNK):
