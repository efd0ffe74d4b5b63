# label: wrong
# title: The bytes are counted in elements.
# says: The bytes are counted in elements.
# names: bytes; elements counted for bytes
# base: right_expects_behind_the_copy_columns_first_in_the_grid

# --- replace
    mbarrier.expect(bar, src.block_type.nbytes)
# --- with
    mbarrier.expect(bar, 32 * 128)
