# label: wrong
# title: lse without head
# says: line `lse_ptr +=`: the head is left out of the offset, so every head reads the lse of head 0 of its
#   batch entry (delta is right)
# names: permuted heads
# base: _course_solution_without_markers

# --- replace
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
# --- with
    lse_ptr += b * H * S_q  # lse and delta are contiguous, [B, H, S_q]
