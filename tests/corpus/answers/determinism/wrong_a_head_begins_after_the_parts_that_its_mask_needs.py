# label: wrong
# title: head * wrote * S_q * D
# says: A head has a part for each block of keys, also for those that a causal mask hides from this block of
#   queries; its parts begin at head * blocks.
# names: uninitialised memory
# base: _course_solution_without_markers

# --- replace
    shares_ptr += head * blocks * S_q * D
# --- with

# --- replace
    for _ in range(0, wrote):
# --- with
    shares_ptr += head * wrote * S_q * D
    for _ in range(0, wrote):
