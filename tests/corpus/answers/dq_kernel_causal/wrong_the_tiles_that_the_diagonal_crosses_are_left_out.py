# label: wrong
# title: tl.program_id(1) * B + Sk - Sq
# says: The tiles that the diagonal crosses are left out.
# names: loop ends one block early; diagonal tiles
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
        if not causal or (tiles - 1 - back) * B < (tl.program_id(1) + 1) * B + Sk - Sq:
# --- with
        if not causal or (tiles - 1 - back) * B < tl.program_id(1) * B + Sk - Sq:
