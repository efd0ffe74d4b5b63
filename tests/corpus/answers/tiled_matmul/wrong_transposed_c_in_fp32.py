# label: wrong
# title: transposed, c in fp32
# says: C is always fp32.
# names: shape
# base: right_three_persistent_programs_transposed_tiles

# --- replace
    c = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
# --- with
    c = torch.zeros(a.shape[0], b.shape[1])
