# label: wrong
# title: x and y exchanged in the launch
# says: x and y have changed places in the launch, so a scales y.
# names: a scales y
# base: right_autotuned_on_contiguous_copies

# --- replace
    saxpy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](z, x, y, a, n)
# --- with
    saxpy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](z, y, x, a, n)
