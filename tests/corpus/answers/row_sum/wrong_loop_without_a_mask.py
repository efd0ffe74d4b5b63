# label: wrong
# title: loop without a mask
# says: The load of the last block has no mask: it reads on into the next row, and out of x at the end.
# names: no mask; out_of_bounds
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
        x = tl.load(x_ptr + row * row_stride + cols * col_stride, mask=cols < n_cols, other=0)
# --- with
        x = tl.load(x_ptr + row * row_stride + cols * col_stride)
