# label: wrong
# title: z always fp32
# says: z is always fp32.
# names: shape
# base: right_autotuned_on_contiguous_copies

# --- replace
    z = torch.empty_like(x)
# --- with
    z = torch.empty(x.shape)
