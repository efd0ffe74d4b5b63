# label: wrong
# title: 2-D grid, empty_like(x)
# says: ids has x's dtype; int32 was asked for.
# names: shape
# base: right_a_two_dimensional_grid

# --- replace
    out = torch.empty(n, dtype=torch.int32, device=x.device)
# --- with
    out = torch.empty_like(x)
