# label: wrong
# title: running sum added
# says: dV and dK are summed over the tiles (`dv_share +=`), and the sum so far, of other keys as well, is
#   added to this tile's rows.
# names: one edit
# base: _course_solution_without_markers

# --- replace
    end = S_k
# --- with
    dv_share = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    end = S_k

# --- replace
        dv_share = tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")  # (BLOCK_K, BLOCK_D)
# --- with
        dv_share += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")  # (BLOCK_K, BLOCK_D)
