# label: wrong
# title: atomics onto torch.empty
# says: The atomic adds start from what torch.empty left in memory.
# names: uninitialised memory
# base: right_program_per_piece_row_added_atomically_in_fp32

# --- replace
    acc = torch.zeros(m, dtype=torch.float32)
# --- with
    acc = torch.empty(m, dtype=torch.float32)
