# label: right
# title: by division
# base: _course_solution_without_markers

# --- replace
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] the elements this program owns
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)  # writes n elements in all
# --- with
    first = tl.program_id(axis=0) * BLOCK
    where = first + tl.arange(0, BLOCK)
    tl.store(ids_ptr + where, where // BLOCK, where < n)
