# label: wrong
# title: torch.empty(q.shape, dtype=torch.float32
# says: O comes out in float32 whatever q is.
# names: shape
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
# --- with
    o = torch.empty(q.shape, dtype=torch.float32, device=q.device)
