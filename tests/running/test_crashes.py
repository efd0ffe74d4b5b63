"""What ended a call, in a sentence."""

from __future__ import annotations

from flashlearn.outcome import Place, Status
from flashlearn.running import crashes
from flashlearn.running.answer import Here
from flashlearn.running.evidence import Raised
from flashlearn.running.run_modes import PlainCall


def endless() -> None:
    while True:
        pass


def test_a_time_limit_says_the_time_that_it_took_by_the_clock():
    stopped = Raised("TimeLimit", "", Status.TIMEOUT, "Still running after 20 s.", Place("cell", 3, "x"))
    assert crashes.with_duration(stopped, 80.4).sentence.startswith(
        "Still running after 80 s, so it was stopped."
    )
    assert "in line 3" in crashes.with_duration(stopped, 80.4).sentence
    evidence = Here(endless).run({}, PlainCall(limit=0.05))
    assert f"after {evidence.seconds:.2g} s" in evidence.raised.sentence


def test_other_ends_say_nothing_of_time():
    crash = Raised("ValueError", "no", Status.CRASHED, "ValueError: no")
    assert crashes.with_duration(crash, 80.4) is crash
