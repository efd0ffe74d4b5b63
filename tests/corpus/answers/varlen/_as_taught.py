# part: a text that answers change

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def packed_sequence(b, S_q, S_k, extras):
    cu_q_ptr, cu_k_ptr = extras[0], extras[1]
    row_0 = tl.load(cu_q_ptr + b)
    key_0 = tl.load(cu_k_ptr + b)
    queries = tl.load(cu_q_ptr + b + 1) - row_0
    keys = tl.load(cu_k_ptr + b + 1) - key_0
    return row_0.to(tl.int64), key_0.to(tl.int64), queries, keys


@triton.jit
def listed_query_block(n, b, extras):
    blocks_ptr = extras[2]
    return tl.load(blocks_ptr + 2 * n), tl.load(blocks_ptr + 2 * n + 1)


@triton.jit
def listed_key_block(n, b, extras):
    blocks_ptr = extras[3]
    return tl.load(blocks_ptr + 2 * n), tl.load(blocks_ptr + 2 * n + 1)


def block_list(cu_seqlens: Tensor, BLOCK: int) -> Tensor:
    borders = cu_seqlens.tolist()
    lengths = [borders[b + 1] - borders[b] for b in range(len(borders) - 1)]
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
    return torch.tensor(blocks, dtype=torch.int32, device=cu_seqlens.device)


def varlen(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    query_blocks, key_blocks = (block_list(borders, BLOCK) for borders in (cu_seqlens_q, cu_seqlens_k))
    hooks = Hooks(
        sequence=packed_sequence, query_block=listed_query_block, key_block=listed_key_block,
        extras=(cu_seqlens_q, cu_seqlens_k, query_blocks, key_blocks),
        **({"mask": causal_mask, "keys": causal_keys, "queries": causal_queries} if causal else {}),
    )
    launched = (1, BLOCK * len(query_blocks), BLOCK * len(key_blocks))
    o, lse = hooked_forward(q, k, v, alpha, hooks, BLOCK, launched)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks, BLOCK, launched)
