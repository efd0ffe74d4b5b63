# label: wrong
# title: Each step begins a new sum.
# says: Each step begins a new sum.
# names: only the last step; one edit
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        acc = warpgroup_mma(at, bt, acc, use_acc=k > 0, is_async=True)
# --- with
        acc = warpgroup_mma(at, bt, acc, use_acc=False, is_async=True)
