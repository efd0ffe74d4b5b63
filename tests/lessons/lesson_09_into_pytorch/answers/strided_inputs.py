"""Lesson 09: answers to `strided_inputs`, around the tutorial's forward kernel."""

from __future__ import annotations

from tests.corpus import edited, right, wrong

TUTORIAL = """
from tests.lessons.lesson_06_flash_forward.answers.right import _fwd_tutorial_kernel, keys_as_rows

OK = (torch.float16, torch.bfloat16, torch.float32)


def check_args(q, k, v):
    for name, x in zip("qkv", (q, k, v)):
        if x.dim() != 4:
            raise ValueError(f"{name}: 4 dimensions wanted, shape {tuple(x.shape)} found")
        if x.dtype not in OK or x.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {x.dtype}; q has {q.dtype}, allowed are {OK}")
        if x.device != q.device:
            raise ValueError(f"{name} is on {x.device}, q on {q.device}")
    B, H, N, D = q.shape
    M = k.shape[2]
    for name, x in (("k", k), ("v", v)):
        if x.shape != (B, H, M, D):
            raise ValueError(f"{name} has shape {tuple(x.shape)}, not {(B, H, M, D)}; q has {tuple(q.shape)}")


def strided_inputs(q, k, v, alpha=None):
    check_args(q, k, v)
    Z, H, N_Q, D = q.shape
    scale = D**-0.5 if alpha is None else alpha
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
    lse = torch.empty((Z, H, N_Q), device=q.device, dtype=torch.float32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    _fwd_tutorial_kernel[(triton.cdiv(N_Q, 32), Z * H)](
        q, k, v, scale, lse, o,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        H, N_Q, k.shape[2], D, BLOCK_M=32, BLOCK_N=16, BLOCK_DMODEL=BLOCK_D,
    )
    return o, lse
"""
CALL = TUTORIAL[TUTORIAL.index("    o = torch.empty(") : TUTORIAL.index("    return o, lse")]

right("strided_inputs", "sixteen strides one by one, a loop of checks, 32 × 16")(
    edited(TUTORIAL, title="strides one by one")
)
right("strided_inputs", "hands everything to the launcher of lesson 06")(
    edited(TUTORIAL, (CALL, "    o, lse = keys_as_rows(q, k, v, scale)\n"), title="a launcher of lesson 06")
)


def strided(says: str, *names: str):
    return wrong("strided_inputs", says, *names)


strided("K's strides of batch and head have changed places.", "heads and batch exchanged", "out_of_bounds")(
    edited(TUTORIAL, ("k.stride(0), k.stride(1),", "k.stride(1), k.stride(0),"))
)
strided("V's strides of row and column have changed places.", "out_of_bounds")(
    edited(TUTORIAL, ("v.stride(2), v.stride(3)", "v.stride(3), v.stride(2)"))
)
strided("The default is one over the root of the padded D.", "alpha from the padded D")(
    edited(
        TUTORIAL,
        (
            "    scale = D**-0.5 if alpha is None else alpha\n",
            "    scale = triton.next_power_of_2(D)**-0.5 if alpha is None else alpha\n",
        ),
    )
)
strided("Nothing is checked: what does not fit is taken without a word.", "review")(
    edited(TUTORIAL, ("    check_args(q, k, v)\n", ""), title="no checks")
)
strided("K's last stride is taken to be 1.", "the last stride taken to be 1", "out_of_bounds")(
    edited(TUTORIAL, ("k.stride(2), k.stride(3)", "k.stride(2), 1"))
)
strided("The launcher refuses every view that is not contiguous.", "crashed", "launcher")(
    edited(
        TUTORIAL,
        (
            "    check_args(q, k, v)\n",
            "    check_args(q, k, v)\n    assert q.is_contiguous() and k.is_contiguous()\n",
        ),
        title="assert contiguous",
    )
)
strided(
    "The tensors are copied, and the strides are those of before.",
    "out_of_bounds",
)(
    edited(
        TUTORIAL,
        (
            "    Z, H, N_Q, D = q.shape\n",
            "    sk = k.stride()\n    k = k.contiguous()\n    Z, H, N_Q, D = q.shape\n",
        ),
        ("k.stride(0), k.stride(1), k.stride(2), k.stride(3)", "*sk"),
        title="strides from before .contiguous()",
    )
)
strided("V is read with K's strides.", "v read with k's strides", "out_of_bounds")(
    edited(TUTORIAL, ("v.stride(0), v.stride(1), v.stride(2), v.stride(3)", "*k.stride()"))
)
strided(
    "The tensors are viewed as if [B, H, S, D] lay in memory in this order.",
    "every tensor taken to be contiguous",
    "out_of_bounds",
)(
    edited(
        TUTORIAL,
        ("q.stride(0), q.stride(1), q.stride(2), q.stride(3)", "H * N_Q * D, N_Q * D, D, 1"),
        ("k.stride(0), k.stride(1), k.stride(2), k.stride(3)", "H * k.shape[2] * D, k.shape[2] * D, D, 1"),
        ("v.stride(0), v.stride(1), v.stride(2), v.stride(3)", "H * k.shape[2] * D, k.shape[2] * D, D, 1"),
        title="strides from shapes",
    )
)
strided(
    "O is allocated like q, with q's layout, and written as if it were contiguous.",
    "o written with q's strides",
    "out_of_bounds",
    "o's layout",
)(
    edited(
        TUTORIAL,
        ("o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)", "o = torch.empty_like(q)"),
        ("o.stride(0), o.stride(1), o.stride(2), o.stride(3)", "H * N_Q * D, N_Q * D, D, 1"),
    )
)
strided(
    "Two mistakes: alpha = 0 is taken for none, and LSE stays what float16 makes of it.",
    "shape + alpha = 0 taken for none",
    "shape",
)(
    edited(
        TUTORIAL,
        ("if alpha is None else alpha", "if not alpha else alpha"),
        ("dtype=torch.float32", "dtype=q.dtype"),
    )
)
strided("alpha is applied by the launcher and again by the kernel.", "alpha applied twice", "one edit")(
    edited(TUTORIAL, ("    o = torch.empty(", "    q = q * scale\n    o = torch.empty("))
)

strided("q, k and v are copied first, whatever their strides.", "review")(
    edited(
        TUTORIAL,
        (
            "    Z, H, N_Q, D = q.shape\n",
            "    q, k, v = (x.contiguous() for x in (q, k, v))\n    Z, H, N_Q, D = q.shape\n",
        ),
        title="contiguous copies",
    )
)
strided("k alone is copied.", "review")(
    edited(
        TUTORIAL,
        ("    Z, H, N_Q, D = q.shape\n", "    k = k.clone()\n    Z, H, N_Q, D = q.shape\n"),
        title="a copy of k",
    )
)
strided("A dtype that does not fit is refused with ValueError, where TypeError is asked for.", "review")(
    edited(
        TUTORIAL,
        ('raise TypeError(f"{name} has dtype', 'raise ValueError(f"{name} has dtype'),
        title="ValueError",
    )
)
strided("BLOCK_D is 64 whatever D is.", "never written", "only the first tile", "last tile missing")(
    edited(TUTORIAL, ("BLOCK_D = max(16, triton.next_power_of_2(D))", "BLOCK_D = 64"), title="BLOCK_D = 64")
)
