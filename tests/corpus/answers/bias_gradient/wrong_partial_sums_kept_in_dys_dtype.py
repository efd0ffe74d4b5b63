# label: wrong
# title: partial sums kept in dy's dtype
# says: The partial sums of 64 rows are rounded to dy's half precision before they meet.
# names: precision; one edit
# base: _partial

# --- replace
    parts = torch.empty((bands, N), dtype=torch.float32, device=dy.device)
# --- with
    parts = torch.empty((bands, N), dtype=dy.dtype, device=dy.device)
