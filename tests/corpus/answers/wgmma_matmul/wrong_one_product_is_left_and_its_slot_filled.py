# label: wrong
# title: One product is left, and its slot filled.
# says: One product is left, and its slot filled.
# names: wgmma not waited for; product not waited for; the sum is used too early
# base: right_barrier_for_one_for_b_copies_asked_for_behind

# --- replace
        acc = warpgroup_mma_wait(0, deps=[acc])
# --- with
        acc = warpgroup_mma_wait(1, deps=[acc])
