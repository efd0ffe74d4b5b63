# label: wrong
# title: BQ=16, BK=16 / tl.dot(ds.to
# says: dS is not transposed on its way to dK; the tile is square.
# names: dS not transposed
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
# --- with
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")

# --- replace
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=16):
# --- with
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=16, BK=16):
