# label: wrong
# title: BQ=64, BK=64 / tl.dot(p.to
# says: P is not transposed on its way to dV; the tile is square.
# names: P not transposed
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        dv = tl.dot(tl.trans(p).to(do.dtype), do, dv, input_precision="ieee")
# --- with
        dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")

# --- replace
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=16):
# --- with
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=64):
