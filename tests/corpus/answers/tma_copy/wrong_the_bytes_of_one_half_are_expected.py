# label: wrong
# title: The bytes of one half are expected.
# says: The bytes of one half are expected.
# names: bytes; elements counted for bytes
# base: right_two_copies_to_one_barrier

# --- replace
    mbarrier.expect(bar, 2 * src.block_type.nbytes)
# --- with
    mbarrier.expect(bar, src.block_type.nbytes)
