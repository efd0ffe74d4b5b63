# label: wrong
# title: unseen: block pointers of K and V with Q's length
# says: The block pointers of K and V have the length of Q: keys from S_q on are taken as zeros, and where S_q
#   is larger, rows beyond S_k are read.
# names: out_of_bounds; load of K without a mask; loop over S_q
# launcher: dq_kernel
# base: _dq_block_pointers

# --- replace
    k_blk = tl.make_block_ptr(k_p + bi * kb + hi * kh, (n_k, dim), (ks, kd), (0, 0), (TK, TD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + bi * vb + hi * vh, (n_k, dim), (vs, vd), (0, 0), (TK, TD), (1, 0))
# --- with
    k_blk = tl.make_block_ptr(k_p + bi * kb + hi * kh, (n_q, dim), (ks, kd), (0, 0), (TK, TD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + bi * vb + hi * vh, (n_q, dim), (vs, vd), (0, 0), (TK, TD), (1, 0))
