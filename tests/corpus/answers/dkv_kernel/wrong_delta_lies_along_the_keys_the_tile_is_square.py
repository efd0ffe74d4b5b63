# label: wrong
# title: BQ=64, BK=64 / - delta[None, :]) * alpha
# says: delta lies along the keys; the tile is square.
# names: delta along the keys
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None]) * alpha
# --- with
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[None, :]) * alpha

# --- replace
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=16):
# --- with
def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=64):
