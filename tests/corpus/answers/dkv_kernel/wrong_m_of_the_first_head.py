# label: wrong
# title: M_ of the first head
# says: LSE is read without the head's offset.
# names: permuted heads; some heads
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    M_ += bhid * N_Q
# --- with
