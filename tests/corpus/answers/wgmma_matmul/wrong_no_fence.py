# label: wrong
# title: No fence.
# says: No fence.
# names: no fence; stored without a fence
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
    fence_async_shared()
# --- with
