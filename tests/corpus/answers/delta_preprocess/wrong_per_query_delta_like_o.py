# label: wrong
# title: per query, delta like o
# says: delta is stored in o's dtype; fp32 was asked for.
# names: shape
# base: right_launch_per_head_program_per_query_d_in_chunks_8

# --- replace
    delta = torch.empty((B, H, S), dtype=torch.float32)
# --- with
    delta = torch.empty((B, H, S), dtype=o.dtype)
