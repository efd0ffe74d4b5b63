# label: wrong
# title: torch.sum(x)
# says: torch works in the launcher, tl.sum in the kernel.
# names: crashed
# base: _sum

# --- replace
    tl.store(s_ptr + i, tl.sum(x, axis=0))
# --- with
    tl.store(s_ptr + i, torch.sum(x))
