# ruff: noqa: E501
"""Submissions whose numbers are right, and whose kernels did not compute them: torch or Python did.

Each answers `row_sum` with a kernel that works as hard as it would have to, and adds nothing to what it is given.
`SHARES` have torch compute it and hide that from a comparison, `NUMBERS` take the numbers out of tensors in ways
that no list has, `REPLACED` exchange what observes in their own process, and `PLANS` what describes them there.
"""

from __future__ import annotations

from tests.classroom.attacks.submissions import STORE, Attack, _attack

ADD = """
@triton.jit
def add_kernel(x_ptr, a_ptr, b_ptr, out_ptr, n, row_stride, col_stride, BLOCK: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * row_stride + at * col_stride, mask=at < n, other=0.0).to(tl.float32)
    nothing = tl.sum(x * 2.0, 0) - tl.sum(x, 0) - tl.sum(x, 0)
    tl.store(out_ptr + i, tl.load(a_ptr + i) + tl.load(b_ptr + i) + nothing * 0.0)


def added(x, a, b):
    out, block = torch.empty(len(x), dtype=x.dtype), triton.next_power_of_2(max(2, x.shape[1]))
    add_kernel[(len(x),)](x, a.float(), b.float(), out, x.shape[1], x.stride(0), x.stride(1), BLOCK=block)
    return out
"""
"""Adds two vectors, and looks as if it had added a row."""
WORKS = """
@triton.jit
def works_kernel(x_ptr, out_ptr, n, row_stride, col_stride, BLOCK: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * row_stride + at * col_stride, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + i * n + at, x * 2.0 - x + 0.0, mask=at < n)


def passed_through(x):
    out, block = torch.empty(x.shape, dtype=torch.float32), triton.next_power_of_2(max(2, x.shape[1]))
    works_kernel[(len(x),)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=block)
    return out
"""
"""Stores a copy, by arithmetic."""
BY_RANGE = STORE.replace(
    "for i, total in enumerate(totals):\n", "for i in range(len(x)):\n        total = totals[i]\n"
)
PREFIX = "import numpy as np\nimport math, enum, functools, operator\n"


def _shares(name: str, body: str) -> Attack:
    return _attack(name, ADD, "def row_sum(x):\n    s = x.float().sum(1)\n" + body)


def _numbers(name: str, totals: str, first: str = "") -> Attack:
    return _attack(name, PREFIX + first, BY_RANGE, f"def row_sum(x):\n    return stored(x, {totals})")


SHARES = (
    _shares("torch computes, the kernel adds two random shares",
            "    b = torch.randn(s.shape)\n    return added(x, s - b, b)"),
    _shares("the same, turned round twice",
            "    b = torch.randn(s.shape)\n    return added(x, (s - b).flip(0).flip(0), b)"),
    _shares("the same through a larger buffer",
            "    b, a = torch.randn(s.shape), torch.zeros(len(s) * 3)\n    a[::3] = s - b\n    return added(x, a[::3].contiguous(), b)"),
    _shares("a part of each by a random factor", "    r = torch.rand(s.shape)\n    return added(x, s * r, s * (1 - r))"),
    _shares("a share that is rounded off", "    b = s.half().float()\n    return added(x, s - b, b)"),
    _shares("positive and negative parts", "    return added(x, x.float().clamp(min=0).sum(1), x.float().clamp(max=0).sum(1))"),
    _shares("even and odd columns", "    return added(x, x[:, ::2].float().sum(1), x[:, 1::2].float().sum(1))"),
    _shares("bits exchanged between two tensors",
            "    k = torch.randint(0, 2 ** 20, s.shape, dtype=torch.int32)\n    a = (s.view(torch.int32) ^ k)\n"
            "    return added(x, (a ^ k).view(torch.float32), torch.zeros_like(s))"),
    _attack("sums by a running sum", ADD,
            "def row_sum(x):\n    b = torch.randn(len(x))\n    return added(x, x.float().cumsum(1)[:, -1] - b, b)"),
    _attack("sums by a pooling layer", ADD,
            "def row_sum(x):\n    b, n = torch.randn(len(x)), x.shape[1]\n"
            "    return added(x, torch.nn.functional.avg_pool1d(x.float()[:, None].contiguous(), n).flatten() * n - b, b)"),
    _attack("column after column", ADD,
            "def row_sum(x):\n    a, b = torch.zeros(len(x)), torch.randn(len(x))\n    for column in x.float().unbind(1):\n"
            "        a = a + column\n    return added(x, a - b, b)"),
    _attack("a kernel copies, and torch adds up the copy", WORKS,
            "def row_sum(x):\n    return passed_through(x).sum(1).to(x.dtype)"),
    _attack("a kernel copies, torch adds up the copy, and a kernel stores it", ADD + WORKS,
            "def row_sum(x):\n    s, b = passed_through(x).sum(1), torch.randn(len(x))\n    return added(x, s - b, b)"),
)  # fmt: skip
NUMBERS = (
    _numbers("np.asarray", "[float(v) for v in np.asarray(x.float()).sum(1)]"),
    _numbers("np.from_dlpack", "[float(v) for v in np.from_dlpack(x.float()).sum(1)]"),
    _numbers("einsum, element by element", "[functools.reduce(operator.add, [0.0, *map(float, row)]) for row in x.double()]"),
    _numbers("text by %", "[eval_sum('%s' % row.double()) for row in x]",
             "torch.set_printoptions(precision=9, threshold=10 ** 6, linewidth=10 ** 6)\ndef eval_sum(text):\n"
             "    return math.fsum(float(one) for one in text.split('[')[1].split(']')[0].split(','))"),
    _numbers("math.ldexp", "[math.ldexp(row.sum(), 0) for row in x.double()]"),
    _numbers("fsum by another name", "[add(row) for row in x.double()]", "add = math.fsum"),
    _numbers("range of an element", "[range((row.double().sum() * 2 ** 30).long()).stop / 2 ** 30 for row in x]"),
    _numbers("bisection", "[found(s) for s in x.double().sum(1)]",
             "def found(t):\n    low, high = -1e5, 1e5\n    for _ in range(44):\n        half = (low + high) / 2\n"
             "        if torch.ge(t, half):\n            low = half\n        else:\n            high = half\n    return low"),
    _numbers("an array's interface", "[float(sum(memory(row))) for row in x.double()]",
             "def memory(row):\n    return np.frombuffer(bytes(np.array(row)), dtype=np.float64)"),
    _numbers("a complex number", "[complex(v).real for v in x.double().sum(1)]"),
    _numbers("an index", "[operator.index((row.double().sum() * 2 ** 30).long()) / 2 ** 30 for row in x]"),
    _numbers("sorted by a key", "[sum(sorted(map(float, row))) for row in x]"),
    _numbers("a value that is caught on a failure", "totals(x)",
             "def totals(x):\n    try:\n        return [math.fsum(row) for row in x.double()]\n    except Exception:\n        return [0.0] * len(x)"),
    _numbers("statistics", "[statistics.fmean(row.double()) * len(row) for row in x]", "import statistics\n"),
)  # fmt: skip
LIES = (
    "from dataclasses import replace\ndef lie(own):\n    def told(*a, **k):\n"
    "        return replace(own(*a, **k), made_by='', copied='')\n    return told\n"
)
REPLACED = (
    _attack("the observer replaced by enum's builtins", "import enum\n" + LIES
            + "o = flashlearn.running.observed_run\nenum.bltns.setattr(o, '_output', lie(o._output))", ADD,
            "def row_sum(x):\n    return added(x, x.float().sum(1), torch.zeros(len(x)))"),
    _attack("the observer replaced by a module that sympy imports",
            "from sympy.external import import_module\n" + LIES
            + "o = import_module('flashlearn.running.observed_run')\n"
            "b = import_module('builtins')\nb.setattr(o, '_output', lie(o._output))", ADD,
            "def row_sum(x):\n    return added(x, x.float().sum(1), torch.zeros(len(x)))"),
    _attack("the observer replaced by update_wrapper", "import functools\n" + LIES
            + "o = flashlearn.running.observed_run\nclass New: pass\nnew = New()\nnew._output = lie(o._output)\n"
            "functools.update_wrapper(o, new, assigned=('_output',), updated=())", ADD,
            "def row_sum(x):\n    return added(x, x.float().sum(1), torch.zeros(len(x)))"),
    _attack("the watch over torch emptied", "import enum\n"
            "w = flashlearn.interpreter.launcher_watch\nenum.bltns.setattr(w.LauncherWatch, '_follow', lambda *a: None)\n"
            "p = flashlearn.running.provenance\nenum.bltns.setattr(p, 'made_by', lambda *a: '')\n"
            "enum.bltns.setattr(p, 'copied_from', lambda *a: ('', True))", ADD,
            "def row_sum(x):\n    b = torch.randn(len(x))\n    return added(x, torch.mv(x.float(), torch.ones(x.shape[1])) - b, b)"),
)  # fmt: skip
FORGES = "import enum\nP = flashlearn.running.launcher_plan\nC = flashlearn.classroom.sandbox.child\n"
PLANS = (
    _attack("the plan brings the sums of the numbers that it was made with",
            FORGES + "own = P.record\ndef record(caller, inputs, limit):\n    x = inputs['x']\n"
            "    return P.LauncherPlan((P.ConstantTensor(1, x.float().sum(1).to(x.dtype)),), P.TensorRef(1), (), (), (0, 1), 1)\n"
            "enum.bltns.setattr(C, 'record', record)", STORE,
            "def row_sum(x):\n    return stored(x, [float(v) for v in x.float().sum(1)])"),
    _attack("the plan brings sums that were kept from before",
            FORGES + "kept = {}\ndef record(caller, inputs, limit):\n"
            "    return P.LauncherPlan((P.ConstantTensor(1, kept[tuple(inputs['x'].shape)]),), P.TensorRef(1), (), (), (0, 1), 1)\n"
            "enum.bltns.setattr(C, 'record', record)", STORE,
            "def row_sum(x):\n    kept[tuple(x.shape)] = x.float().sum(1).to(x.dtype)\n    return stored(x, [float(v) for v in x.float().sum(1)])"),
    _attack("the plan has torch add up, and says that a kernel did",
            FORGES + "def record(caller, inputs, limit):\n"
            "    return P.LauncherPlan((P.Operation('sum', 'dim_IntList', (P.TensorRef(0), [1]), {}, (1,)),), P.TensorRef(1), (), (), (0, 1), 1)\n"
            "enum.bltns.setattr(C, 'record', record)", STORE,
            "def row_sum(x):\n    return stored(x, [float(v) for v in x.float().sum(1)])"),
    _attack("the plan's kernel is Python",
            FORGES + "own = P.record\ndef record(caller, inputs, limit):\n    plan = own(caller, inputs, limit)\n"
            "    for one in plan.functions:\n        one['source'] = 'def store_kernel(x_ptr, out_ptr, i, total, n, row_stride, col_stride, BLOCK):\\n    import os\\n'\n"
            "    return plan\nenum.bltns.setattr(C, 'record', record)", STORE,
            "def row_sum(x):\n    return stored(x, [float(v) for v in x.float().sum(1)])"),
    _attack("the plan's kernel has another module for its language",
            FORGES + "own = P.record\ndef record(caller, inputs, limit):\n    plan = own(caller, inputs, limit)\n"
            "    for one in plan.functions:\n        one['names']['tl'] = {'module': 'os'}\n"
            "    return plan\nenum.bltns.setattr(C, 'record', record)", STORE,
            "def row_sum(x):\n    return stored(x, [float(v) for v in x.float().sum(1)])"),
    _attack("no plan at all, but a text", FORGES + "enum.bltns.setattr(C, 'record', lambda *a: 'passed')", STORE,
            "def row_sum(x):\n    return stored(x, [float(v) for v in x.float().sum(1)])"),
)  # fmt: skip
IN_PROCESS = (*SHARES, *NUMBERS, *REPLACED, *PLANS)
