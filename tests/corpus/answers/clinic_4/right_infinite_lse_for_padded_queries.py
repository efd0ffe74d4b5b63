# label: right
# title: infinite lse for padded queries
# base: _clinic_4_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
        lse_i = tl.load(lse_ptr + safe)
# --- with
        lse_i = tl.where(rows < S_q, tl.load(lse_ptr + safe), float("inf"))
