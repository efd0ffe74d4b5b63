# label: wrong
# title: One partition: dP from K.
# says: One partition: dP from K.
# names: dP from K
# base: right_one_partition_alone_queries_as_rows_p_ds_turned

# --- replace
        dp = warpgroup_mma(do, v.permute([1, 0]), gl.zeros([64, 64], gl.float32, square), use_acc=False, is_async=True)
# --- with
        dp = warpgroup_mma(do, k.permute([1, 0]), gl.zeros([64, 64], gl.float32, square), use_acc=False, is_async=True)
