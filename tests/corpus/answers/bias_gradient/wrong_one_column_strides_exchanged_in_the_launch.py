# label: wrong
# title: one column, strides exchanged in the launch
# says: The strides of rows and columns have changed places.
# names: strides swapped; out_of_bounds
# base: right_one_program_per_column

# --- replace
    one_column[(dy.shape[1],)](dy, db, dy.shape[0], dy.stride(0), dy.stride(1), BLOCK=16)
# --- with
    one_column[(dy.shape[1],)](dy, db, dy.shape[0], dy.stride(1), dy.stride(0), BLOCK=16)
