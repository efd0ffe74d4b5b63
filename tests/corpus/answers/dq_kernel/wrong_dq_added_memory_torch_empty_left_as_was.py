# label: wrong
# title: dq = torch.empty(
# says: dQ is added to memory that torch.empty left as it was.
# names: uninitialised memory
# base: right_one_program_per_pair_tiles_dq_added_atomically_in

# --- replace
    dq = torch.zeros(B, H, M, BD, dtype=torch.float32, device=q.device)
# --- with
    dq = torch.empty(B, H, M, BD, dtype=torch.float32, device=q.device)
