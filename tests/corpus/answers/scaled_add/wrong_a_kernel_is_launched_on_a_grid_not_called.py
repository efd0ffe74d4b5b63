# label: wrong
# title: add_kernel(a, x, y, z, n,
# says: A kernel is launched on a grid, not called.
# names: crashed
# base: _add

# --- replace
    add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
# --- with
    add_kernel(a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
