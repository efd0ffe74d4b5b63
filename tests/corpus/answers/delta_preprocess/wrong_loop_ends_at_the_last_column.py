# label: wrong
# title: the loop ends at the last column
# says: range(0, D - 1, CHUNK) leaves out a last chunk of one column.
# names: one edit; last tile missing
# base: right_launch_per_head_program_per_query_d_in_chunks_8

# --- replace
    for start in range(0, D, CHUNK):
# --- with
    for start in range(0, D - 1, CHUNK):
