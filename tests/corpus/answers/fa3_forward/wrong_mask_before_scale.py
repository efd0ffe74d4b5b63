# label: wrong
# title: mask before scale
# says: line s = gl.where(..., s, -inf) * scale: the mask is multiplied by scale, and becomes +inf for a
#   negative alpha (NaN for 0)
# names: mask before alpha
# base: _course_solution_without_markers

# --- replace
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

ROWS = gl.constexpr(64)
# --- with
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits


ROWS = gl.constexpr(64)

# --- replace
    # this program's batch entry and heads, its first query, and how many blocks of keys its last one sees
# --- with

# --- replace
    return b, h, h // (H // H_K), first_row, gl.maximum(gl.cdiv(end, BLOCK_K), 1)  # one block at least
# --- with
    return b, h, h // (H // H_K), first_row, gl.maximum(gl.cdiv(end, BLOCK_K), 1)

# --- replace
    # lesson 06's online softmax in base 2: scale is alpha · log₂ e, m_i is in its units
    columns = start + gl.arange(0, s.shape[1], layout=gl.SliceLayout(0, s.type.layout))
    s = gl.where(columns[None, :] <= last_seen[:, None], s * scale, -float("inf"))
    m_new = gl.maximum(m_i, gl.max(s, axis=1))
    shift = gl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
    p = gl.exp2(s - shift[:, None])
    rescale = gl.exp2(m_i - shift)
    l_i = l_i * rescale + gl.sum(p, axis=1)
    return p, m_new, l_i, rescale
# --- with
    columns = start + gl.arange(0, s.shape[1], layout=gl.SliceLayout(0, s.type.layout))
    s = gl.where(columns[None, :] <= last_seen[:, None], s, -float("inf")) * scale
    mx2 = gl.maximum(m_i, gl.max(s, axis=1))
    base = gl.where(mx2 == -float("inf"), 0.0, mx2)
    p = gl.exp2(s - base[:, None])
    rescale = gl.exp2(m_i - base)
    l_i = l_i * rescale + gl.sum(p, axis=1)
    return p, mx2, l_i, rescale

# --- replace
        s = warpgroup_mma_wait(1, deps=[s])  # S is here; O += P V goes on under the softmax
# --- with
        s = warpgroup_mma_wait(1, deps=[s])

# --- replace
    l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    lse = (m_i + gl.log2(l_i)) * 0.6931471805599453  # ln 2
# --- with
    l_i = gl.where(l_i == 0.0, 1.0, l_i)
    lse = (m_i + gl.log2(l_i)) * 0.6931471805599453

# --- replace
    q.store(o.to(o_desc.dtype))  # Q is done with: its tile takes O
# --- with
    q.store(o.to(o_desc.dtype))

# --- replace
        mbarrier.init(k_full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(k_empty.index(slot), count=2)  # both consumers
# --- with
        mbarrier.init(k_full.index(slot), count=1)
        mbarrier.init(k_empty.index(slot), count=2)
