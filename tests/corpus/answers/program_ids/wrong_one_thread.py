# label: wrong
# title: one thread
# says: the program is taken for a CUDA thread – in the store line program i writes only element i (value i //
#   BLOCK) instead of its block of BLOCK elements, so most slots stay unwritten
# names: never written
# base: _course_solution_without_markers

# --- replace
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] the elements this program owns
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)  # writes n elements in all
# --- with
    i = tl.program_id(0)
    tl.store(ids_ptr + i, i // BLOCK, mask=i < n)
