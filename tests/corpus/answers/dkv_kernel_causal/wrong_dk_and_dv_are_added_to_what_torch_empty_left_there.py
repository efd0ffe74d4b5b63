# label: wrong
# title: dk, dv = torch.empty(B, H, N, W), torch.empty(B, H, N, W)
# says: dK and dV are added to what torch.empty left there.
# names: uninitialised memory
# base: right_one_program_per_pair_tiles_sees_anything_atomics

# --- replace
    dk, dv = torch.zeros(B, H, N, W), torch.zeros(B, H, N, W)
# --- with
    dk, dv = torch.empty(B, H, N, W), torch.empty(B, H, N, W)
