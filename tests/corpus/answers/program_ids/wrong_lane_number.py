# label: wrong
# title: lane number
# says: line `tl.store`: stores the lane number inside the block (threadIdx) instead of the program number
# names: lane numbers
# base: _course_solution_without_markers

# --- replace
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)  # writes n elements in all
# --- with
    lane = offsets % BLOCK
    tl.store(ids_ptr + offsets, lane, mask=offsets < n)  # writes n elements in all
