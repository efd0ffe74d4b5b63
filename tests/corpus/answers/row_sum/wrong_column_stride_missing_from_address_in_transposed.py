# label: wrong
# title: cols without col_stride
# says: The column stride is missing from the address: in a transposed view columns are not one apart.
# names: rows taken as packed; out_of_bounds
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
        x = tl.load(x_ptr + row * row_stride + cols * col_stride, mask=cols < n_cols, other=0)
# --- with
        x = tl.load(x_ptr + row * row_stride + cols, mask=cols < n_cols, other=0)
