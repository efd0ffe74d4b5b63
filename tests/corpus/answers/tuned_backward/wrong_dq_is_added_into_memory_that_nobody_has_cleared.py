# label: wrong
# title: dq = torch.empty(B, H, M, BD
# says: dQ is added into memory that nobody has cleared.
# names: uninitialised memory; one edit
# base: right_one_pass_dq_added_through_descriptor_natural

# --- replace
    dq = torch.zeros(B, H, M, BD, dtype=torch.float32, device=q.device)
# --- with
    dq = torch.empty(B, H, M, BD, dtype=torch.float32, device=q.device)
