# label: wrong
# title: the running maximum starts at −1000
# says: A row whose scores all lie far below −1000 loses its exponentials; it has to start at −∞.
# names: m starts at 0; zero over zero; one edit
# base: wrong_v_tile_with_k_strides

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
  
  
    h = (tl.program_id(1) % H).to(tl.int64)
# --- with
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = (tl.program_id(1) % H).to(tl.int64)

# --- replace
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
# --- with
    m_i = tl.full((BLOCK_Q,), -1000.0, tl.float32)

# --- replace
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
      
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
# --- with
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)

# --- replace
        v = tl.load(v_ptr + columns[:, None] * k_row + d[None, :] * v_col, mask=in_tile, other=0.0)
# --- with
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)

# --- replace
    """O [B, H, S_q, D] in q's dtype, and LSE [B, H, S_q] in fp32; every query sees all S_k ≥ 1 keys."""
# --- with
