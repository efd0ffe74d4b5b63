# label: wrong
# title: One partition: the copy of dS's turned tile has no fence.
# says: One partition: the copy of dS's turned tile has no fence.
# names: no fence; dS without a fence
# base: right_one_partition_alone_queries_as_rows_p_ds_turned

# --- replace
        fence_async_shared()
        gv = warpgroup_mma(pt.permute([1, 0]), do, gv, is_async=True)
# --- with
        gv = warpgroup_mma(pt.permute([1, 0]), do, gv, is_async=True)
