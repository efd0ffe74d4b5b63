"""Answers to tuned_forward: right ones in several styles, and the slips that tuning brings."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from tests.corpus import edited, right, written, wrong

SPLIT = """
@triton.jit
def fwd_tile(q, kp, vp, at_k, at_v, live, m, l, acc, j0, cols, last, N, c, MASK: tl.constexpr):
    j = j0 + cols
    ok = live[None, :] & (j < N)[:, None] if MASK else live[None, :] & (j >= 0)[:, None]
    k = tl.load(kp + at_k, mask=ok, other=0.0)
    v = tl.load(vp + at_v, mask=ok, other=0.0)
    x = tl.dot(q, tl.trans(k), input_precision="ieee")
    if MASK:
        x = tl.where(j[None, :] <= last[:, None], x, float("-inf"))
    top = tl.maximum(m, tl.max(x, 1))
    shift = top * c
    if MASK:
        shift = tl.where(top == float("-inf"), 0.0, shift)
    f = tl.exp2(m * c - shift)
    p = tl.exp2(x * c - shift[:, None])
    l = l * f + tl.sum(p, 1)
    acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    return top, l, acc


@triton.jit
def fwd_kernel(Q, K, V, O, L, alpha, B, H, G, M, N, D, sq, sk, sv, so,
               CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    pid = tl.program_id(0)
    block = tl.cdiv(M, BM) - 1 - pid // (B * H)
    b, h = (pid % (B * H) // H).to(tl.int64), (pid % H).to(tl.int64)
    hk = h // G
    Q += b * sq[0] + h * sq[1]
    K += b * sk[0] + hk * sk[1]
    V += b * sv[0] + hk * sv[1]
    O += b * so[0] + h * so[1]
    L += (b * H + h) * M
    first = block * BM
    rows, cols, d = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BD)
    live = d < D
    mine = (rows < M)[:, None] & live[None, :]
    q = tl.load(Q + rows[:, None] * sq[2] + d[None, :] * sq[3], mask=mine, other=0.0)
    q = tl.where(alpha < 0, -q, q)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
    at_k, at_v = cols[:, None] * sk[2] + d[None, :] * sk[3], cols[:, None] * sv[2] + d[None, :] * sv[3]
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    seen, end = N, N
    last = tl.zeros((BM,), tl.int32) + N - 1
    if CAUSAL:
        seen = tl.maximum(0, tl.minimum(N, first + 1 + N - M))
        end = tl.maximum(0, tl.minimum(N, first + BM + N - M))
        last = tl.minimum(rows + N - M, N - 1)
    whole = seen // BN * BN
    for j0 in range(0, whole, BN):
        step = j0.to(tl.int64)
        m, l, acc = fwd_tile(q, K + step * sk[2], V + step * sv[2], at_k, at_v, live, m, l, acc,
                             j0, cols, last, N, c, False)
    for j0 in range(whole, end, BN):
        step = j0.to(tl.int64)
        m, l, acc = fwd_tile(q, K + step * sk[2], V + step * sv[2], at_k, at_v, live, m, l, acc,
                             j0, cols, last, N, c, True)
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(O + rows[:, None] * so[2] + d[None, :] * so[3], o.to(O.dtype.element_ty), mask=mine)
    lse = tl.where(l == 0.0, float("-inf"), m * c * 0.6931471805599453 + tl.log(l))
    tl.store(L + rows, lse, mask=rows < M)


def fast(q, k, v, causal, alpha):
    B, H, M, D = q.shape
    N, G = k.shape[2], H // k.shape[1]
    o = torch.empty(B, H, M, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    BM, BN = 32, 16
    fwd_kernel[(triton.cdiv(M, BM) * B * H,)](
        q, k, v, o, lse, alpha, B, H, G, M, N, D, q.stride(), k.stride(), v.stride(), o.stride(),
        CAUSAL=causal, BM=BM, BN=BN, BD=max(16, triton.next_power_of_2(D)), num_warps=4)
    return o, lse
"""

right("tuned_forward", "strides as tuples, tiles of 32 × 16")(written(SPLIT))


def slip(says: str, *names: str, edits: tuple) -> None:
    """The right answer with a few places changed."""
    wrong("tuned_forward", says, *names, title=says)(edited(SPLIT, *edits))


slip(
    "Hidden products are −∞ before a factor that may be negative.",
    "mask before alpha",
    "alpha folded into the maximum",
    edits=(("    q = tl.where(alpha < 0, -q, q)\n", ""), ("tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)",
           "alpha * 1.4426950408889634")),
)  # fmt: skip
slip(
    "The sign of alpha is lost.",
    "alpha's sign is lost",
    edits=(("    q = tl.where(alpha < 0, -q, q)\n", ""),),
)
slip(
    "LSE stays in base 2.",
    "LSE in base 2",
    "LSE's maximum is in base 2",
    edits=(("m * c * 0.6931471805599453 + tl.log(l)", "m * c + tl.log2(l)"),),
)
slip(
    "The maximum's part of LSE stays in base 2.",
    "LSE in base 2",
    edits=(("m * c * 0.6931471805599453 + tl.log(l)", "m * c + tl.log(l)"),),
)
slip(
    "log2 e is missing from the folded factor.",
    "log2 e is missing",
    edits=(("tl.abs(alpha) * 1.4426950408889634", "tl.abs(alpha)"), ("m * c * 0.6931471805599453", "m * c")),
)
slip(
    "The unmasked loop goes as far as the last query sees.",
    "no mask on the diagonal",
    edits=(("    whole = seen // BN * BN\n", "    whole = end // BN * BN\n"),),
)
slip(
    "The masked loop begins a tile late.",
    "a tile between the loops",
    "never read",
    edits=(("for j0 in range(whole, end, BN)", "for j0 in range(whole + BN, end, BN)"),),
)
slip(
    "Heads of K are dealt round.",
    "heads dealt round",
    edits=(("    hk = h // G\n", "    hk = h % (H // G)\n"),),
)
slip(
    "The mask is aligned top-left.",
    "top-left alignment",
    edits=(("last = tl.minimum(rows + N - M, N - 1)", "last = tl.minimum(rows, N - 1)"),),
)
slip(
    "Each query sees one key too many.",
    "one key too many",
    edits=(("last = tl.minimum(rows + N - M, N - 1)", "last = tl.minimum(rows + 1 + N - M, N - 1)"),),
)
slip(
    "l is not rescaled.",
    "l not rescaled",
    edits=(("l = l * f + tl.sum(p, 1)", "l = l + tl.sum(p, 1)"),),
)
slip(
    "Rows that see nothing become NaN.",
    "rows that see nothing are NaN",
    edits=(("        shift = tl.where(top == float(\"-inf\"), 0.0, shift)\n", "        shift = shift + 0.0\n"),),
)  # fmt: skip
slip(
    "The last ragged tile of keys is never visited where there is no causal mask.",
    "loop ends one tile early",
    "a tile between the loops",
    edits=(("    for j0 in range(whole, end, BN):", "    for j0 in range(whole, end // BN * BN if not CAUSAL else end, BN):"),),
)  # fmt: skip
slip(
    "The unmasked loop loads the ragged tile without a mask of keys.",
    "out_of_bounds",
    "out_of_bounds + no mask on the diagonal",
    edits=(("    whole = seen // BN * BN\n", "    whole = (seen + BN - 1) // BN * BN\n"),),
)
slip(
    "q is scaled in its own dtype: LSE loses digits.",
    "Q scaled in its own dtype",
    "one edit",
    edits=(
        ("    q = tl.where(alpha < 0, -q, q)\n", "    q = (q * (alpha * 1.4426950408889634)).to(q.dtype)\n"),
        ("tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)", "1.0"),
    ),
)
slip(
    "The block is turned round for the loads and not for the store.",
    "stored where the program's number says",
    "race",
    edits=(
        ("    o = acc / tl.where", "    rows = pid // (B * H) * BM + tl.arange(0, BM)\n"
         "    mine = (rows < M)[:, None] & live[None, :]\n    o = acc / tl.where"),
    ),
)  # fmt: skip
slip(
    "The sum for O is rescaled twice.",
    "acc rescaled twice",
    "one edit",
    edits=(("acc = acc * f[:, None] +", "acc = acc * f[:, None] * f[:, None] +"),),
)
slip(
    "A factor of 0 meets −∞ where alpha is 0.",
    "zero times inf",
    "one edit",
    "not finite",
    "rows that see nothing are NaN",
    edits=(("tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)", "tl.abs(alpha) * 1.4426950408889634"),),
)

DESCRIBED = """
@triton.jit
def td_kernel(Q, K, V, O, L, alpha, H, G, M, N, CAUSAL: tl.constexpr,
              BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM
    b, h = tl.program_id(1) // H, tl.program_id(1) % H
    rows, cols = first + tl.arange(0, BM), tl.arange(0, BN)
    q = Q.load([b, h, first, 0]).reshape(BM, BD)
    q = tl.where(alpha < 0, -q, q)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    end = tl.minimum(N, first + BM + N - M) if CAUSAL else N
    for j0 in tl.range(0, end, BN, num_stages=2):
        k = K.load([b, h // G, j0, 0]).reshape(BN, BD)
        v = V.load([b, h // G, j0, 0]).reshape(BN, BD)
        x = tl.dot(q, k.T, input_precision="ieee")
        seen = (j0 + cols < N)[None, :]
        if CAUSAL:
            seen = seen & ((j0 + cols)[None, :] <= rows[:, None] + N - M)
        x = tl.where(seen, x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        shift = tl.where(top == float("-inf"), 0.0, top * c)
        f = tl.math.exp2(tl.fma(m, c, -shift))
        p = tl.math.exp2(tl.fma(x, c, -shift[:, None]))
        l = l * f + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * f[:, None], input_precision="ieee")
        m = top
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    O.store([b, h, first, 0], o.to(O.dtype).reshape(1, 1, BM, BD))
    lse = tl.where(l == 0.0, float("-inf"), m * c / 1.4426950408889634 + tl.log(l))
    tl.store(L + tl.program_id(1).to(tl.int64) * M + rows, lse, mask=rows < M)


def through_descriptors(q, k, v, causal, alpha):
    B, H, M, D = q.shape
    G, N, BD = H // k.shape[1], k.shape[2], max(16, triton.next_power_of_2(D))
    q, k, v = (torch.nn.functional.pad(t, (0, BD - D)).contiguous() for t in (q, k, v))
    o = torch.empty(B, H, M, BD, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    BM, BN = 64, 32
    described = [TensorDescriptor.from_tensor(t, [1, 1, n, BD]) for t, n in ((q, BM), (k, BN), (v, BN), (o, BM))]
    td_kernel[(triton.cdiv(M, BM), B * H)](*described, lse, alpha, H, G, M, N, CAUSAL=causal, BM=BM, BN=BN, BD=BD)
    return o[..., :D].contiguous(), lse
"""

right("tuned_forward", "tensor descriptors of padded copies, fused multiply-adds by name")(written(DESCRIBED))
wrong("tuned_forward", "The tile that is stored has not the descriptor's shape.", "crashed")(
    edited(DESCRIBED, ("o.to(O.dtype).reshape(1, 1, BM, BD)", "o.to(O.dtype)"))
)
wrong("tuned_forward", "The descriptor's block has 64 keys, and the loop's step is 32.", "crashed")(
    edited(DESCRIBED, ("(k, BN), (v, BN)", "(k, 2 * BN), (v, 2 * BN)"))
)
wrong(
    "tuned_forward",
    "A descriptor's zeros are scores of 0: the keys beyond the last are not masked.",
    "padded keys are not masked",
    "one edit",
    "review",
)(edited(DESCRIBED, ("(j0 + cols < N)[None, :]", "(j0 + cols >= 0)[None, :]")))

PLAIN = """
@triton.jit
def slow_kernel(Q, K, V, O, L, alpha, H, G, M, N, D, sq, sk, sv, so,
                CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    b, h = tl.program_id(1).to(tl.int64) // H, tl.program_id(1).to(tl.int64) % H
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    mine = (i < M)[:, None] & (d < D)[None, :]
    at = b * sq[0] + h * sq[1] + i[:, None] * sq[2] + d[None, :] * sq[3]
    q = tl.load(Q + at, mask=mine, other=0.0)
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    end = N
    if CAUSAL:
        end = tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M)
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN).to(tl.int64)
        ok = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + b * sk[0] + h // G * sk[1] + j[:, None] * sk[2] + d[None, :] * sk[3], mask=ok, other=0.0)
        v = tl.load(V + b * sv[0] + h // G * sv[1] + j[:, None] * sv[2] + d[None, :] * sv[3], mask=ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        hidden = (j >= N)[None, :]
        if CAUSAL:
            hidden = hidden | (j[None, :] > i[:, None] + N - M)
        s = tl.where(hidden, float("-inf"), s)
        top = tl.maximum(m, tl.max(s, 1))
        shift = tl.where(top == float("-inf"), 0.0, top)
        f, p = tl.exp(m - shift), tl.exp(s - shift[:, None])
        l = l * f + tl.sum(p, 1)
        acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = top
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    at = b * so[0] + h * so[1] + i[:, None] * so[2] + d[None, :] * so[3]
    tl.store(O + at, o.to(O.dtype.element_ty), mask=mine)
    tl.store(L + (b * H + h) * M + i, m + tl.log(l), mask=i < M)


def untuned(q, k, v, causal, alpha):
    B, H, M, D = q.shape
    o = torch.empty(B, H, M, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    slow_kernel[(triton.cdiv(M, 16), B * H)](
        q, k, v, o, lse, alpha, H, H // k.shape[1], M, k.shape[2], D, q.stride(), k.stride(), v.stride(), o.stride(),
        CAUSAL=causal, BM=16, BN=32, BD=max(16, triton.next_power_of_2(D)))
    return o, lse
"""

right("tuned_forward", "nothing tuned: one loop, natural exponentials, wide tiles of offsets")(written(PLAIN))
wrong("tuned_forward", "Hidden tiles are multiplied: the loop does not end at the diagonal.", "review")(
    edited(
        PLAIN,
        ("        end = tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M)\n", "        end = end + 0\n"),
    )
)
