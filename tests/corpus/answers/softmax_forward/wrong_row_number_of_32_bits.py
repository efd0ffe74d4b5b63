# label: wrong
# title: the row's number has 32 bits
# says: The row times its stride may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: wrong_powers_of_two_without_the_factor_log2_e

# --- replace
    i = tl.program_id(0).to(tl.int64)
# --- with
    i = tl.program_id(0)

# --- replace
    live = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.exp2(s - tl.max(s, axis=0))  # exp2 is one instruction on the GPU, faster than exp
# --- with
    in_row = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=-float("inf")).to(tl.float32)
    m_i = tl.max(s, axis=0)
    e = tl.exp(s - m_i)

# --- replace
    tl.store(p_ptr + i * p_row + j * p_col, e / l_i, mask=live)
# --- with
    p = e / l_i
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)

# --- replace
def softmax_forward(s):
# --- with

def softmax_forward(s: Tensor) -> Tensor:
