"""Habits that a kernel or a launcher does not take: each is met with what was written and what to write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.running.answer import Here
from flashlearn.running.evidence import Raised
from flashlearn.running.run_modes import Observed
from tests.corpus import function_with_edits

VECTOR = """
@triton.jit
def add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask)
    tl.store(z_ptr + offsets, a * x + y, mask=mask)


def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty_like(y)
    BLOCK = 256
    grid = (triton.cdiv(n, BLOCK),)
    add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
"""
ROW = """
@triton.jit
def soft_kernel(x_ptr, p_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < columns
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    e = tl.exp(x - m)
    p = e / tl.sum(e, axis=0)
    tl.store(p_ptr + row * columns + cols, p, mask=mask)


def softmax_forward(x):
    x = x.contiguous()
    p = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(x.shape[1])
    soft_kernel[(x.shape[0],)](x, p, x.shape[1], x.stride(0), BLOCK=BLOCK)
    return p
"""
PRODUCT = """
@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        in_a = (rm < M)[:, None] & (k + rk < K)[None, :]
        in_b = (k + rk < K)[:, None] & (rn < N)[None, :]
        a = tl.load(a_ptr + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=in_a, other=0.0)
        b = tl.load(b_ptr + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=in_b, other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def tiled_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 32))
    product_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BM=64, BN=32, BK=16)
    return c
"""
NAMES = {VECTOR: "scaled_add", ROW: "softmax_forward", PRODUCT: "tiled_matmul"}

LOAD_X = "tl.load(x_ptr + offsets * stride_x, mask=mask)"
STORE = "tl.store(z_ptr + offsets, a * x + y, mask=mask)"
LAUNCH = "(a, x, y, z, n, x.stride(0)"
STORE_ROW = "tl.store(p_ptr + row * columns + cols, p, mask=mask)"
SHAPE_FIRST = "The shape is the first argument: `tl.zeros((BM, BN), dtype=tl.float32)`."
DOT = 'tl.dot(a, b, input_precision="ieee")'


def raised_by(function: Callable, name: str) -> Raised:
    """What the exercise's first case makes the function raise."""
    exercise = find(name)
    case = exercise.cases[0]
    inputs = exercise.inputs(case, case.generator())
    evidence = Here(function, exercise).run(inputs, Observed(case.seed))
    assert evidence.raised is not None and evidence.raised.status is Status.CRASHED
    return evidence.raised


def raised(base: str, *changes: tuple[str, str]) -> Raised:
    name = NAMES[base]
    return raised_by(function_with_edits(base, *changes, name=name), name)


def said(base: str, *changes: tuple[str, str]) -> str:
    return raised(base, *changes).sentence


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (STORE, "z_ptr[offsets] = a * x + y", "`tl.store(z_ptr + offsets, …, mask=…)`"),
        (STORE, "z_ptr[pid] = 1.0", "`tl.store(z_ptr + pid, …, mask=…)`"),
        (STORE, "z_ptr[pid:n] = x", "with offsets = start + tl.arange(0, BLOCK)"),
        (LOAD_X, "x_ptr[offsets * stride_x]", "`tl.load(x_ptr + offsets * stride_x, mask=…)`"),
        (LOAD_X, "x_ptr[pid * BLOCK:n]", "x_ptr is an address, not an array"),
        (STORE, "x[0] = 1.0", "a tile cannot be changed in one place"),
        (STORE, "first = n[0]", "n is a single number here"),
        (STORE, "first = x[0]", "single elements of a tile cannot be selected"),
        (STORE, "first = x[:16]", "an index only adds axes"),
        ("a * x + y", "(a * x + y)[mask]", "a mask does not select elements of a tile"),
        ("offsets < n", "offsets < x_ptr.shape[0]", "without a shape or strides"),
        ("offsets < n", "offsets < len(x_ptr)", "without a shape or strides"),
        ("offsets < n", "offsets < x_ptr.numel()", "without a shape or strides"),
        ("* stride_x,", "* x_ptr.stride(0),", "without a shape or strides"),
        (LOAD_X, "tl.load(x_ptr, mask=mask)", "`x_ptr` is one address, but its mask or value has 256 lanes"),
        (
            STORE,
            "lanes = offsets[:, None] + tl.arange(0, 2)[None, :]\n"
            "    tl.store(z_ptr + offsets[:, None], lanes, mask=lanes < n)",
            "`z_ptr + offsets[:, None]` has the shape [256, 1], and the value or the mask [256, 2]",
        ),
        (LOAD_X, "tl.load(x_ptr, offsets, mask)", "`offsets` is where the mask belongs"),
        (LOAD_X, "tl.load(x_ptr, offsets, mask=mask)", "`tl.load(x_ptr + offsets, mask=…)`"),
        (LOAD_X, "tl.load(offsets, mask=mask)", "`offsets` holds plain numbers (int32)"),
        (LOAD_X, "tl.load(offsets, mask=mask)", "`tl.load(pointer + offsets, …)`"),
        (LOAD_X, "tl.load(offsets * 0.5, mask=mask)", "`offsets * 0.5` holds fp32 values"),
        ("* stride_x,", "* stride_x * 1.0,", "is a whole number, and `offsets * stride_x * 1.0` is fp32"),
        ("* stride_x,", "* stride_x * 1.0,", "Drop the fractions"),
        ("* stride_y,", "* x,", "and `offsets * x` is fp32. That is because `x` is."),
        ("* stride_x,", "/ 2,", "// gives a whole number"),
        (LOAD_X, "tl.load(x_ptr + y_ptr, mask=mask)", "adds two addresses"),
        ("a * x +", "a * x_ptr +", "x_ptr is an address, and `a * x_ptr` needs the numbers"),
        (LOAD_X, "x_ptr + offsets * stride_x", "`x` holds addresses"),
        ("a * x +", "tl.exp(x_ptr) +", "x_ptr is an address, and `tl.exp(x_ptr)`"),
        ("a * x + y,", "x_ptr,", "x_ptr is an address"),
        (STORE, "tl.store(a * x + y, z_ptr + offsets, mask=mask)", "The arguments of tl.store are swapped"),
        (STORE, "z_ptr = pid * n\n    tl.store(z_ptr + offsets, x)", "to move the pointer, add to it"),
        (STORE, "tl.store(z_ptr + pid, x)", "Each lane needs its own address"),
    ],
)  # fmt: skip
def test_an_address_is_no_array(old, new, words):
    assert words in said(VECTOR, (old, new))


@pytest.mark.parametrize(
    ("product", "conversion"),
    [
        ("half = a.to(tl.float16)\n        acc += tl.dot(half, b)", "`a.to(b.dtype)`"),
        ("whole = a * 2.0\n        acc += tl.dot(whole.to(tl.float16), b)", "`whole.to(b.dtype)`"),
        ("p = (a * 2.0).to(tl.float16) + 1.0\n        acc += tl.dot(p, b)", "`p.to(b.dtype)`"),
    ],
)
def test_of_two_operands_the_one_that_was_computed_is_converted(product, conversion):
    assert f"such as {conversion}" in said(PRODUCT, (f"acc += {DOT}", product))


def test_arguments_in_another_order_are_asked_about_where_an_address_is_in_the_place_of_a_number():
    launched = said(VECTOR, (LAUNCH, "(a, n, y, z, x, x.stride(0)"), ("offsets < n", "offsets + 0 < n + 0"))
    assert "the launch passes a tensor" in launched and "order" in launched
    fetch = "@triton.jit\ndef fetch(base, i, n):\n    return tl.load(base + i, mask=i < n)\n\n\n"
    called = said(
        VECTOR, ("@triton.jit\ndef add", f"{fetch}@triton.jit\ndef add"), (LOAD_X, "fetch(offsets, x_ptr, n)")
    )
    assert "i is an address in this function" in called and "Load them first" not in called


@pytest.mark.parametrize(
    ("base", "old", "new", "words"),
    [
        (ROW, "tl.exp(x - m)", "torch.exp(x - m)", "Write `tl.exp(x - m)`"),
        (ROW, "tl.sum(e, axis=0)", "torch.sum(e, dim=0)", "Write `tl.sum(e, axis=0)`"),
        (ROW, "tl.max(x, axis=0)", "torch.max(x, -1)[0]", "Write `tl.max(x, axis=-1)`"),
        (ROW, "tl.exp(x - m)", "torch.max(x, m)", "Write `tl.maximum(x, m)`"),
        (ROW, "tl.exp(x - m)", "math.exp(x - m)", "math.exp` works on one plain number"),
        (ROW, "tl.max(x, axis=0)", "np.max(x)", "Write `tl.max(x, axis=0)`"),
        (ROW, "tl.sum(e, axis=0)", "sum(e)", "`tl.sum(e, axis=0)`"),
        (ROW, "tl.max(x, axis=0)", "max(x)", "tl.maximum(x, y) the larger of two"),
        (ROW, "tl.max(x, axis=0)", "min(x)", "`tl.min(x, axis=0)`"),
        (ROW, "tl.exp(x - m)", "tl.exp(-abs(x - m))", "write `tl.abs(x - m)`"),
        (ROW, "tl.sum(e, axis=0)", "len(x)", "x.shape[0]"),
        (ROW, "tl.exp(x - m)", "float(x)", "`x.to(tl.float32)`"),
        (ROW, "tl.exp(x - m)", "(x - m) ** 2", "Tiles have no **"),
        (PRODUCT, DOT, "a @ b", "`tl.dot(a, b)`"),
        (PRODUCT, DOT, "a.matmul(b)", "Write `tl.dot(a, b)`"),
        (PRODUCT, DOT, "tl.dot(a, b.mT)", "Write `tl.trans(b)`"),
        (ROW, ".to(tl.float32)", ".float()", "Write `x.to(tl.float32)`"),
        (ROW, ".to(tl.float32)", ".to(torch.float32)", "`torch.float32` is a torch dtype"),
        (ROW, ".to(tl.float32)", ".to(np.float32)", "write `tl.float32`"),
        (PRODUCT, "dtype=tl.float32", "dtype='float32'", "`'float32'` is text"),
        (PRODUCT, "tl.zeros([BM, BN], dtype=tl.float32)", "torch.zeros(BM, BN)", "acc is a torch tensor"),
        (ROW, "tl.exp(x - m)", "tl.exp(x.T - m)", "one axis, nothing to transpose"),
        (ROW, "m = tl.max(x, axis=0)", "for m in x:\n        m += 1", "cannot iterate over a tile"),
        (ROW, "tl.max(x, axis=0)", "tl.exp(row)", "`tl.exp(row.to(tl.float32))`"),
        (ROW, "tl.exp(x - m)", "tl.expo(x - m)", "Did you mean `tl.exp`?"),
        (ROW, "tl.exp(x - m)", "tl.tanh(x - m)", "`2 * tl.sigmoid(2 * (x - m)) - 1`"),
        (ROW, "tl.max(x, axis=0)", "tl.mean(x, axis=0)", "`tl.sum(x, axis=0) / n`"),
        (ROW, "-float(\"inf\")", "-tl.inf", '`float("inf")`'),
        (ROW, "tl.float32", "tl.float", "`tl.float32`"),
        (PRODUCT, "tl.zeros(", "tl.ones(", "`tl.full([BM, BN], 1.0, dtype=tl.float32)`"),
        (ROW, "tl.exp(x - m)", "exp(x - m)", "written `tl.exp`"),
        (ROW, "tl.exp(x - m)", "tl.exp(x - M)", "Did you mean `m`?"),
        (ROW, "tl.exp(x - m)", "tl.exp(X_ptr - m)", "`x_ptr` is an address: does a line above load `X_ptr`?"),
        (ROW, "tl.load(x_ptr", "tl.load(X_ptr", "Did you mean `x_ptr`?"),
    ],
)  # fmt: skip
def test_what_belongs_to_torch_numpy_and_python_is_said_in_triton_s_words(base, old, new, words):
    assert words in said(base, (old, new))


@pytest.mark.parametrize(
    ("base", "old", "new", "words"),
    [
        (VECTOR, "tl.arange(0, BLOCK)", "tl.arange(0, n)", "use tl.arange(0, BLOCK) with a block size"),
        (VECTOR, "BLOCK: tl.constexpr", "BLOCK", "write `BLOCK: tl.constexpr`"),
        (VECTOR, "BLOCK: tl.constexpr", "BLOCK: int", "write `BLOCK: tl.constexpr`"),
        (VECTOR, "tl.arange(0, BLOCK)", "tl.arange(pid, pid + BLOCK)", "`start + tl.arange(0, BLOCK)`"),
        (VECTOR, "BLOCK = 256", "BLOCK = 100", "a tile of 100. A tile's extents are powers of two"),
        (ROW, "x.shape[1])\n", "x.shape[1]) / 1\n", "`BLOCK` is a fraction, 4.0"),
        (VECTOR, "tl.arange(0, BLOCK)", "tl.arange(BLOCK)", "`tl.arange(0, BLOCK)`"),
        (VECTOR, "tl.arange(0, BLOCK)", "tl.arange(0, BLOCK, 2)", "`2 * tl.arange(0, COUNT)`"),
        (PRODUCT, "tl.zeros([BM, BN],", "tl.zeros([M, N],", "a tile's size when it is compiled"),
        (PRODUCT, "tl.zeros([BM, BN], dtype=tl.float32)", "tl.zeros(BM, BN)", "`tl.zeros([BM, BN],"),
        (PRODUCT, "tl.zeros([BM, BN], dtype=tl.float32)", "tl.zeros(tl.float32, (BM, BN))", SHAPE_FIRST),
        (PRODUCT, "[BM, BN], dtype=tl.float32", "BM, tl.float16", "([BM], dtype=tl.float16)`"),
        (PRODUCT, ", dtype=tl.float32)", ")", "tl.zeros needs a dtype"),
        (PRODUCT, DOT, "tl.dot(tl.sum(a, 0), tl.sum(b, 1))", "these are vectors, [16] and [16]"),
        (PRODUCT, DOT, "tl.dot(b, a)", "here `b` is [16, 32] and `a` [64, 16]"),
        (PRODUCT, DOT, "tl.dot(a, b.to(tl.float16))", "`a` is fp32 and `b.to(tl.float16)` fp16"),
        (PRODUCT, DOT, "tl.dot(a, b, acc=tl.zeros([64, 1], tl.float32))", "[64, 32], to `"),
        (PRODUCT, DOT, "tl.dot(a, b, acc=0)", "of shape [64, 32] here, and 0 is a number"),
        (PRODUCT, "mask=in_a", "mask=rm < M", "the addresses are [64, 16] and mask is [64]"),
        (ROW, "tl.sum(e, axis=0)", "tl.sum(e, axis=1)", "one axis, number 0, and tl.sum was asked for"),
        (ROW, "tl.sum(e, axis=0)", "tl.sum(e, dim=0)", "it is called axis= there"),
        (ROW, "tl.sum(e, axis=0)", "tl.sum(m, axis=0)", "`m` is a single number here"),
        (ROW, "tl.exp(x - m)", "tl.exp(tl.max(x, -9.0))", "`tl.maximum(x, -9.0)`"),
        (ROW, "tl.exp(x - m)", "tl.exp(tl.max(x, x - m))", "`tl.maximum(x, x - m)`"),
        (ROW, "tl.max(x, axis=0)", "tl.maximum(x)", "`tl.max(x, axis=0)`"),
        (ROW, "tl.exp(x - m)", "tl.where(mask, x)", "a condition and two values"),
        (ROW, "other=", "default=", "it is called other= there"),
        (ROW, "mask=mask, other=", "other=", "tl.load has other= here and no mask="),
        (ROW, 'other=-float("inf")', 'other="-inf"', '`other=float("-inf")`'),
        (ROW, "p, mask=mask)", "p, mask=mask, other=0.0)", "tl.store has no other="),
        (ROW, "tl.program_id(0)", "tl.program_id(3)", "the axes 0, 1 and 2"),
        (ROW, "tl.program_id(0)", "tl.program_id()", "`tl.program_id(0)`"),
        (ROW, STORE_ROW, "tl.device_print(x)", '`tl.device_print("x ", x)`'),
        (ROW, STORE_ROW, "for k in range(0, columns / BLOCK):\n        x = x + 1", "Divide with //"),
    ],
)  # fmt: skip
def test_sizes_axes_and_arguments_are_asked_for_by_name(base, old, new, words):
    assert words in said(base, (old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (LAUNCH, "(torch.tensor(a), x, y, z, n, x.stride(0)", "a is an address in this kernel"),
        (LAUNCH, "(a, x, y, z, torch.tensor(n), x.stride(0)", "n is an address in this kernel"),
        (LAUNCH, "(x, a, y, z, n, x.stride(0)", "where the kernel needs a tensor"),
        (LAUNCH, "(a, x, y, z, x, x.stride(0)", "tensor of shape [1000] for it"),
        ("add_kernel[grid](", "add_kernel(", "`add_kernel[grid](…)`"),
        (LAUNCH, "(a, x, y, z, x.shape, x.stride(0)", "a tuple for n, (1000,)"),
        (LAUNCH, "(a, x, y, z, [n], x.stride(0)", "n of add_kernel is a list, [1000]"),
        (LAUNCH, "(a, x, y, z, '8', x.stride(0)", "is text, '8'"),
        (LAUNCH, "(a, x, y, z, None, x.stride(0)", "None for n"),
        (LAUNCH, "(a, x, y, z, n, x.stride", "as in x.stride(0)?"),
        (LAUNCH, "(a, x, y, z, np.int64(n), x.stride(0)", "a NumPy number, int64"),
        (LAUNCH, "(a, x.data_ptr(), y, z, n, x.stride(0)", "not x.data_ptr()"),
        (LAUNCH, "(a, 877_792_000, y, z, n, x.stride(0)", "not x.data_ptr()"),
        (LAUNCH, "(a, x, y, z, x.dtype, x.stride(0)", "n of add_kernel is a dtype"),
        ("n = x.numel()", "n = x.shape", "n is a whole shape, (1000,)"),
        ("n = x.numel()", "n = x.numel", "n is the method .numel itself"),
        ("grid = (triton.cdiv(n, BLOCK),)", "grid = n", "kernel[(1000,)](…)"),
        ("(triton.cdiv(n, BLOCK),)", "lambda meta: (meta['SIZE'],)", "no argument of the launch is called"),
        ("@triton.jit\n", "", "is @triton.jit missing above its def?"),
        ("torch.empty_like(y)", "tl.zeros(y.shape, tl.float32)", "Write `torch.zeros` here"),
        ("triton.cdiv(n", "tl.cdiv(n", "Write `triton.cdiv` here"),
        ("torch.empty_like(y)", "tl.load(y)", "Does it belong in the kernel?"),
    ],
)  # fmt: skip
def test_a_launch_that_does_not_fit_is_told_what_it_hands_over(old, new, words):
    assert words in said(VECTOR, (old, new))


HELPER = (
    (
        "@triton.jit\ndef soft",
        "@triton.jit\ndef largest(x):\n    tl.max(x, axis=0)\n\n\n@triton.jit\ndef soft",
    ),
    ("m = tl.max(x, axis=0)", "m = largest(x)"),
)


def test_a_helper_that_was_given_no_address_is_not_advised_to_add_one():
    helper = "@triton.jit\ndef read(at, mask):\n    return tl.load(at, mask=mask)\n\n\n@triton.jit\n"
    changes = (("@triton.jit\n", helper), (LOAD_X, "read(offsets, mask)"))
    words = said(VECTOR, *changes)
    assert "`at` holds plain numbers (int32): no parameter of read holds an address here" in words
    assert "x_ptr" not in words


def test_a_helper_without_return_is_found_by_what_it_gave():
    assert "m is None: `largest(x)` returned nothing" in said(ROW, *HELPER)


@pytest.mark.parametrize(
    ("base", "old", "new", "never"),
    [
        # «'int' object is not iterable», and neither a tile nor an index is to blame
        (ROW, "m = tl.max(x, axis=0)", "m, again = 3", "tile"),
        # «can only convert an array of size 1», of an index that Python wants
        (ROW, "tl.exp(x - m)", "tl.exp((x, m)[x])", "Python's"),
        # the result of Python's own sum over a list of the kernel's is none of our business
        (ROW, "tl.sum(e, axis=0)", "sum([1, 'e'])", "tile"),
        # a KeyError that no grid asked for
        (VECTOR, "n = x.numel()", "n = {'m': 1}['n']", "argument of the launch"),
        # a TypeError in a line with a shape, which is not to blame
        (VECTOR, "torch.empty_like(y)", "torch.empty(x.shape + ('a',))", "is a whole shape"),
        # an axis that comes as an argument, where nobody wants the larger of two
        (ROW, "tl.max(x, axis=0)", "tl.max(x, stride)", "tl.maximum"),
        # a launch may hand over None for what is optional, and something else may be wrong
        (VECTOR, "tl.constexpr):", "tl.constexpr, other=None):\n    y = n[n, other]", "passes None"),
        # an AttributeError of a number of Python
        (ROW, "tl.max(x, axis=0)", "BLOCK.float()", "tile"),
        # a helper of the learner's own that is called like one of Python
        (VECTOR, "n = x.numel()", "n = sum(x.shape, '')", "tl."),
    ],
)  # fmt: skip
def test_the_same_exception_for_another_cause_is_not_explained_so(base, old, new, never):
    assert never not in said(base, (old, new))


def test_an_assert_of_the_learner_s_own_keeps_its_words():
    words = said(ROW, ("m = tl.max(x, axis=0)", 'tl.static_assert(BLOCK == 3, "three, please")\n    m = 0.0'))
    assert words == "assertion failed: three, please"


def test_the_sentence_comes_with_the_line():
    place = raised(VECTOR, (STORE, "z_ptr[offsets] = a * x + y")).place
    assert (place.text.strip(), place.function) == ("z_ptr[offsets] = a * x + y", "add_kernel")


def test_a_kernel_inside_a_function_has_its_columns_counted_from_its_own_indentation():
    inside = (
        "def make():" + "\n    ".join(("\n" + VECTOR.strip()).splitlines()) + "\n    return scaled_add\n\n\n"
    )
    function = function_with_edits(
        inside + "scaled_add = make()\n", ("n = x.numel()", "n = x.shape"), name="scaled_add"
    )
    assert "n is a whole shape, (1000,)" in raised_by(function, "scaled_add").sentence
