# label: wrong
# title: every group has its full height
# says: The last group of tiles is taken to be as high as the others: where it is not, some tiles have no
#   program.
# names: never written
# base: right_tutorials_grouped_order_rows_columns_wrap_around

# --- replace
    height = tl.minimum(tiles_m - first, GROUP)
# --- with
    height = GROUP
