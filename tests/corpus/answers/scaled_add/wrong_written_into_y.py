# label: wrong
# title: written into y
# says: z is computed in place, in y: the caller's y is overwritten.
# names: changed input; returned input
# base: right_autotuned_on_contiguous_copies

# --- replace
    z = torch.empty_like(x)
# --- with
    z = y
