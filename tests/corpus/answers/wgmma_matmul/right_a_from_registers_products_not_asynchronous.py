# label: right
# title: a from registers, products not asynchronous
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        acc = warpgroup_mma(at, bt, acc, use_acc=k > 0, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
# --- with
        left = at.load(gl.DotOperandLayout(0, layout, 2))
        acc = warpgroup_mma(left, bt, acc)
