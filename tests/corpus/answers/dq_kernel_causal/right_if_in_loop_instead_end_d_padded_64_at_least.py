# label: right
# title: an if in the loop instead of an end, and D padded to 64 at least
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
    BD = max(16, triton.next_power_of_2(D))
# --- with
    BD = max(64, triton.next_power_of_2(D))
