# label: wrong
# title: interleaved
# says: the `where` line deals the elements out like cards (pid + lane * number of programs), so ids[i] is i %
#   programs and not i // block
# names: dealt out in turn
# base: _course_solution_without_markers

# --- replace
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] the elements this program owns
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)  # writes n elements in all
# --- with
    me = tl.program_id(0)
    where = me + tl.arange(0, BLOCK) * tl.num_programs(0)  # neighbours go to different programs: coalesced
    tl.store(ids_ptr + where, me, mask=where < n)
