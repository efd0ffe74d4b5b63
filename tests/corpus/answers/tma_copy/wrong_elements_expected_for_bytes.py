# label: wrong
# title: elements expected for bytes
# says: `mbarrier.expect(arrived, rows * columns)` counts elements; the barrier counts bytes
# names: elements counted for bytes
# base: _course_solution_without_markers

# --- replace
    # the one arrival that the barrier counts, and how many bytes its phase needs besides
    mbarrier.expect(arrived, x_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(x_desc, corner, arrived, tile)
    mbarrier.wait(arrived, phase=0)  # before this line the tile holds anything
    mbarrier.invalidate(arrived)
    tma.async_copy_shared_to_global(y_desc, corner, tile)
    tma.store_wait(0)  # shared memory is given back when the program ends: the copy must have read it
# --- with
    mbarrier.expect(arrived, rows * columns)
    tma.async_copy_global_to_shared(x_desc, corner, arrived, tile)
    mbarrier.wait(arrived, 0)
    tma.async_copy_shared_to_global(y_desc, corner, tile)
    tma.store_wait(0)
    mbarrier.invalidate(arrived)
