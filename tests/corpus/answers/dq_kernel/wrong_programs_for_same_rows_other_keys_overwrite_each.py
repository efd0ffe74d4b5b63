# label: wrong
# title: tl.store(DQ +
# says: Programs for the same rows and other keys overwrite each other.
# names: race
# base: right_one_program_per_pair_tiles_dq_added_atomically_in

# --- replace
    tl.atomic_add(DQ + (bh * M + i)[None, :] * BD + d[:, None], dqT, mask=(i < M)[None, :])
# --- with
    tl.store(DQ + (bh * M + i)[None, :] * BD + d[:, None], dqT, mask=(i < M)[None, :])
