# label: wrong
# title: add_kernel[grid](torch.tensor(a), x, y, z, n,
# says: A tensor as an argument is an address.
# names: crashed
# base: _add

# --- replace
    add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
# --- with
    add_kernel[grid](torch.tensor(a), x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
