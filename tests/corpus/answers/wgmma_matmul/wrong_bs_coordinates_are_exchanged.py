# label: wrong
# title: b's coordinates are exchanged.
# says: b's coordinates are exchanged.
# names: b's coordinates exchanged; one edit
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        tma.async_copy_global_to_shared(bd, [k, n], bar, bt)
# --- with
        tma.async_copy_global_to_shared(bd, [n, k], bar, bt)
