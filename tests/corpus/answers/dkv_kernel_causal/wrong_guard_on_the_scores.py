# label: wrong
# title: guard on the scores
# says: `s = tl.where(s == -float('inf'), 0.0, s)` guards the scores: every hidden key gets the score 0 back,
#   and with it a probability exp(-LSE).
# names: hidden scores set to 0
# base: wrong_mask_not_turned_with_the_tile

# --- replace
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        # keys first: (BLOCK_K, BLOCK_Q), so no tl.trans on p and ds
        s = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")
        visible = columns[None, :] <= rows[:, None] + shift
        p = tl.where(visible, tl.exp(s - lse[None, :]), 0.0)
        dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
        ds = p * (tl.dot(v, tl.trans(do), input_precision="ieee") - delta[None, :])
        dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
# --- with
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(columns[None, :] <= rows[:, None] + shift, s, -float("inf"))
        # a query that sees nothing has -inf - (-inf) = nan here, so no -inf may be left
        s = tl.where(s == -float("inf"), 0.0, s)
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
