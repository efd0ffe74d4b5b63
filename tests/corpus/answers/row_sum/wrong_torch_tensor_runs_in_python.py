# label: wrong
# title: torch.tensor runs in Python.
# says: torch.tensor runs in Python.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        total += part.to(tl.float32) * torch.tensor(1.0).item()
