# label: wrong
# title: store wait for the load
# says: the first `tma.store_wait(0)` stands where the barrier has to be waited for: it waits for stores only,
#   so the tile is copied out before the load has arrived.
# names: the tile is not waited for
# base: _course_solution_without_markers

# --- replace
    # the one arrival that the barrier counts, and how many bytes its phase needs besides
# --- with

# --- replace
    mbarrier.wait(arrived, phase=0)  # before this line the tile holds anything
# --- with
    tma.store_wait(0)  # all copies so far are done
