"""An answer tells what happened as plain data, whatever the function does, here and in a child process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import time
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.interpreter.observers.access_recorder import AccessRecorder
from flashlearn.interpreter.observers.assigned_values import ValueRecorder
from flashlearn.interpreter.observers.nan_origin import NanTracker
from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.processes.encoding import decode, encode
from flashlearn.running.answer import Here, answering
from flashlearn.running.compiled_run import recording_launches
from flashlearn.running.evidence import Foreign
from flashlearn.running.launches import RunCache, plain_launch
from flashlearn.running.remote_answer import AnswerForkServer, ChildError, Loader, RemoteAnswer
from flashlearn.running.run_modes import FrontEndCheck, Observed, PlainCall, Traced

ROOT = Path(__file__).parents[2]


@triton.jit
def twice_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = x + x
    tl.store(y_ptr + offsets, y, mask=offsets < n)


def twice(x):
    y = torch.empty_like(x)
    twice_kernel[(triton.cdiv(len(x), 16),)](x, y, len(x), BLOCK=16)
    return y


def strays(x):
    twice_kernel[(9,)](x, torch.empty(1), len(x), BLOCK=16)


def raises(x):
    raise ValueError("no more than three, please")


def gives_itself_back(x):
    x += 1
    return x


def foreign_things(x):
    return (n for n in range(3)), x.to_sparse(), print, {"x": (x, None)}


def ends(x):
    os._exit(3)


def spins(x):
    while True:
        pass


def prints(x):
    print("said by the learner")
    return x + 1


def halves(x):
    return sp.Matrix([[x / 2, sp.sqrt(x)]])


FUNCTIONS = {f.__name__: f for f in (twice, strays, raises, gives_itself_back, foreign_things, ends, spins)}
FUNCTIONS |= {f.__name__: f for f in (prints, halves)}


def function(name):
    return FUNCTIONS[name]


@pytest.fixture(scope="module")
def fork_server():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with AnswerForkServer((f"{__name__}:twice_path",), environment) as fork_server:
        yield fork_server


def twice_path():
    """Called once in the fork_server: this module is imported there."""


def apart(name: str, fork_server: AnswerForkServer) -> RemoteAnswer:
    return RemoteAnswer(Loader(f"{__name__}:function", (name,)), fork_server)


@pytest.fixture(params=["here", "apart"])
def answer(request, fork_server):
    """Both kinds of answers, by the function's name."""
    opened = []

    def make(name: str):
        if request.param == "here":
            return Here(function(name))
        opened.append(apart(name, fork_server))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


X = {"x": torch.arange(20.0)}


def test_outputs_come_with_who_wrote_them(answer):
    evidence = answer("twice").run(X, Observed(seed=1))
    (out,) = evidence.outputs
    assert torch.equal(out.value, 2 * X["x"]) and out.made_by == "" and out.memory_of == ""
    assert out.writers.tolist() == [0] * 16 + [1] * 4
    assert evidence.observation.traffic["x_ptr"].loaded == 80 and evidence.raised is None


def test_a_stray_access_is_an_error_with_its_line(answer):
    error = answer("strays").run(X, Observed()).raised
    assert error.status is Status.OUT_OF_BOUNDS and error.kind == "OutOfBounds"
    assert "tl.store" in error.place.text and error.fault[0] == "store"


def test_an_exception_is_told_with_its_own_words(answer):
    error = answer("raises").run(X, Observed()).raised
    assert (error.kind, error.text) == ("ValueError", "no more than three, please")
    assert "raise ValueError" in error.place.text


def test_an_input_that_was_changed_and_given_back_is_noticed(answer):
    evidence = answer("gives_itself_back").run(X, Observed())
    assert evidence.changed == ("x",) and evidence.outputs[0].memory_of == "x"
    assert torch.equal(X["x"], torch.arange(20.0))


def test_what_is_no_data_is_said_as_such(answer):
    generator, sparse, printer, record = answer("foreign_things").run(X, PlainCall()).returned
    assert isinstance(generator, Foreign) and generator.type == "generator" and generator.iterates
    assert sparse.text == "a sparse tensor" and printer.calls == "routine"
    assert torch.equal(record["x"][0], X["x"])


def test_expressions_are_returned_as_they_are(answer):
    x = sp.Symbol("x", positive=True)
    assert answer("halves").run({"x": x}, PlainCall()).returned == halves(x)


def test_values_of_a_kernel_s_names_can_be_watched_and_replaced(answer):
    one = answer("twice")
    events = one.run(X, Observed(observers=(ValueRecorder(),))).observations[ValueRecorder].events
    assert [event.site.name for event in events if event.program == (1, 0, 0)] == ["offsets", "x", "y", "y"]
    target = next(event for event in events if event.site.name == "y")
    assert target.place.text.strip() == "y = x + x"
    again = one.run(X, Observed(observers=(ValueRecorder({target.number: np.zeros(16)}),)))
    assert torch.equal(again.values[0][:16], torch.zeros(16))


def test_a_trace_is_kept_access_by_access(answer):
    one = answer("twice")
    inputs = ((X["x"],), {})
    launch = one.run(inputs, Traced(program=1)).observations[AccessRecorder].launches[0]
    assert launch.kernel == "twice_kernel" and len(launch.chosen.events) == 2


def test_facts_and_source_are_known_without_a_call(answer):
    one = answer("twice")
    assert one.facts().name == "twice" and one.facts().callable and not one.facts().kernel
    assert one.source().index("def twice_kernel") < one.source().index("def twice(x)")
    assert "cannot be called as twice(x, y)" in one.misfit("twice", ["x", "y"])


def test_evidence_and_its_launches_pickle():
    evidence = Here(twice).run(X, Observed(seed=1, observers=(NanTracker(), ValueRecorder())))
    back = pickle.loads(pickle.dumps(evidence))
    (launch,) = back.observation.launches
    assert launch.kernel is None and launch.job["functions"][0]["name"] == "twice_kernel"
    assert launch.constexprs == {"BLOCK": 16}


def test_memory_that_an_earlier_call_returned_is_recognised():
    buffer = torch.zeros(20)
    one = Here(lambda x: buffer.copy_(x))
    kept = [one.run(X, Observed()).outputs[0].kept for _ in range(2)]
    assert kept == [False, True]


def test_a_child_that_ends_is_a_sentence(fork_server):
    with apart("ends", fork_server) as one:
        error = one.run(X, Observed()).raised
    assert error.status is Status.CRASHED and "ended before" in error.sentence


def test_a_child_that_never_ends_is_stopped(fork_server):
    started = time.monotonic()
    with apart("spins", fork_server) as one:
        assert one.run(X, Observed(limit=0.5)).raised.status is Status.TIMEOUT
    assert time.monotonic() - started < 60


def test_what_a_child_prints_is_no_answer(fork_server):
    with apart("prints", fork_server) as one:
        assert torch.equal(one.run(X, PlainCall()).returned, X["x"] + 1)


def test_a_function_that_cannot_be_loaded_is_said_at_once(fork_server):
    with pytest.raises(ChildError, match="KeyError"):
        apart("no such function", fork_server)


def test_a_fresh_process_answers_as_well():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with RemoteAnswer(Loader(f"{__name__}:function", ("twice",)), environment=environment) as one:
        assert torch.equal(one.run(X, Observed()).values[0], 2 * X["x"])


def test_time_in_a_child_is_counted(fork_server):
    with apart("twice", fork_server) as one:
        one.run(X, Observed())
        assert one.elsewhere > 0
    assert Here(twice).elsewhere == 0


def test_launches_that_are_compiled_can_be_sent_too():
    cache = RunCache()
    with recording_launches() as launches, contextlib.suppress(Exception):
        twice(X["x"])  # without a GPU nothing runs, and the launch is recorded all the same
    (launch,) = [plain_launch(one, cache) for one in launches]
    assert decode(encode(launch)) == launch and launch.job["functions"][0]["name"] == "twice_kernel"


def test_an_object_that_raises_at_every_look_is_still_said():
    class Awkward:
        def __getattribute__(self, name):
            raise RuntimeError("no")

        def __repr__(self):
            raise RuntimeError("no")

    (seen,) = Here(lambda x: (Awkward(),)).run(X, PlainCall()).returned
    assert isinstance(seen, Foreign) and seen.text.startswith("<")


def test_questions_to_a_child_that_is_gone_have_no_answer_and_raise_nothing(fork_server):
    one = apart("twice", fork_server)
    one.close()
    assert one.source() is None and one.misfit("twice", ["x"]) == ""
    assert one.run(X, Observed()).raised.status is Status.CRASHED


def test_a_function_that_looks_like_an_answer_is_a_function():
    def fake(x):
        return None

    real = Here(twice)
    for name in ("facts", "misfit", "source", "run", "prepared", "elsewhere"):
        setattr(fake, name, getattr(real, name))
    assert answering(find("row_sum"), fake) is not fake
    assert not flashlearn.check("row_sum", fake, demo=True).passed


def test_evidence_is_replaced_never_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Here(twice).run(X, Observed()).seconds = 0.0


def uses_a_dictionary(x):
    y = torch.empty_like(x)
    dictionary_kernel[(1,)](x, y, len(x), BLOCK=32)
    return y


@triton.jit
def dictionary_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    held = {"x": tl.load(x_ptr + offsets, mask=offsets < n)}
    tl.store(y_ptr + offsets, held["x"], mask=offsets < n)


FUNCTIONS["uses_a_dictionary"] = uses_a_dictionary


def test_the_front_end_looks_at_what_was_launched_where_the_function_lives(answer):
    one = answer("uses_a_dictionary")
    (launch,) = one.run(X, Observed()).observation.launches
    (refusal,) = one.run({}, FrontEndCheck()).refusals
    assert refusal.variant == launch.variant == 0
    assert refusal.place.text.strip().startswith("held = {")
