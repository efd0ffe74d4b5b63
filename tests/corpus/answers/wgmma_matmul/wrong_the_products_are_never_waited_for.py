# label: wrong
# title: The products are never waited for.
# says: The products are never waited for.
# names: wgmma not waited for; product not waited for; a slot is filled while a product reads it; the sum is
#   used too early
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        acc = warpgroup_mma_wait(0, deps=[acc])
# --- with
