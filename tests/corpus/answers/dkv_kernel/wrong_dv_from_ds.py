# label: wrong
# title: dv from ds
# says: line `dv +=`: uses ds (delta subtracted) instead of p
# names: dV from dS
# base: right_everything_transposed

# --- replace
):
    h = tl.program_id(1).to(tl.int64)
# --- with
):
  
    h = tl.program_id(1).to(tl.int64)

# --- replace
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
# --- with
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
      
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))

# --- replace
        s = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")
        p = tl.exp(s - lse_i[None, :])
        dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
        dp = tl.dot(v, tl.trans(do), input_precision="ieee")
        ds = p * (dp - delta_i[None, :])
        dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
# --- with
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dv += tl.dot(tl.trans(ds.to(do.dtype)), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")

# --- replace
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
# --- with
    BLOCK_D = max(16, triton.next_power_of_2(D))
  
  
    STAGES = 2
