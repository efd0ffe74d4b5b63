# label: wrong
# title: Two consumers report, and one arrival is counted.
# says: Two consumers report, and one arrival is counted.
# names: one consumer is enough; overwritten; phase overrun; arrival too many; wgmma not waited for
# base: right_halves_of_one_tile_of_a_ordinary_stores

# --- replace
        mbarrier.init(empty.index(s), count=2)
# --- with
        mbarrier.init(empty.index(s), count=1)
