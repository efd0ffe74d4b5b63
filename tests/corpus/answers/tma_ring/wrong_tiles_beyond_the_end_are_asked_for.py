# label: wrong
# title: Tiles beyond the end are asked for.
# says: Tiles beyond the end are asked for.
# names: copy never waited for; tiles beyond the end
# base: right_all_slots_at_first_filled_again_behind_load_phase_by

# --- replace
        mbarrier.expect(bar.index(s), src.block_type.nbytes, pred=i + S < n)
        tma.async_copy_global_to_shared(src, [row, 64 * (i + S)], bar.index(s), buf.index(s), pred=i + S < n)
# --- with
        mbarrier.expect(bar.index(s), src.block_type.nbytes)
        tma.async_copy_global_to_shared(src, [row, 64 * (i + S)], bar.index(s), buf.index(s))
