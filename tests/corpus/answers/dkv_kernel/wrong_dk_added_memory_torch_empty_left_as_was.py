# label: wrong
# title: dk, dv = torch.empty(B, H, N, W), torch
# says: dK is added to memory that torch.empty left as it was.
# names: uninitialised memory
# base: right_one_program_per_pair_tiles_atomics_into_zeros_in

# --- replace
    dk, dv = torch.zeros(B, H, N, W), torch.zeros(B, H, N, W)
# --- with
    dk, dv = torch.empty(B, H, N, W), torch.zeros(B, H, N, W)
