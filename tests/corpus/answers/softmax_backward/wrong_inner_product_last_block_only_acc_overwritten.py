# label: wrong
# title: scan, acc = instead of acc +=
# says: The inner product of the last block only: acc is overwritten.
# names: only the last tile; inner product of the last block
# base: right_two_programs_for_all_rows_two_scans_over_each

# --- replace
        acc += pj.to(tl.float32) * dpj.to(tl.float32)
# --- with
        acc = pj.to(tl.float32) * dpj.to(tl.float32)
