# label: wrong
# title: s = s * c
# says: S is scaled before its product was waited for.
# names: product not waited for; a product is used before its wait
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        s = warpgroup_mma_wait(0, deps=[s]) * c
# --- with
        s = s * c
