"""What a variant of attention does to scores and weights: functions that both passes call on each tile.

`scored` turns a product into a score, `positioned` adds ALiBi's term, `visible` is the mask, `kept` is
dropout's. They are given positions that broadcast against each other, [BLOCK_Q, 1] and [1, BLOCK_K] or, in
the kernel for dK and dV, [1, BLOCK_Q] and [BLOCK_K, 1]; what a kernel does not need is compiled away.
Scores are in base 2. Positions are counted in keys: a query is at i + S_k − S_q.

Sources: ALiBi (Press et al., 2022, section 3), soft-capping (Gemma 2, 2024, section 2), sliding windows
(Mistral 7B, 2023, section 2), Philox (Salmon et al., 2011, section 3; seven rounds pass BigCrush).
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["kept", "positioned", "raised", "scored", "visible"]


@triton.jit
def scored(product, scale, cap, SOFTCAP: tl.constexpr):
    # the score in base 2; under a cap scale is 2 · log₂e · alpha / softcap, and cap is softcap · log₂e
    if SOFTCAP:
        # with u = 1 / (1 + e^(2x)), tanh x = 1 − 2u: one exponential and one reciprocal
        return cap - 2.0 * cap / (1.0 + tl.exp2(product * scale))
    else:
        return product * scale


@triton.jit
def positioned(s, at_query, at_key, origin, slope, ALIBI: tl.constexpr, AHEAD: tl.constexpr):
    # less with distance; slope is in base 2. If no key is AHEAD of its query, the distance is
    # (at_query − origin) − (at_key − origin), and all keys of a query share the first term: `raised` adds it
    # to maxima and LSE. An origin near the queries keeps small what matters
    if ALIBI and AHEAD:
        return s - slope * tl.abs(at_query.to(tl.float32) - at_key.to(tl.float32))
    elif ALIBI:
        return s + slope * (at_key - origin).to(tl.float32)
    else:
        return s


@triton.jit
def raised(lse, at_query, origin, slope, ALIBI: tl.constexpr, AHEAD: tl.constexpr):
    # LSE, or a maximum, in base 2, of scores without the term that all keys of a query share
    if ALIBI and not AHEAD:
        return lse + slope * (at_query - origin).to(tl.float32)
    else:
        return lse


@triton.jit
def visible(at_query, at_key, S_k, left, right, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    # a key that exists, at most `left` before the query and at most `right` after it
    seen = at_key < S_k
    if LEFT:
        seen = seen & (at_key >= at_query - left)
    if RIGHT:
        seen = seen & (at_key <= at_query + right)
    return seen


@triton.jit
def kept(
    seed, head, first_row, first_column, threshold, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    # which weights dropout keeps, [ROWS, COLUMNS]; weight (i, j) of a head is decided by 16 bits of
    # Philox(i, j // 8, head), whatever tile it lies in. first_column is a multiple of 8
    rows = (first_row + tl.arange(0, ROWS))[:, None]
    eighths = (first_column // 8 + tl.arange(0, COLUMNS // 8))[None, :]
    zero = rows * 0 + eighths * 0
    a, b, c, d = tl.philox(seed, zero + rows, zero + eighths, zero + head, zero, n_rounds=7)
    words = tl.join(tl.join(a, c), tl.join(b, d))  # [ROWS, COLUMNS / 8, 2, 2]: four words in their order
    halves = tl.join(words & 0xFFFF, words >> 16)
    return (halves >= threshold.to(tl.uint32)).reshape(ROWS, COLUMNS)
