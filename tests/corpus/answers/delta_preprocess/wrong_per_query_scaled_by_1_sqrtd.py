# label: wrong
# title: per query, scaled by 1/√D
# says: delta is divided by √D; it has no scale.
# names: divided by √D
# base: right_launch_per_head_program_per_query_d_in_chunks_8

# --- replace
    tl.store(delta_ptr + i, tl.sum(acc))
# --- with
    tl.store(delta_ptr + i, tl.sum(acc) / tl.sqrt(D.to(tl.float32)))
