# label: wrong
# title: atomics in dy's dtype
# says: The atomic adds go into a tensor of dy's dtype: in fp16 each of them is rounded.
# names: tiles summed in half precision; precision; one edit
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
    out = torch.zeros(cols, dtype=torch.float32)
# --- with
    out = torch.zeros(cols, dtype=dy.dtype)
