# part: a text that answers change
# base: clinic_9/_clinic_9_kernel

# --- replace
def clinic_9_kernel(
# --- with
def clinic_8_kernel(

# --- replace
        acc = acc + pv
# --- with
        acc = (acc * rescale[:, None] + pv).to(acc.dtype)

# --- replace
def clinic_9(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
# --- with
def clinic_8(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:

# --- replace
    clinic_9_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
# --- with
    clinic_8_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
