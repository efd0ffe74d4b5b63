# label: wrong
# title: BQ=32, BK=32 / tl.dot(tl.trans(ds).to(q.dtype), k, dk
# says: dS meets K where it needs Q; the tile is square.
# names: dS meets K
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
# --- with
        dk = tl.dot(tl.trans(ds).to(q.dtype), k, dk, input_precision="ieee")

# --- replace
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=16):
# --- with
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=32, BK=32):
