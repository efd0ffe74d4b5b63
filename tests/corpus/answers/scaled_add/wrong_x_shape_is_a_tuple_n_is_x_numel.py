# label: wrong
# title: add_kernel[grid](a, x, y, z, x.shape,
# says: x.shape is a tuple; n is x.numel().
# names: crashed
# base: _add

# --- replace
    add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
# --- with
    add_kernel[grid](a, x, y, z, x.shape, x.stride(0), y.stride(0), BLOCK=128)
