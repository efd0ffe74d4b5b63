# label: wrong
# title: atomics onto torch.empty
# says: The atomic adds start from what torch.empty left in memory.
# names: uninitialised memory
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
    out = torch.zeros(cols, dtype=torch.float32)
# --- with
    out = torch.empty(cols, dtype=torch.float32)
