# label: wrong
# title: the accumulator has the dtype of x
# says: The running total is kept in x's dtype, so fp16 rounds each addition.
# names: summed in half precision; precision
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
    total = tl.zeros([BLOCK], dtype=tl.float32)
# --- with
    total = tl.zeros([BLOCK], dtype=x_ptr.dtype.element_ty)

# --- replace
    tl.store(out_ptr + row, tl.sum(total))
# --- with
    tl.store(out_ptr + row, tl.sum(total).to(out_ptr.dtype.element_ty))
