# label: wrong
# title: no window is a window of 0
# says: A window of 0 is handed on as it is, so that no query of a causal case sees a key.
# names: one edit; zero everywhere
# base: _as_taught

# --- replace
            (window or T_k,), (cap,), (slopes,), (p, seed, H), (logits,), borders_and_lists, (T_q, T_k),
# --- with
            (window,), (cap,), (slopes,), (p, seed, H), (logits,), borders_and_lists, (T_q, T_k),
