# label: wrong
# title: The barrier expects the bytes of a alone.
# says: The barrier expects the bytes of a alone.
# names: bytes; the bytes of one tile
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        mbarrier.expect(bar, ad.block_type.nbytes + bd.block_type.nbytes)
# --- with
        mbarrier.expect(bar, ad.block_type.nbytes)
