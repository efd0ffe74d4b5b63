# label: wrong
# title: unmasked from the first key and dk by scale
# says: two faults in tuned_dkv_kernel: `whole = tl.maximum(first_column - shift, 0)` takes the block's first
#   key where its last decides from when no mask is needed, and dK is multiplied by `scale` (alpha times log2
#   e) in place of alpha.
# names: leak from the future; some rows
# base: _course_solution_without_markers

# --- replace
from flashlearn.kernels.compiled_launches import Call
# --- with

# --- replace
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

PADDED = 128


@triton.jit
def delta_and_lse_kernel(
    o_ptr, do_ptr, lse_ptr, delta_ptr, lse2_ptr, H, S, S_PADDED, D,
    o_batch, o_head, o_row, o_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):
    tiles = S_PADDED // BLOCK_Q
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    rows = tl.program_id(0) % tiles * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    o_ptr += bh // H * o_batch + bh % H * o_head
    do_ptr += bh // H * do_batch + bh % H * do_head
    in_tile = (rows < S)[:, None] & (d < D)[None, :]
    at = rows.to(tl.int64)[:, None]
    o = tl.load(o_ptr + at * o_row + d[None, :] * o_col, mask=in_tile, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at * do_row + d[None, :] * do_col, mask=in_tile, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + bh * S + rows, mask=rows < S, other=-float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)  # saw no key, or is none: P will be 0
    tl.store(delta_ptr + bh * S_PADDED + rows, tl.sum(o * do, axis=1))
    tl.store(lse2_ptr + bh * S_PADDED + rows, lse * 1.4426950408889634)  # log₂e
# --- with
from flashlearn.kernels.tuned_backward import delta_and_lse
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

# --- replace
        whole = tl.maximum(first_column + BLOCK_K - 1 - shift, 0)  # from here on queries see all of it
# --- with
        whole = tl.maximum(first_column - shift, 0)

# --- replace
    dk_desc.store([b, h_k, first_column, 0], (dk * alpha).to(dk_desc.dtype).reshape(1, 1, BLOCK_K, BLOCK_D))
# --- with
    dk_desc.store([b, h_k, first_column, 0], (dk * scale).to(dk_desc.dtype).reshape(1, 1, BLOCK_K, BLOCK_D))

# --- replace
def delta_and_lse(o: Tensor, do: Tensor, lse: Tensor) -> tuple[Tensor, Tensor]:
    """delta = Σ_d dO ∘ O, and LSE in base 2 (+inf where it was −inf), both [B·H, S_q padded] in fp32."""
    B, H, S_q, _ = o.shape
    padded = triton.cdiv(S_q, PADDED) * PADDED
    delta, lse2 = torch.empty((2, B * H, padded), dtype=torch.float32, device=o.device)
    call = delta_call(o, do, lse.contiguous(), delta, lse2)
    call.kernel[call.grid](*call.arguments, **call.constants, **call.options)
    return delta, lse2


def delta_call(o: Tensor, do: Tensor, lse: Tensor, delta: Tensor, lse2: Tensor) -> Call:
    """The launch that fills delta and lse2 [B·H, S_q padded]; lse is dense."""
    B, H, S_q, D = o.shape
    padded = delta.shape[1]
    arguments = (o, do, lse, delta, lse2, H, S_q, padded, D, *o.stride(), *do.stride())
    constants = {"BLOCK_Q": 16, "BLOCK_D": triton.next_power_of_2(D)}
    grid = (padded // 16 * B * H,)
    # one warp: a row's sum stays within it
    return Call(delta_and_lse_kernel, grid, arguments, constants, {"num_warps": 1})


def tuned_backward(
# --- with
def tuned_backward(
