# label: wrong
# title: Behind the loop a product is still under way.
# says: Behind the loop a product is still under way.
# names: product not waited for; the sum is used too early
# base: right_a_producer_for_each_operand

# --- replace
    acc = warpgroup_mma_wait(0, deps=[acc])
# --- with
