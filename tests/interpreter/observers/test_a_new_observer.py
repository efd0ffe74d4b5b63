"""A new observer is a class: nothing else knows it, and it works in a session and in a run."""

from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl

from flashlearn.interpreter.observer import Observer
from flashlearn.interpreter.route import observing
from flashlearn.running.answer import Here
from flashlearn.running.run_modes import Observed


@dataclass
class MaskedLanes(Observer):
    """Counts the lanes that masks switch off, by kind of access."""

    count: dict[str, int] = field(default_factory=dict, init=False)

    def on_access(self, access):
        self.count[access.kind] = self.count.get(access.kind, 0) + access.masked_out

    def observation(self):
        return dict(self.count)


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def double(x):
    y = torch.empty_like(x)
    double_kernel[(2,)](x, y, len(x), BLOCK=16)
    return y


def test_a_session_publishes_to_it():
    lanes = MaskedLanes()
    with observing(observers=(lanes,)):
        double(torch.ones(20))
    assert lanes.count == {"load": 12, "store": 12}


def test_each_run_observes_with_a_copy_and_returns_what_it_saw():
    asked, answer = MaskedLanes(), Here(double)
    for _ in range(2):
        evidence = answer.run({"x": torch.ones(20)}, Observed(observers=(asked,)))
        assert evidence.observations == {MaskedLanes: {"load": 12, "store": 12}}
    assert not asked.count


def test_an_event_that_nobody_wants_has_no_subscribers():
    with observing(observers=(MaskedLanes(),)) as (session, _):
        events = session.memory.events
        assert not events.on_result and not events.after_load and len(events.on_access) == 2
