# label: wrong
# title: unseen: atomic additions to torch.empty
# says: The programs add to a buffer from torch.empty, which holds whatever was there before.
# names: uninitialised memory; changes from run to run
# base: right_program_per_tile_keys_atomic_additions_dq_in_fp32

# --- replace
    dq = torch.zeros((B, H, Sq, D), dtype=torch.float32, device=q.device)
# --- with
    dq = torch.empty((B, H, Sq, D), dtype=torch.float32, device=q.device)
