# label: wrong
# title: head * tl.num_programs(0) * S_q * D
# says: All blocks of keys write their shares into one part.
# names: one part for all; race
# base: _course_solution

# --- replace
    shares_ptr += (head * tl.num_programs(0) + tl.program_id(0)) * S_q * D
# --- with
    shares_ptr += head * tl.num_programs(0) * S_q * D
