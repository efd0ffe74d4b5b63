"""The named mistakes of lesson 06: what people get wrong in FlashAttention's forward pass.

Most are one line of the kernel's own loop, so the loop is here in torch, `scan`, with a fault by name;
what torch cannot say is a kernel of broken_06.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn import reference
from flashlearn.exercise import Mistake
from flashlearn.exercises import broken_06 as broken

BLOCK = 32
FILLER = -1e9  # what some kernels write where −inf belongs

# ---------------------------------------------------------------- the loop, with a fault


def scan(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False, fault: str = ""
) -> tuple[Tensor, Tensor]:
    """The forward kernel's blocks and tiles of 32 in torch, with one fault: (O, LSE). "" is right."""
    S_q, S_k = q.shape[2], k.shape[2]
    blocks = []
    for first in range(0, S_q, BLOCK):
        rows = torch.arange(first, min(first + BLOCK, S_q))
        if causal:
            end, last_seen = _causal_bounds(first, rows, S_q, S_k, fault)
        else:
            end = S_k // BLOCK * BLOCK if fault == "loop one tile short" else S_k
            last_seen = torch.full_like(rows, S_k)
        blocks.append(_block(q[:, :, rows], k, v, alpha, end, last_seen, causal, fault))
    o, lse = (torch.cat(parts, dim=2) for parts in zip(*blocks, strict=True))
    return o.to(q.dtype), lse


def _causal_bounds(first: int, rows: Tensor, S_q: int, S_k: int, fault: str) -> tuple[int, Tensor]:
    """Where the loop of a causal block ends, and the last key that each of its queries sees."""
    offset = 0 if fault == "top-left" else S_k - S_q
    last_seen = rows + offset
    if fault == "diagonal hidden":
        last_seen = last_seen - 1
    if fault == "one key too many":
        last_seen = last_seen + 1
    if fault == "only whole tiles":
        last_seen = torch.full_like(rows, S_k)
    end = first + BLOCK + offset
    if fault == "loop one tile short":
        end = first + offset
    if fault == "loop end without the offset":
        end = first + BLOCK
    if fault == "one key too many":
        end += 1
    return min(S_k, end), last_seen


def _block(q, k, v, alpha, end, last_seen, causal, fault) -> tuple[Tensor, Tensor]:
    """One program: its O [B, H, rows, D] and LSE [B, H, rows] in fp64 or fp32."""
    S_k, wide = k.shape[2], torch.float64 if q.dtype == torch.float64 else torch.float32
    shape = (*q.shape[:3], 1)
    m = torch.full(shape, 0.0 if fault in ("no maximum", "m from 0") else -math.inf, dtype=wide)
    l_i = torch.zeros(shape, dtype=wide)
    acc = torch.zeros((*q.shape[:3], v.shape[3]), dtype=wide)
    guarded = causal and fault not in ("no guards", "finite filler")
    for start in range(0, end, BLOCK):
        tile = slice(start, start + BLOCK)
        k_tile, v_tile = (_pad_rows(t[:, :, tile]).to(wide) for t in (k, v))
        columns = torch.arange(start, start + BLOCK)
        seen = (columns < S_k) & (columns <= last_seen[:, None])
        raw = q.to(wide) @ k_tile.mT
        s = _masked(alpha, raw, seen, columns < S_k, fault)
        top = s.amax(dim=-1, keepdim=True)
        if fault == "maximum before alpha":
            top = alpha * raw.masked_fill(~seen, -math.inf).amax(dim=-1, keepdim=True)
        m_new = m if fault == "no maximum" else torch.maximum(m, top)
        shift = torch.where(m_new == -math.inf, 0.0, m_new) if guarded else m_new
        rescale = (m - shift).exp()
        p = (s - shift).exp()
        l_i = l_i * (1.0 if fault in ("l not rescaled", "nothing rescaled") else rescale)
        l_i = l_i + p.sum(dim=-1, keepdim=True)
        if fault == "mask after l":
            p = p * seen
        if fault == "softmax per tile":
            p, rescale = p / p.sum(dim=-1, keepdim=True), torch.ones_like(rescale)
        acc = acc * (1.0 if fault in ("acc not rescaled", "nothing rescaled") else rescale)
        acc = acc + p.to(v.dtype).to(wide) @ v_tile
        m = m if fault == "m never updated" else m_new
    return _finished(m, l_i, acc, guarded, fault)


def _masked(alpha: float, raw: Tensor, seen: Tensor, in_keys: Tensor, fault: str) -> Tensor:
    """The tile's scores after scale and mask."""
    if fault == "padded keys":
        return alpha * raw
    if fault == "mask after l":
        return (alpha * raw).masked_fill(~in_keys, -math.inf)
    if fault == "mask before alpha":
        return raw.masked_fill(~seen, -math.inf) * alpha
    return (alpha * raw).masked_fill(~seen, FILLER if fault == "finite filler" else -math.inf)


def _finished(m: Tensor, l_i: Tensor, acc: Tensor, guarded: bool, fault: str) -> tuple[Tensor, Tensor]:
    """O and LSE from the state after the last tile."""
    o = acc / (torch.where(l_i == 0, 1.0, l_i) if guarded else l_i)
    if fault in ("not divided", "softmax per tile"):
        o = acc
    lse = {"lse is log l": l_i.log(), "lse is m": m, "lse is m + l": m + l_i}.get(fault, m + l_i.log())
    if fault == "lse in base 2":
        lse = lse / math.log(2)
    return o, lse.squeeze(-1)


def _pad_rows(t: Tensor) -> Tensor:
    """A tile's rows filled up to BLOCK with zeros, as a masked load with other=0 does."""
    return torch.nn.functional.pad(t, (0, 0, 0, BLOCK - t.shape[2]))


# ---------------------------------------------------------------- what to say


def _no_scale(causal: bool) -> Callable:
    return lambda q, k, v, alpha: reference.attention_forward(q, k, v, 1.0, causal)


def _scale_twice(causal: bool) -> Callable:
    return lambda q, k, v, alpha: reference.attention_forward(q, k, v, alpha * alpha, causal)


def common(causal: bool) -> dict[str, Mistake]:
    """The mistakes that can be made with and without a causal mask."""

    def loop(fault: str) -> Callable:
        return functools.partial(scan, causal=causal, fault=fault)

    def kernel(fault: str) -> Callable:
        return broken.launcher(fault, causal)

    return {
        "alpha forgotten": Mistake(
            "The scores are not scaled: S is Q Kᵀ instead of alpha Q Kᵀ.",
            "Multiply the product q · k by alpha, once, before anything else happens to it.",
            wrong=_no_scale(causal),
        ),
        "alpha applied twice": Mistake(
            "The scores are scaled by alpha²: once too often. Is q multiplied by alpha, and the product "
            "again?",
            "Count the places where alpha stands: there must be one.",
            wrong=_scale_twice(causal),
        ),
        "acc not rescaled": Mistake(
            "acc keeps the weights of the old maximum when a later tile raises m_i: l_i is rescaled and acc "
            "is not. Rows whose maximum lies in the first tile come out right.",
            "acc and l_i are sums of the same exponentials: both are multiplied by exp(m_i - m_new).",
            wrong=loop("acc not rescaled"),
        ),
        "l not rescaled": Mistake(
            "l_i keeps the old maximum's exponentials when a later tile raises m_i: acc is rescaled and l_i "
            "is not, so O is too small and LSE too large.",
            "acc and l_i are sums of the same exponentials: both are multiplied by exp(m_i - m_new).",
            wrong=loop("l not rescaled"),
        ),
        "nothing rescaled": Mistake(
            "Neither l_i nor acc is multiplied by exp(m_i - m_new): exponentials relative to different "
            "maxima are added up as if they were of one kind.",
            "Before a tile is added, bring what was summed so far to the new maximum.",
            wrong=loop("nothing rescaled"),
        ),
        "the maximum is not subtracted": Mistake(
            "The exponentials are taken of the scores as they are: exp(89) is infinite in fp32, and ∞/∞ is "
            "NaN. With scores of ordinary size the result is right, which is why only large values show it.",
            "Exponentiate s - m_new, and let m_new be the larger of m_i and the tile's maximum.",
            wrong=loop("no maximum"),
        ),
        "m is never updated": Mistake(
            "m_i stays −inf: the new maximum is computed and not kept. So every rescale is exp(−inf) = 0 and "
            "drops what was summed before, O is that of the last tile alone, and LSE is −inf.",
            "The loop's last line: m_i = m_new.",
            wrong=loop("m never updated"),
        ),
        "m starts at 0": Mistake(
            "m_i starts at 0 instead of −inf. Any m gives the right answer in exact arithmetic, but where "
            "all of a row's scores lie below −104 every exp(s − 0) is 0, and 0/0 is NaN.",
            'Start m_i at -float("inf"), the neutral element of a maximum.',
            wrong=loop("m from 0"),
        ),
        "not divided by l": Mistake(
            "O is acc, which was never divided by l_i: each row is too large by the sum of its exponentials.",
            "After the loop: o = acc / l_i[:, None].",
            wrong=loop("not divided"),
        ),
        "each tile has its own softmax": Mistake(
            "Every tile is normalised by its own sum and the results are added: with n tiles the weights of "
            "a row sum to n.",
            "Add exponentials, relative to one running maximum, and divide once, after the last tile.",
            wrong=loop("softmax per tile"),
        ),
        "LSE in base 2": Mistake(
            "LSE is the right one times log2 e = 1.4427: it is a logarithm to base 2.",
            "This course keeps natural logarithms: m_i + tl.log(l_i), with m_i a maximum of alpha q · k.",
            wrong=loop("lse in base 2"),
        ),
        "LSE without m": Mistake(
            "LSE is log l_i alone. l_i sums exponentials relative to m_i, so the maximum has to be added "
            "back.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            wrong=loop("lse is log l"),
        ),
        "LSE without log l": Mistake(
            "LSE is m_i alone, the row's maximum.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            wrong=loop("lse is m"),
        ),
        "LSE is m + l": Mistake(
            "LSE is m_i + l_i: the logarithm of l_i is missing.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            wrong=loop("lse is m + l"),
        ),
        "mask before alpha": Mistake(
            "The mask's −inf is multiplied by alpha afterwards. With a negative alpha it becomes +∞: the "
            "hidden keys win every maximum, and ∞ − ∞ is NaN.",
            "Scale first, then mask.",
            wrong=loop("mask before alpha"),
        ),
        "alpha folded into the maximum": Mistake(
            "The maximum is taken of q · k and multiplied by alpha afterwards. With a negative alpha that "
            "is the smallest score of the tile: exp(s − m) is 1 or more, and overflows when scores are far "
            "apart.",
            "alpha · max(x) is max(alpha · x) only for alpha ≥ 0. Take the maximum of the scaled scores.",
            wrong=loop("maximum before alpha"),
        ),
        "accumulator in half precision": Mistake(
            "acc is carried in the dtype of q. fp16 overflows at 65504, long before acc / l_i would, and "
            "every addition rounds to 11 bits (8 in bf16).",
            "Keep m_i, l_i and acc in tl.float32; convert once, in front of the store.",
            launcher=kernel("accumulator in half"),
        ),
        "P cast to fp16 whatever V is": Mistake(
            "P is converted to fp16 by name. tl.dot wants both operands of one dtype: with V in bf16 or "
            "fp32 the kernel does not compile.",
            "Write p.to(v.dtype): it is right for whatever V holds.",
            launcher=kernel("p in fp16"),
            status="CRASHED",
        ),
        "l sums over the queries": Mistake(
            "l_i is a sum along the wrong axis of p: over the block's queries, for each key. The shapes fit "
            "because the tile is square.",
            "A row of p is a query, a column a key: l_i sums along the row, tl.sum(p, axis=1).",
            launcher=kernel("sum along the queries"),
        ),
        "the first tile again and again": Mistake(
            "Every step reads the first tile of K and V, and the keys from BLOCK_K on are never seen. With a "
            "single tile of keys the answer is right.",
            "The keys of a step are start + keys: use them in both addresses, and in both masks.",
            launcher=kernel("first tile again"),
        ),
        "K is not transposed": Mistake(
            "The product takes k as it was loaded, [BLOCK_K, BLOCK_D]. Q Kᵀ sums over D, so the second "
            "operand must be [BLOCK_D, BLOCK_K].",
            "tl.dot(q, tl.trans(k)), or load the tile with its two index vectors exchanged.",
            launcher=kernel("k not transposed"),
            status="CRASHED",
        ),
        "keys loaded without a mask": Mistake(
            "The last tile reaches beyond S_k, and for the last head beyond the tensor.",
            "Mask the load with columns < S_k (and d < D), with other=0.0.",
            launcher=kernel("keys without a mask"),
            status="OUT_OF_BOUNDS",
        ),
        "D is not masked": Mistake(
            "BLOCK_D is D rounded up to a power of two, 16 at least: the columns from D on belong to the "
            "next row, and in the last row to nobody.",
            "Every load and store of a tile needs d < D in its mask.",
            launcher=kernel("D without a mask"),
            status="OUT_OF_BOUNDS",
        ),
        "strides of q used for k": Mistake(
            "K is read with the strides of Q. They agree only if both have one layout and one length.",
            "Address K with k_batch, k_head, k_row and k_col (and V with its own four).",
            launcher=kernel("strides of q for k"),
        ),
    }


FORWARD = {
    **common(causal=False),
    "the mask of keys lies along the queries": Mistake(
        "s is masked along the wrong axis: where the tile lacks a key, a query's row is set to −inf, and "
        "the padded keys still take part. The shapes fit because the tile is square.",
        'Keys are the columns of s: tl.where((columns < S_k)[None, :], s, -float("inf")).',
        launcher=broken.launcher("mask along the queries"),
    ),
    "padded keys are not masked": Mistake(
        "Keys beyond S_k take part: their row of zeros gives the score 0, hence exp(0 − m) in l_i "
        "(which is 1 where m is 0). O is too small and LSE too large wherever the last tile is not full.",
        "A filler of 0 is right for the load and wrong for a score. Set s to −inf where columns ≥ S_k.",
        wrong=functools.partial(scan, fault="padded keys"),
    ),
    "loop ends one tile early": Mistake(
        "The last, incomplete tile of keys is never visited: the loop runs S_k // BLOCK_K times, rounded "
        "down.",
        "range(0, S_k, BLOCK_K) reaches the ragged tile too; the mask takes care of what is too much.",
        wrong=functools.partial(scan, fault="loop one tile short"),
    ),
}

_hidden = functools.partial(functools.partial, scan, causal=True)

CAUSAL = {
    **common(causal=True),
    "no causal mask": Mistake(
        "Every query sees every key: the answer is that of flash_forward.",
        "Hide the keys with j > i + S_k − S_q: s = −inf there.",
        wrong=functools.partial(scan, causal=False),
    ),
    "the diagonal is hidden": Mistake(
        "The mask is one key too strict: query i sees the keys j < i + S_k − S_q, without its own.",
        "The comparison is columns <= rows + S_k - S_q: a token attends to itself.",
        wrong=_hidden(fault="diagonal hidden"),
    ),
    "one key too many": Mistake(
        "The mask is one key too generous: query i sees the keys up to i + 1 + S_k − S_q, one from the "
        "future.",
        "The comparison is columns <= rows + S_k - S_q.",
        wrong=_hidden(fault="one key too many"),
    ),
    "top-left alignment": Mistake(
        "The mask is j ≤ i, aligned top-left. With S_q = S_k that is the same; here they differ, and the "
        "last query must see the last key.",
        "Shift the diagonal by S_k − S_q, in the mask and in the end of the loop.",
        wrong=_hidden(fault="top-left"),
    ),
    "mask after l": Mistake(
        "The hidden keys are set to zero in p after l_i has been summed: they are gone from O's numerator "
        "and still in its denominator, and in LSE.",
        "Mask s, with −inf, before the maximum and the exponential: then everything that follows is masked.",
        wrong=_hidden(fault="mask after l"),
    ),
    "only whole tiles are hidden": Mistake(
        "The loop ends at the diagonal, but the tiles that the diagonal crosses are not masked inside: a "
        "query sees every key of the tiles that its block visits.",
        "Ending the loop early saves work; the mask makes it right. Both are needed.",
        wrong=_hidden(fault="only whole tiles"),
    ),
    "loop end without S_k − S_q": Mistake(
        "The loop ends at (pid + 1) · BLOCK_Q, which is right only for S_q = S_k: with more keys than "
        "queries the last S_k − S_q keys are never visited.",
        "The block's last query sees the keys up to (pid + 1) · BLOCK_Q − 1 + S_k − S_q.",
        wrong=_hidden(fault="loop end without the offset"),
    ),
    "loop ends one tile early": Mistake(
        "The tile that the diagonal crosses is never visited: the loop ends where that tile begins.",
        "That tile belongs to the loop: its end is (pid + 1) · BLOCK_Q + S_k − S_q, not pid · BLOCK_Q + S_k "
        "− S_q.",
        wrong=_hidden(fault="loop one tile short"),
    ),
    "rows that see nothing are NaN": Mistake(
        "Queries that see no key come out as NaN: −inf − (−inf) in the exponent, and 0/0 in the division.",
        "Subtract 0 instead of m_new where m_new is −inf, and divide by 1 where l_i is 0.",
        wrong=_hidden(fault="no guards"),
    ),
    "a finite number for −inf": Mistake(
        "Hidden scores are set to a large negative number instead of −inf. Where a row sees nothing, all "
        "its scores are that number, every p is exp(0) = 1, and O is a mean of values that the query must "
        "not see.",
        'Use -float("inf"), and guard the rows in which it is all there is.',
        wrong=_hidden(fault="finite filler"),
    ),
}
