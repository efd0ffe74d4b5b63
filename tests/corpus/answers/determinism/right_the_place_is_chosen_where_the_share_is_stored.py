# label: right
# title: the place is chosen where the share is stored
# base: _course_solution_without_markers

# --- replace
    # shares are [B, H, blocks of keys, S_q, D]: this program's part, and in it a row is D long
    shares_ptr += (head * tl.num_programs(0) + tl.program_id(0)) * S_q * D
# --- with

# --- replace
        tl.store(shares_ptr + rows[:, None] * D + d[None, :], share, mask=in_tile)
# --- with
        part = head * tl.num_programs(0) + tl.program_id(0)
        row = part * S_q + rows
        tl.store(shares_ptr + row[:, None] * D + d[None, :], share, mask=in_tile)
