"""Kernels whose blocks need more shared memory than they can have: one verdict, one sentence everywhere."""

import contextlib
import dataclasses
import subprocess
import sys

import pytest
import torch
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

from flashlearn.course.answers import solution
from flashlearn.interpreter.cautions import TOO_LARGE
from flashlearn.interpreter.dry_run import planned
from flashlearn.judging import cases, compiled_cases, gpu_fit
from flashlearn.judging.cases import run
from flashlearn.judging.compiled_cases import Unfit, run_compiled, unfit_cautions
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_kernel
from flashlearn.lessons import find
from flashlearn.machine import device
from flashlearn.outcome import Status
from flashlearn.running import compiled_run, fitting
from flashlearn.running.answer import Here
from flashlearn.running.background_compiler import needed_beyond
from flashlearn.running.precompiler import Precompiler

FORWARD = find("flash_forward")
WIDE = next(case for case in FORWARD.cases if case.sizes.get("D") == 136)
SMALL = dataclasses.replace(
    FORWARD,
    cases=(*FORWARD.cases[:2], WIDE),
    timed=dataclasses.replace(FORWARD.timed, case=None),
)
SENTENCE = (
    "In the case S 3 × 5, D 136, a block of flash_forward_kernel needs 336.2 KiB of shared memory. It "
    "can have 227 KiB on sm_90, 163 KiB on sm_80, and 99 KiB on sm_86, sm_89 and sm_120: make BLOCK_Q "
    "(now 64) or BLOCK_K (now 64) smaller, or use fewer stages."
)


def blocks_of_64(q, k, v, alpha):
    return flash_forward(q, k, v, alpha, block=64)


def said(outcomes):
    return [caution.sentence for one in outcomes for caution in one.warnings if caution.kind == TOO_LARGE]


def test_without_a_gpu_a_kernel_that_fits_none_is_right_and_is_told_what_to_change():
    outcomes = run(SMALL, blocks_of_64, compiled=False)
    assert {one.status for one in outcomes} == {Status.PASS}
    assert said(outcomes) == [SENTENCE]


def test_the_courses_own_kernel_is_told_nothing():
    assert said(run(SMALL, solution(FORWARD), compiled=False)) == []


def test_a_wrong_answer_is_told_nothing_of_it():
    def doubled(q, k, v, alpha):
        o, lse = blocks_of_64(q, k, v, alpha)
        lse += 1.0
        return o, lse

    assert said(run(SMALL, doubled, compiled=False)) == []


class OnAGPU(Here):
    """A GPU on which the wide case's launch raises what triton raises."""

    def run(self, inputs, mode):
        if not isinstance(mode, compiled_cases.Compiled):
            return super().run(inputs, mode)
        if inputs["q"].shape[-1] != 136:
            return dataclasses.replace(super().run(inputs, cases.Observed(0)), race=None)
        return compiled_run.run(self._caller(), inputs, mode, self.cache)

    def compiling(self, draws):
        return contextlib.nullcontext()

    def prepared(self, draws, limit):
        return contextlib.nullcontext()


def test_with_a_gpu_the_same_kernel_gets_the_same_sentence_and_what_was_left_out(monkeypatch):
    wide = dataclasses.replace(WIDE, compiled=True)
    exercise = dataclasses.replace(SMALL, cases=(*SMALL.cases[:2], wide))

    def raising(self, *_args, **_kwargs):
        raise OutOfResources(344320, 232448, "shared memory")

    monkeypatch.setattr(compiled_run, "guarded", lambda inputs, _watch: dict(inputs))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    answer = OnAGPU(blocks_of_64, exercise)
    with monkeypatch.context() as patched:
        observed = run(exercise, answer, compiled=False)
        patched.setattr(JITFunction, "run", raising)
        unfit: list[Unfit] = []
        outcomes = run_compiled(dataclasses.replace(exercise, cases=(wide,)), answer, unfit=unfit)
    assert outcomes == [] and [one.case for one in unfit] == [wide]
    assert said(observed) == [SENTENCE]
    known = [caution for one in observed for caution in one.warnings]
    left_out = "The case S 3 × 5, D 136 was not run on this GPU."
    assert [one.sentence for one in unfit_cautions(unfit, known)] == [left_out]
    assert [one.sentence for one in unfit_cautions(unfit)] == [SENTENCE, left_out]


def test_a_launch_that_is_known_not_to_fit_is_refused_without_compiling_it(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        JITFunction,
        "_do_compile",
        lambda self, key, signature, device, constexprs, options, attrs, warmup: compiled.append(key),
    )
    monkeypatch.setattr(device, "shared_per_block", lambda: 232448)
    with Precompiler(1.0, too_large={"as planned": 344320}) as precompiler:
        precompiler._known = precompiler.too_large["as planned"]
        precompiler._submit(flash_forward_kernel, {"key": "large"})  # as a dry run's launch does
    assert precompiler.futures == {} and list(precompiler.unfit.values()) == [344320]
    given = {"signature": {}, "device": 0, "constexprs": {}, "options": {}, "attrs": {}, "warmup": False}
    with precompiler.refusing():
        with pytest.raises(OutOfResources, match="shared memory, Required: 344320, Hardware limit: 232448"):
            JITFunction._do_compile(flash_forward_kernel, key="large", **given)
        JITFunction._do_compile(flash_forward_kernel, key="small", **given)
    assert compiled == ["small"]


def test_before_a_kernel_is_compiled_it_is_known_what_it_needs():
    q = torch.empty(1, 2, 70, 136)
    (launch,) = planned(lambda given: blocks_of_64(*3 * [given["q"]], 0.1), {"q": q}, 20.0)
    assert needed_beyond(227 * device.KIB, launch.specialised, 90) == 344320
    assert needed_beyond(400 * device.KIB, launch.specialised, 90) is None


def test_a_sentence_names_what_differs_between_gpus_and_where_it_is_too_much():
    needed = {80: 42 * 1024, 86: 42 * 1024, 89: 42 * 1024, 90: 104 * 1024, 120: 104 * 1024}
    assert device.shared_memory_sentence(needed, {"BLOCK_M": 128, "num_stages": 1}) == (
        "A block of this kernel needs 104 KiB of shared memory on sm_90 and sm_120, 42 KiB on sm_80, sm_86 "
        "and sm_89. It can have 227 KiB on sm_90, 163 KiB on sm_80, and 99 KiB on sm_86, sm_89 and sm_120, "
        "too little on sm_120: make BLOCK_M (now 128) smaller."
    )


def test_every_case_and_the_timed_one_are_asked_about():
    assert [*FORWARD.cases, FORWARD.timed.case] == list(gpu_fit.cases_of(FORWARD))


def test_what_the_compiler_said_once_is_not_asked_again(monkeypatch):
    monkeypatch.setattr(fitting, "_known", {})
    assert said(run(SMALL, blocks_of_64, compiled=False)) == [SENTENCE]
    assert any(fitting._known.values())
    monkeypatch.setattr(fitting, "beyond", lambda *_: pytest.fail("asked again"))
    assert said(run(SMALL, blocks_of_64, compiled=False)) == [SENTENCE]


def test_shapes_are_drawn_in_the_forked_process_without_importing_torchs_compiler():
    code = (
        "import sys, torch\n"
        "from flashlearn.running import fitting\n"
        "fitting._without_dynamo()\n"
        "x = torch.randn(8, device='meta') * 2.0\n"
        "assert x.shape == (8,) and x.device.type == 'meta'\n"
        "print('torch._dynamo.eval_frame' in sys.modules)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert out.stdout.split() == ["False"]
