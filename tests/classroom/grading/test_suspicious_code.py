"""Which texts reach beyond what an answer needs, and that no answer of the corpus does."""

from __future__ import annotations

import pytest

from flashlearn.classroom.grading.suspicious_code import suspicious_uses
from flashlearn.running.answer_source import source_of
from tests.corpus import right_entries, wrong_entries

REACHING = (
    "import gc",
    "import os, torch",
    "from flashlearn.running import observed_run",
    "from torch import _C",
    "import torch.utils._python_dispatch",
    "from triton.runtime.jit import JITFunction",
    "import torch\ntorch.equal = None",
    "import torch as t\nt.library.Library('x', 'DEF')",
    "import torch\nt = torch\nt.equal = None",
    "import torch\nf(torch)",
    "def f(n):\n    np = n\n    return np\ng(np)",
    "def f():\n    import torch\n    torch = torch\n    g(torch)",
    "def f():\n    global np\n    np = np\n    g(np)",
    "def f(np):\n    return lambda: np",
    "def f(x=np):\n    return x",
    "getattr(x, 'a' + 'b')",
    "map(getattr, x, y)",
    "getattr(x, '__class__')",
    "x.__class__.__subclasses__()",
    "exec('x')",
    "try:\n    f()\nexcept ValueError as e:\n    e.__traceback__.tb_frame",
    "class T:\n    def __torch_function__(self): ...",
    "class T(metaclass=M): ...",
    "type('T', (), {})",
    "kernel.run = f",
    "class T:\n    def __init__(self):\n        self.run = 1",
    "import operator\noperator.attrgetter('run')",
    "from operator import attrgetter",
    "import typing\ntyping.get_type_hints(f)",
    "import warnings\nwarnings.sys.modules",
    "import torch\ntorch.nn.functional.handlers['x'] = 1",
    "import numpy as np\nnp.lib.stride_tricks.as_strided(x)",
    "open('x')",
    "import enum\nenum.bltns.setattr(a, 'b', c)",
    "import flashlearn\nflashlearn.running.observed_run",
    "from sympy.external import import_module",
    "import functools\nfunctools.update_wrapper(a, b)",
    "globals()['x'] = 1",
    "__builtins__",
    "with torch.enable_grad(): ...",
    "from torch import set_grad_enabled",
    "torch.inference_mode(False)",
    "torch.autograd.graph.saved_tensors_hooks(f, f)",
    "torch.func.vjp(f, x)",
    "from torch.func import vjp",
    "torch.autograd.functional.vjp(f, x)",
    "from torch import autograd as a\na.functional.vjp(f, x)",
    "from torch.autograd.functional import vjp",
    "match f:\n    case object(__globals__=g):\n        pass",
    "torch.optim.lr_scheduler.types.CodeType(0)",
    "from torch.optim.lr_scheduler import types",
    "import torch.optim.lr_scheduler as s\ns.types.CodeType(0)",
    "getattr(torch.optim.lr_scheduler, 'types')",
    "import numpy.f2py.crackfortran as c",
    "np.f2py.crackfortran.myeval('1')",
    "ctx = torch.no_grad()\nctx.prev = True",
    "ctx = torch.no_grad()\nctx.mode = True",
    "def f(self):\n    self.prev = True",
    "import torch as self\nself.cumsum_of = 1",
    "class P:\n    def put(self):\n        self.a = 1\nP.put(torch.nn.functional)",
    "functools.wraps(New, assigned=('a',))(old)",
    "from torch.utils.checkpoint import CheckpointFunction",
    "import torch.utils.checkpoint as c\nc.CheckpointFunction.backward(x, y)",
    "torch.nn.grad.conv1d_input(s, w, d)",
    "from torch.nn import grad as g\ng.conv1d_input(s, w, d)",
    "F = torch.nn\nF.grad.conv1d_input(s, w, d)",
    "torch.autograd.graph.save_on_cpu()",
    "x = " + "+".join(["1"] * 9000),
    "list(tiles._pairs)",
)
PLAIN = (
    "import torch, triton, math\nimport triton.language as tl\nimport torch.nn.functional as F",
    "from torch.autograd.function import once_differentiable",
    "from flashlearn.kernels.delta import delta_preprocess",
    "from triton.tools.tensor_descriptor import TensorDescriptor",
    "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.alpha = 1",
    "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.weight = 1",
    "@triton.autotune(configs=[triton.Config({})], key=[])\n@triton.jit\ndef f(x): tl.load(x)",
    "one._replace(key=key)._asdict()",
    "class T:\n    def f(self):\n        return self._own",
    "F = torch.nn.functional\nF.relu(x)",
    "from torch.utils.checkpoint import checkpoint",
    "torch.types.Number",
    "x.grad = None\nx.requires_grad = True",
    "def f(n):\n    np = (n + 63) // 64 * 64\n    return g(np)",
    "def kernel(x_ptr, n, np, F):\n    return g(np, F)",
    "table = {}\ntable['x'] = 1\nx[0] = 2",
)


@pytest.mark.parametrize("text", REACHING)
def test_what_could_deceive_an_observer_is_found(text: str):
    assert suspicious_uses(text)


@pytest.mark.parametrize("text", PLAIN)
def test_what_answers_are_made_of_is_let_be(text: str):
    assert suspicious_uses(text) == ()


def test_no_answer_of_the_corpus_reaches_out_but_by_autograd_or_to_keep_numbers_on_a_class():
    for entry in (*right_entries(), *wrong_entries()):
        try:
            text = source_of(entry.function)
        except (OSError, TypeError):
            continue
        reaches_out = "by autograd" in entry.title or "on the class" in entry.title
        if not (reaches_out and entry.names):
            assert suspicious_uses(text) == (), str(entry)
