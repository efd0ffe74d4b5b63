"""The observer's verdict beside Triton's concurrency sanitizer's, on right and wrong kernels for Hopper.

    $ python -m tests.kernels.consan                # a table; needs a Hopper GPU
    $ python -m tests.kernels.consan --seconds 600  # patience with each kernel

Each kernel is run three times: observed on the CPU; compiled with Triton's ConSan, which keeps book of every
access to shared memory on the GPU and stops at the first that is not ordered
(`TRITON_INSTRUMENTATION_MODE=consan`); and compiled as it is. Compiled runs have processes of their own: a
failed assertion ends a process's use of the GPU, and what hangs is ended when its time is up.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from flashlearn.machine import device
from tests.interpreter.gluon.mutations import imported, mutations

KERNELS = "flashlearn.kernels.gluon."
FAULTY = (  # what a mutation says, up to where its call begins; the first that fits
    ("tma_copy", "half of the bytes in mbarrier.expect"),
    ("tma_copy", "without mbarrier.wait"),
    ("tma_copy", "without tma.store_wait"),
    ("tma_ring", "without mbarrier.wait"),
    ("tma_ring", "phase 0 always in mbarrier.wait"),
    ("tma_ring", "without mbarrier.expect"),
    ("wgmma_matmul", "without mbarrier.wait"),
    ("wgmma_matmul", "without acc = warpgroup_mma_wait(1"),
    ("wgmma_matmul", "without acc = warpgroup_mma_wait(0"),
    ("wgmma_matmul", "without fence_async_shared"),
    ("specialised_matmul", "without mbarrier.wait(empty"),
    ("specialised_matmul", "without mbarrier.wait(full"),
    ("specialised_matmul", "without acc = warpgroup_mma_wait(1"),
    ("specialised_matmul", "without mbarrier.arrive"),
    ("specialised_matmul", "a count more by 1 in mbarrier.arrive"),
    ("specialised_matmul", "a count more by 1 in mbarrier.init"),
)
RIGHT = (
    "tma_copy",
    "tma_ring",
    "wgmma_matmul",
    "specialised_matmul",
    "fa3_forward",
    "fa3_causal",
    "fa3_backward",
)
WIDTHS = (58, 40, 66, 24)
PLAIN = 90.0  # seconds for what is compiled as it is


@dataclass(frozen=True)
class Subject:
    """A kernel, right (`fault` is empty) or with the first mutation that begins so."""

    kernel: str
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.kernel}: {self.fault or 'as it is'}"

    def module(self, folder: Path) -> ModuleType:
        """The module that has the launcher."""
        found = import_module(KERNELS + self.kernel.replace("fa3_causal", "fa3_forward"))
        if not self.fault:
            return found
        return imported(next(m for m in mutations(found) if m.said.startswith(self.fault)), folder)


SUBJECTS = (*map(Subject, RIGHT), *(Subject(*pair) for pair in FAULTY))


def called(subject: Subject, module: ModuleType, where: str) -> tuple[list[Tensor], list[Tensor]]:
    """What a kernel gives on a ragged problem of a few programs, and what it should."""
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    kernel = subject.kernel
    if kernel.startswith("tma"):
        x = draw(100, 300).to(where)  # small tiles and rings: the sanitizer's compilation takes minutes else
        return [getattr(module, kernel)(x)], [x if kernel == "tma_copy" else x.sum(dim=1)]
    if kernel.endswith("matmul"):
        a, b = draw(200, 520).half().to(where), draw(520, 264).half().to(where)
        smaller = {"wgmma_matmul": ((64, 64, 64), 3), "specialised_matmul": ((128, 64, 64), 2)}[kernel]
        return [getattr(module, kernel)(a, b, *smaller)], [a.float() @ b.float()]
    q, k, v, do = (draw(1, 2, 300, 64).to(torch.bfloat16).to(where) for _ in range(4))
    causal = kernel == "fa3_causal"
    o, lse = import_module(KERNELS + "fa3_forward").fa3_forward(q, k, v, causal)
    exact = [t.detach().float().requires_grad_() for t in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=causal)
    if kernel != "fa3_backward":
        return [o], [want.detach()]
    want.backward(do.float())
    return list(module.fa3_backward(q, k, v, o, do, lse)), [t.grad for t in exact]


def numbers(call: Callable[[], tuple[list[Tensor], list[Tensor]]]) -> str:
    """ "right" or "wrong numbers"."""
    got, want = call()
    near = all(
        torch.allclose(g.float(), w.float(), atol=0.1, rtol=0.02) for g, w in zip(got, want, strict=True)
    )
    return "right" if near else "wrong numbers"


def observed(subject: Subject, folder: Path) -> str:
    """The observer's verdict: right, wrong numbers, or a fault with its lines."""
    module = subject.module(folder)
    try:
        with observing():
            return numbers(lambda: called(subject, module, "cpu"))
    except SyncError as error:
        lines = dict.fromkeys(place.line for place in error.sync.places if place)
        return f"{error.sync.kind}, line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"


def compiled(subject: Subject, sanitized: bool, seconds: float) -> str:
    """What a GPU says: in a process of its own, with the sanitizer or without."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache, "CUDA_LAUNCH_BLOCKING": "1"}
        environment["TRITON_INSTRUMENTATION_MODE"] = "consan" if sanitized else ""
        command = [sys.executable, "-m", "tests.kernels.consan", "--one", str(SUBJECTS.index(subject))]
        try:
            run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"no end within {seconds:g} s"
    return verdict(run.stdout, run.stderr, run.returncode)


def verdict(out: str, err: str, code: int) -> str:
    """A child's words in a few: the sanitizer's assertion with its line, or what it printed or raised."""
    failed = re.search(r"^(?:(\S+?):(\d+): )?.*Assertion [`'](.+?)[`'] failed", err, re.MULTILINE)
    if failed:
        at = f", line {failed[2]}" if failed[2] else ""
        return f"{failed[3].rstrip('.')}{at}"
    said = [line for line in out.splitlines() if line.startswith("{")]
    if said:
        return json.loads(said[-1])["outcome"]
    last = [line for line in err.splitlines() if line.strip()][-1:]
    return f"ended with {code}: {''.join(last)[:120]}"


def one(number: int) -> None:
    """A child: run one kernel on the GPU and print the outcome."""
    import triton

    triton.set_allocator(lambda size, align, stream: torch.zeros(size, dtype=torch.int8, device="cuda"))
    subject = SUBJECTS[number]
    with tempfile.TemporaryDirectory() as folder:
        module = subject.module(Path(folder))
        try:
            outcome = numbers(lambda: called(subject, module, "cuda"))
            torch.cuda.synchronize()
        except Exception as error:  # whatever the compiler or the driver may raise
            outcome = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:100]}"
    print(json.dumps({"outcome": outcome}), flush=True)
    os._exit(0)  # a process whose GPU has failed must not try to tidy up there


def main() -> int:
    """Print the table. 2 if there is no Hopper GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=400.0, help="patience with each kernel")
    parser.add_argument("--beside", type=int, default=12, help="processes beside one another")
    parser.add_argument("--without-gpu", action="store_true", help="the observer's column alone")
    options = parser.parse_args()
    if options.one is not None:
        one(options.one)
    hopper = device.has_gpu() and torch.cuda.get_device_capability()[0] == 9
    if not hopper and not options.without_gpu:
        print("There is no Hopper GPU here: ConSan watches compiled kernels. --without-gpu shows the rest.")
        return 2
    row("kernel", "observed", "ConSan", "compiled as it is")
    with ThreadPoolExecutor(options.beside) as beside, tempfile.TemporaryDirectory() as folder:
        first = sorted(SUBJECTS, key=lambda subject: subject.kernel)  # fa3 compiles longest
        jobs = {
            subject: [
                beside.submit(compiled, subject, True, options.seconds),
                beside.submit(compiled, subject, False, min(options.seconds, PLAIN)),
            ]
            for subject in first
            if hopper
        }
        for subject in SUBJECTS:
            seen = observed(subject, Path(folder))
            row(str(subject), seen, *(job.result() for job in jobs.get(subject, ())))
    return 0


def row(*cells: str) -> None:
    """A line of the table."""
    print(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=False)).rstrip(), flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
