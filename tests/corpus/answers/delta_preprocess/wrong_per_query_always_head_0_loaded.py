# label: wrong
# title: per query, always head 0 loaded
# says: Every launch works on the first head: all heads get its delta.
# names: permuted heads
# base: right_launch_per_head_program_per_query_d_in_chunks_8

# --- replace
                o[b, h], do[b, h], delta[b, h], S, D, *o.stride()[2:], *do.stride()[2:], CHUNK=8
# --- with
                o[b, 0], do[b, 0], delta[b, h], S, D, *o.stride()[2:], *do.stride()[2:], CHUNK=8
