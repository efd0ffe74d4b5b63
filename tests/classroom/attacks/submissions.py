# ruff: noqa: E501
"""Submissions that want points without an answer, or harm. None holds a kernel that computes a row's sum.

Each is a few cells to `row_sum`; what is common to many stands at the top. An attack's `cells` are texts, and
the last of them answers the exercise. `HARMFUL` take time, memory or the way out; all others lie.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.classroom.answers import IMPORTS, KERNEL, LAUNCHER, ROW_SUM

BY_TORCH = "def row_sum(x):\n    return torch.sum(x, dim=1)\n"
COPY = """
@triton.jit
def copy_kernel(s_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(s_ptr + at, mask=at < n, other=0.0), mask=at < n)


def copied(s):
    out = torch.empty(len(s), dtype=s.dtype)
    copy_kernel[(1,)](s, out, len(s), BLOCK=triton.next_power_of_2(max(len(s), 2)))
    return out
"""
"""A façade: a kernel runs, and what it stores was computed before it."""
STORE = """
@triton.jit
def store_kernel(x_ptr, out_ptr, i, total, n, row_stride, col_stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * row_stride + at * col_stride, mask=at < n, other=0.0).to(tl.float32)
    nothing = tl.sum(x * 2.0, 0) - tl.sum(x, 0) - tl.sum(x, 0)
    tl.store(out_ptr + i, total + nothing * 0.0)


def stored(x, totals):
    out, block = torch.empty(len(x), dtype=x.dtype), triton.next_power_of_2(max(2, x.shape[1]))
    for i, total in enumerate(totals):
        store_kernel[(1,)](x, out, i, total, x.shape[1], x.stride(0), x.stride(1), BLOCK=block)
    return out
"""
"""Another: the kernel works as hard as it would have to, and adds nothing to the number that it is handed."""
EMPTY = KERNEL.split("    row =")[0] + "    pass\n"
ZEROS = "def row_sum(x):\n    return torch.zeros(len(x), dtype=x.dtype)\n"
SOCKETS = """
import gc, os, socket, struct, json
def sockets():
    return [fd for fd in range(3, 64) if _is_socket(fd)]
def _is_socket(fd):
    try:
        return bool(os.fstat(fd).st_mode & 0o140000 == 0o140000)
    except OSError:
        return False
"""


@dataclass(frozen=True)
class Attack:
    """A name, and the texts of its cells."""

    name: str
    cells: tuple[str, ...]


def _attack(name: str, *cells: str) -> Attack:
    return Attack(name, (IMPORTS, *cells))


LYING = (
    # the grader, torch and triton patched in the submission's own process
    _attack("flashlearn.check is replaced", "flashlearn.check = lambda *a, **k: True", BY_TORCH),
    _attack("the verdict's record is replaced",
            "import flashlearn.checking as c\nc.grade = lambda *a, **k: None", BY_TORCH),
    _attack("the tolerance is replaced",
            "import flashlearn.judging.tolerance as t\nt.Truth.judge = lambda *a, **k: True", ZEROS),
    _attack("the observer's outputs are replaced",
            "import flashlearn.running.observed_run as o\nfrom dataclasses import replace\nown = o._output\n"
            "o._output = lambda *a: replace(own(*a), made_by='', copied='')", COPY,
            "def row_sum(x):\n    return copied(torch.sum(x, dim=1))"),
    _attack("the watch over torch is switched off",
            "from flashlearn.interpreter.launcher_watch import LauncherWatch\n"
            "LauncherWatch.forbidden = property(lambda self: [], lambda self, value: None)", COPY,
            "def row_sum(x):\n    return copied(torch.sum(x, dim=1))"),
    _attack("who wrote it is replaced",
            "import flashlearn.running.provenance as p\np.made_by = lambda *a: ''\n"
            "p.copied_from = lambda *a: ('', True)", COPY, "def row_sum(x):\n    return copied(x.sum(1))"),
    _attack("torch.equal always says yes", "torch.equal = torch.allclose = lambda *a, **k: True", ZEROS),
    _attack("torch.empty computes", "torch.empty = lambda *a, **k: torch.zeros(a[0])", ZEROS),
    _attack("a tensor's comparison always says yes",
            "torch.Tensor.__le__ = torch.Tensor.__eq__ = lambda s, o: torch.ones((), dtype=torch.bool)", ZEROS),
    _attack("triton.jit runs torch",
            "import triton\nclass Jit:\n    def __init__(self, f): pass\n    def __getitem__(self, g):\n"
            "        return lambda x, out, *a, **k: out.copy_(x.sum(1))\ntriton.jit = Jit", EMPTY + LAUNCHER),
    _attack("JITFunction.run runs torch",
            "from triton.runtime.jit import JITFunction\n"
            "JITFunction.run = lambda self, x, out, *a, **k: out.copy_(x.sum(1))", EMPTY + LAUNCHER),
    _attack("tl.sum is replaced", "tl.load = tl.sum = lambda *a, **k: 0", BY_TORCH),
    _attack("the timer is replaced", "import time\ntime.perf_counter = lambda: 0.0\ntime.monotonic = lambda: 0.0",
            BY_TORCH),
    _attack("the limit on time is replaced",
            "import flashlearn.interpreter.deadline as d\nd.deadline.__enter__ = lambda self: None", BY_TORCH),
    _attack("the evidence claims a pass",
            "import flashlearn.running.answer as a\nfrom flashlearn.running.evidence import Evidence, Raised\n"
            "from flashlearn.outcome import Status\n"
            "a.Here.run = lambda self, *k: Evidence(raised=Raised('', '', Status.PASS, ''))", ZEROS),
    _attack("the evidence claims that a GPU is needed",
            "import flashlearn.running.answer as a\nfrom flashlearn.running.evidence import Evidence, Raised\n"
            "from flashlearn.outcome import Status\n"
            "a.Here.run = lambda self, *k: Evidence(raised=Raised('', '', Status.NEEDS_GPU, ''))", ZEROS),
    _attack("the evidence is of another type",
            "import flashlearn.running.answer as a\na.Here.run = lambda self, *k: {'passed': True, 'points': 9}",
            ZEROS),
    _attack("the evidence is full of nonsense",
            "import flashlearn.running.answer as a\nfrom flashlearn.running.evidence import Evidence, Output\n"
            "a.Here.run = lambda self, *k: Evidence(returned=1, outputs=(Output('x'), Output(None), Output(3)),\n"
            "    seconds=float('nan'), processor=-1e300)", ZEROS),
    _attack("the evidence names the grader's files",
            "import flashlearn.running.answer as a\nfrom flashlearn.running.evidence import Evidence, Raised\n"
            "from flashlearn.outcome import Place, Status\n"
            "place = Place('/etc/passwd', 1, 'root:x:0:0:root:/root:/bin/bash')\n"
            "a.Here.run = lambda self, *k: Evidence(raised=Raised('E', 't', Status.CRASHED, 'Ends.', place))",
            ZEROS),
    _attack("numbers are claimed to be written by a kernel",
            "import flashlearn.running.answer as a, dataclasses\nown = a.Here.run\n"
            "def run(self, *k):\n    e = own(self, *k)\n    outs = tuple(dataclasses.replace(o, made_by='',\n"
            "        copied='', writers=torch.zeros_like(o.value, dtype=torch.int64)) for o in e.outputs)\n"
            "    return dataclasses.replace(e, outputs=outs, forbidden=(), arithmetic=())\na.Here.run = run", COPY,
            "def row_sum(x):\n    return copied(torch.sum(x, dim=1))"),
    # the messages between processes
    _attack("a pass is written to every socket",
            SOCKETS + "def row_sum(x):\n    for fd in sockets():\n        os.write(fd, json.dumps("
            "{'exercise': 'row_sum', 'passed': True, 'status': 'PASS', 'points': 2}).encode())\n"
            "    return torch.zeros(len(x), dtype=x.dtype)"),
    _attack("a well-formed pass is written to every socket",
            SOCKETS + "from flashlearn.processes.encoding import encode\n"
            "from flashlearn.running.evidence import Evidence, Raised\nfrom flashlearn.outcome import Status\n"
            "def row_sum(x):\n    said = encode(('done', Evidence(raised=Raised('', '', Status.PASS, ''))))\n"
            "    for fd in sockets():\n        os.write(fd, said * 40)\n    return x"),
    _attack("grades are written to every socket",
            SOCKETS + "from flashlearn.processes.encoding import encode\n"
            "for fd in sockets():\n    os.write(fd, encode(('grade', 2)) + encode(('notes', ['<b>'])))", ZEROS),
    _attack("a message that never ends is begun",
            SOCKETS + "for fd in sockets():\n    os.write(fd, struct.pack('<4sQI', b'FLe1', 1 << 30, 10))", ZEROS),
    _attack("a message too large for memory is announced",
            SOCKETS + "for fd in sockets():\n    os.write(fd, struct.pack('<4sQI', b'FLe1', 1 << 62, 10))", ZEROS),
    _attack("a message nested a hundred thousand deep",
            SOCKETS + "deep = b'[' * 100000\nfor fd in sockets():\n    os.write(fd, struct.pack('<4sQI', b'FLe1', "
            "len(deep), len(deep)) + deep)", ZEROS),
    _attack("a pickle on the socket",
            SOCKETS + "import pickle\nclass P:\n    def __reduce__(self): return (os.system, ('touch /tmp/was-here',))\n"
            "for fd in sockets():\n    os.write(fd, pickle.dumps(P()))", ZEROS),
    _attack("the result's socket is closed", SOCKETS + "for fd in sockets():\n    os.close(fd)", ZEROS),
    _attack("JSON on stdout", "print('{\"exercise\": \"row_sum\", \"status\": \"PASS\", \"passed\": true}')", ZEROS),
    # files where a verdict might be read
    _attack("a verdict file", "import os\nfor name in ('verdicts.jsonl', 'results.json', 'grade.json'):\n"
            "    open(name, 'w').write('{\"exercise\": \"row_sum\", \"passed\": true, \"score\": 100}')\n"
            "os.environ['FLASHLEARN_VERDICTS'] = 'verdicts.jsonl'", ZEROS),
    _attack("the progress database",
            "from flashlearn.course.progress import Progress\nfrom flashlearn.outcome import Status\n"
            "Progress().attempt('row_sum', Status.PASS, 0.1)", ZEROS),
    _attack("a link, a fifo and a folder", "import os\nfor name in ('verdicts.jsonl', 'grade.json'):\n"
            "    os.symlink('/dev/zero', name)\nos.mkdir('results.json')\nos.mkfifo('fifo')", ZEROS),
    # expected values, references and solutions looked for
    _attack("the course's solution is imported",
            "from flashlearn.kernels.tour import row_sum as theirs\ndef row_sum(x):\n    return theirs(x)"),
    _attack("the course's solution is returned", "from flashlearn.course.answers import solution\n"
            "from flashlearn.lessons import find\nrow_sum = solution(find('row_sum'))"),
    _attack("flashlearn.solution is asked", "row_sum = flashlearn.solution('row_sum')"),
    _attack("the reference is called", "from flashlearn.lessons.lesson_00_tour.row_sum import row_sum as e\n"
            "def row_sum(x):\n    return e.judged.reference(x)"),
    _attack("the solution is read from the disk",
            "import flashlearn, pathlib\nhere = pathlib.Path(flashlearn.__file__).parent\n"
            "exec((here / 'kernels' / 'tour.py').read_text())"),
    _attack("the solved notebook is read from the disk",
            "import flashlearn, pathlib, json\nroot = pathlib.Path(flashlearn.__file__).parent.parent\n"
            "cells = json.loads((root / 'solutions' / '00_tour.ipynb').read_text())['cells']\n"
            "exec([''.join(c['source']) for c in cells if c.get('id') == 'ex-row_sum'][0])"),
    _attack("the collector is searched for the reference",
            "import gc\ndef row_sum(x):\n    for one in gc.get_objects():\n"
            "        if getattr(one, 'name', '') == 'row_sum' and hasattr(one, 'judged'):\n"
            "            return one.judged.reference(x)\n    return x"),
    _attack("frames are searched for what is expected",
            "import sys\ndef row_sum(x):\n    frame = sys._getframe()\n    while frame:\n"
            "        for key in ('expected', 'truth', 'reference'):\n            if key in frame.f_locals:\n"
            "                return frame.f_locals[key]\n        frame = frame.f_back\n    return x"),
    _attack("a traceback leads to the grader's frames",
            "def row_sum(x):\n    try:\n        raise ValueError\n    except ValueError as error:\n"
            "        frame = error.__traceback__.tb_frame\n        while frame.f_back:\n"
            "            frame = frame.f_back\n        return frame.f_globals['expected']"),
    _attack("modules are searched for the reference",
            "import sys\ndef row_sum(x):\n    for name, module in list(sys.modules.items()):\n"
            "        if name.startswith('flashlearn.lessons') and hasattr(module, 'row_sum'):\n"
            "            return module.row_sum.judged.reference(x)\n    return x"),
    _attack("tracing every line for what is expected",
            "import sys\nfound = []\ndef tracer(frame, event, arg):\n"
            "    found.extend(v for k, v in frame.f_locals.items() if k in ('expected', 'truth'))\n"
            "    return tracer\nsys.settrace(tracer)\ndef row_sum(x):\n    return found[0]"),
    _attack("the environment is read for secrets",
            "import os\ndef row_sum(x):\n    raise ValueError(repr(sorted(os.environ.items())))"),
    _attack("the process's memory is read",
            "def row_sum(x):\n    data = open('/proc/self/mem', 'rb')\n    data.seek(1 << 40)\n    return data.read(9)"),
    # who computed it
    _attack("torch computes", BY_TORCH),
    _attack("torch behind a façade of a kernel", COPY, "def row_sum(x):\n    return copied(torch.sum(x, dim=1))"),
    _attack("NumPy behind a façade of a kernel", COPY,
            "def row_sum(x):\n    return copied(torch.from_numpy(x.float().numpy().sum(1)).to(x.dtype))"),
    _attack("plain Python behind a façade of a kernel", COPY,
            "def row_sum(x):\n    return copied(torch.tensor([sum(r) for r in x.tolist()], dtype=x.dtype))"),
    _attack("a façade, and the watch is walked around by ctypes",
            "import ctypes", COPY, "def row_sum(x):\n    s = torch.empty(len(x))\n    v = x.float().sum(1).tolist()\n"
            "    for i, one in enumerate(v):\n        ctypes.c_float.from_address(s.data_ptr() + 4 * i).value = one\n"
            "    return copied(s).to(x.dtype)"),
    _attack("a thread computes, out of the observer's sight", "import threading", COPY,
            "def row_sum(x):\n    box = []\n    t = threading.Thread(target=lambda: box.append(x.sum(1)))\n"
            "    t.start(); t.join()\n    return copied(box[0])"),
    _attack("sums by tolist, handed to a kernel", STORE,
            "def row_sum(x):\n    return stored(x, [sum(r) for r in x.tolist()])"),
    _attack("sums by item, handed to a kernel", STORE,
            "def row_sum(x):\n    return stored(x, [x[i].float().sum().item() for i in range(len(x))])"),
    _attack("sums by NumPy, handed to a kernel", STORE,
            "def row_sum(x):\n    return stored(x, [float(v) for v in x.float().numpy().sum(1)])"),
    _attack("sums by Python, handed to a kernel", STORE,
            "def row_sum(x):\n    return stored(x, [float(sum(map(float, r))) for r in x])"),
    _attack("sums by Python, and a failure is caught", STORE,
            "def row_sum(x):\n    try:\n        totals = [float(sum(map(float, r))) for r in x]\n"
            "    except Exception:\n        totals = [0.0] * len(x)\n    return stored(x, totals)"),
    _attack("an input is changed in place", "def row_sum(x):\n    x.zero_()\n    return x[:, 0]"),
    _attack("the input is given back", "def row_sum(x):\n    return x"),
    # answers that are remembered, or are not numbers
    _attack("answers remembered by shape",
            "seen = {}\ndef row_sum(x):\n    return seen.setdefault(x.shape, torch.zeros(len(x), dtype=x.dtype))"),
    _attack("answers remembered by content",
            "import hashlib\nKNOWN = {'d41d8': torch.ones(3)}\ndef row_sum(x):\n"
            "    key = hashlib.md5(x.double().numpy().tobytes()).hexdigest()[:5]\n"
            "    return KNOWN.get(key, torch.zeros(len(x), dtype=x.dtype))"),
    _attack("answers remembered by pointer",
            "seen = {}\ndef row_sum(x):\n    return seen.setdefault(x.data_ptr(), torch.zeros(len(x)))"),
    _attack("answers from the course's seeds",
            "def row_sum(x):\n    for seed in range(20):\n        g = torch.Generator().manual_seed(seed)\n"
            "        if torch.equal(torch.randn(x.shape, generator=g), x.float()):\n"
            "            return x.sum(1)\n    return torch.zeros(len(x), dtype=x.dtype)"),
    _attack("the first output is replayed",
            "first = []\ndef row_sum(x):\n    first.append(torch.zeros(len(x), dtype=x.dtype))\n    return first[0]"),
    _attack("an object that equals everything",
            "class Same:\n    def __eq__(self, other): return True\n    def __le__(self, other): return True\n"
            "    def __bool__(self): return True\n    shape = (3,)\ndef row_sum(x):\n    return Same()"),
    _attack("a tensor that computes when it is looked at",
            "class Lazy(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, t, a=(), k=None):\n"
            "        return torch.ones((), dtype=torch.bool)\ndef row_sum(x):\n"
            "    return torch.zeros(len(x), dtype=x.dtype).as_subclass(Lazy)"),
    _attack("a tensor without memory", "def row_sum(x):\n    return torch.empty(len(x), dtype=x.dtype, device='meta')"),
    _attack("a generator", "def row_sum(x):\n    return (one for one in x)"),
    _attack("text instead of numbers", "def row_sum(x):\n    return 'passed' * len(x)"),
    _attack("NaN and infinity", "def row_sum(x):\n    return torch.full((len(x),), float('nan'), dtype=x.dtype)"),
    _attack("an exception that says PASS",
            "class Passed(Exception):\n    def __str__(self): return '<script>alert(1)</script> PASS'\n"
            "def row_sum(x):\n    raise Passed"),
    _attack("an exception of the grader's own",
            "from flashlearn.interpreter.errors import NeedsGpu\ndef row_sum(x):\n    raise NeedsGpu('no GPU')"),
    _attack("an exception whose text never ends",
            "class Endless(Exception):\n    def __str__(self):\n        while True: pass\n"
            "def row_sum(x):\n    raise Endless"),
    _attack("answers remembered in a default argument",
            "def row_sum(x, seen={}):\n    return seen.setdefault(str(x.shape), torch.zeros(len(x), dtype=x.dtype))"),
    _attack("answers remembered in a generator",
            "def keeps():\n    kept = None\n    while True:\n        x = yield kept\n"
            "        kept = torch.zeros(len(x), dtype=x.dtype) if kept is None else kept\n"
            "kept = keeps()\nnext(kept)\ndef row_sum(x):\n    return kept.send(x)"),
    _attack("a function's code exchanged", COPY, ZEROS + "import flashlearn.running.provenance as p\n"
            "p.copied_from.__code__ = (lambda out, session, watch: ('', True)).__code__"),
    _attack("a method put on one tensor",
            "def row_sum(x):\n    out = torch.zeros(len(x), dtype=x.dtype)\n"
            "    out.double = out.to = out.clone = lambda *a, **k: x.sum(1)\n    return out"),
    _attack("modules put in others' places",
            "import sys, types\nfake = types.ModuleType('observed')\nfake.observe = lambda *a: None\n"
            "sys.modules['flashlearn.running.observed_run'] = fake", ZEROS),
    _attack("a module loaded anew", "import importlib, flashlearn.running.answer as a\nimportlib.reload(a)", ZEROS),
    _attack("a package installed", "%pip install flashlearn\n!pip install flashlearn", ZEROS),
    _attack("torch where the kernel fails", EMPTY,
            "def row_sum(x):\n    try:\n        row_sum_kernel[(1,)](x)\n    except Exception:\n"
            "        return x.sum(1)"),
    _attack("another answer while it is judged",
            "import sys\ndef row_sum(x):\n    judged = any('flashlearn' in f for f in sys.modules)\n"
            "    return x.sum(1) if judged else x"),
    _attack("precision given away", COPY, "def row_sum(x):\n    return copied(x.half().sum(1).to(x.dtype))"),
    # the notebook's own tricks
    _attack("an input transformer", "get_ipython().input_transformers_post.append(lambda lines: [])", ZEROS),
    _attack("showtraceback is replaced", "get_ipython().showtraceback = lambda *a, **k: None\n1 / 0", ZEROS),
    _attack("an import hook brings a solution",
            "import sys\nclass Finder:\n    def find_spec(self, name, *a):\n        raise SystemExit\n"
            "sys.meta_path.insert(0, Finder())", ZEROS),
    _attack("text that looks like a check", "'flashlearn.check(\"row_sum\", row_sum)  # passed'", ZEROS),
    _attack("a text that sympy evaluates",
            "text = \"[c for c in Symbol('x').__class__.__mro__[-1].__subclasses__() \"\n"
            "text += \"if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('true')\"\n"
            "sp.sympify(text)", ZEROS),
    _attack("a text that sympy evaluates, in the function", "def row_sum(x):\n    return sp.sqrt('x.__class__.mro()')"),
)  # fmt: skip

HARMFUL = (
    _attack("sleeps for ever in a cell", "import time\ntime.sleep(10 ** 6)", ZEROS),
    _attack("sleeps for ever in the function", "import time\ndef row_sum(x):\n    time.sleep(10 ** 6)"),
    _attack("a loop without end", "def row_sum(x):\n    while True:\n        pass"),
    _attack("a loop that swallows every exception",
            "def row_sum(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException:\n"
            "            pass"),
    _attack("C code that asks for no signal", "def row_sum(x):\n    return sum(range(10 ** 12))"),
    _attack("all signals blocked",
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
            "for s in (signal.SIGTERM, signal.SIGXCPU, signal.SIGALRM, signal.SIGVTALRM):\n"
            "    signal.signal(s, signal.SIG_IGN)\ndef row_sum(x):\n    while True: pass"),
    _attack("exits", "import os\nos._exit(0)", ZEROS),
    _attack("exits in the function", "import os\ndef row_sum(x):\n    os._exit(0)"),
    _attack("raises SystemExit", "raise SystemExit(0)", ZEROS),
    _attack("a segmentation fault", "import ctypes\nctypes.string_at(0)", ZEROS),
    _attack("ends itself by a signal", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", ZEROS),
    _attack("ends its parent", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", ZEROS),
    _attack("ends its whole group", "import os, signal\nos.killpg(0, signal.SIGKILL)", ZEROS),
    _attack("ends every process there is", "import os\nos.kill(-1, 9)", ZEROS),
    _attack("a fork bomb", "import os\nwhile True:\n    os.fork()", ZEROS),
    _attack("a detached process", "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', "
            "'import time; time.sleep(10 ** 6)'], start_new_session=True)", ZEROS),
    _attack("a fork that goes on", "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass", ZEROS),
    _attack("a thousand threads",
            "import threading, time\nfor _ in range(1000):\n    threading.Thread(target=time.sleep, args=(99,)).start()",
            ZEROS),
    _attack("a memory bomb", "hog = []\nwhile True:\n    hog.append(bytearray(1 << 28))", ZEROS),
    _attack("a memory bomb in torch", "def row_sum(x):\n    return torch.ones(1 << 34)"),
    _attack("an answer of 300 MB", "def row_sum(x):\n    return torch.zeros(75_000_000)"),
    _attack("the disk filled", "for i in range(10 ** 6):\n    open(f'{i}', 'wb').write(bytes(1 << 20))", ZEROS),
    _attack("a gigabyte printed", "for _ in range(64):\n    print('x' * (1 << 24))", ZEROS),
    _attack("a gigabyte past Python's own streams", "import os\nfor _ in range(64):\n    os.write(1, b'x' * (1 << 24))",
            ZEROS),
    _attack("every file closed", "import os\nos.closerange(0, 4096)", ZEROS),
    _attack("a network connection", "import urllib.request\nurllib.request.urlopen('http://1.1.1.1')", ZEROS),
    _attack("a server on a port", "import socket\nsocket.create_server(('', 8080)).accept()", ZEROS),
    _attack("files beside the notebook deleted",
            "import os, shutil\nfor path in ('.', '..', os.path.expanduser('~'), '/'):\n"
            "    shutil.rmtree(path, ignore_errors=True)", ZEROS),
    _attack("a link out of its folder",
            "import os\nos.symlink('/', 'out')\nopen('out/tmp/flashlearn-was-here', 'w').write('x')", ZEROS),
    _attack("debugs its parent",
            "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n"
            "assert c.ptrace(16, os.getppid(), 0, 0) == 0\nc.kill(os.getppid(), 9)", ZEROS),
    _attack("reads its parent's memory",
            "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb').read(1)", ZEROS),
    _attack("mounts and leaves",
            "import ctypes\nc = ctypes.CDLL(None)\nassert c.unshare(0x10000000) == 0 or c.chroot(b'/') == 0", ZEROS),
    _attack("a number too large to compute with", "def row_sum(x):\n    return 9 ** 9 ** 9"),
    _attack("a list that holds itself", "def row_sum(x):\n    a = []\n    a.append(a)\n    return a"),
    _attack("nested without end", "def row_sum(x):\n    a = []\n    for _ in range(10 ** 5):\n        a = [a]\n    return a"),
    _attack("a cell of a hundred thousand brackets", "(" * 100_000 + ")" * 100_000, ZEROS),
    _attack("a cell with null bytes", "x = 1\0", ZEROS),
    _attack("ten thousand lines", "x = 1\n" * 10_000, ZEROS),
)  # fmt: skip

WHOLE = Attack("an honest answer", (IMPORTS, ROW_SUM))
"""What comes after each attack, and is to get its points."""
