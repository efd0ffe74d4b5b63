# label: wrong
# title: The step's product is used before it is waited for.
# says: The step's product is used before it is waited for.
# names: crashed; product not waited for; the sum is used too early
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        acc = warpgroup_mma(at, bt, acc, use_acc=k > 0, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
# --- with
        part = warpgroup_mma(at, bt, gl.zeros_like(acc), use_acc=False, is_async=True)
        acc += part
