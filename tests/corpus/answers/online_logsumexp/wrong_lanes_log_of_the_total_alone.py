# label: wrong
# title: lanes, log of the total alone
# says: The maximum is not added back.
# names: maximum not added back
# base: right_a_running_maximum_for_every_lane

# --- replace
    row = x_ptr + tl.program_id(0).to(tl.int64) * rs
# --- with
    row = x_ptr + tl.program_id(0) * rs

# --- replace
        j = at + tl.arange(0, LANES).to(tl.int64)
# --- with
        j = at + tl.arange(0, LANES)

# --- replace
    tl.store(lse_ptr + tl.program_id(0).to(tl.int64), top + tl.log(total))
# --- with
    tl.store(lse_ptr + tl.program_id(0), tl.log(total))
