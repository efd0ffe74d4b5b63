# label: wrong
# title: dQ is read from the product without a wait.
# says: dQ is read from the product without a wait.
# names: product not waited for; a product is used too early
# base: _course_solution

# --- replace
        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])
# --- with
        dv, dk = warpgroup_mma_wait(1, deps=[dv, dk])
