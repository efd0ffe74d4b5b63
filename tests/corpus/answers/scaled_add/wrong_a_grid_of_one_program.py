# label: wrong
# title: a grid of one program
# says: The grid has one program: only the first block is computed.
# names: same block for all; never written
# base: _add_by_the_notebook

# --- replace
    add_kernel[(triton.cdiv(n, 256),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
# --- with
    add_kernel[(1,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
