"""An answer with one of its mistakes repaired: what is still wrong then is another one.

    >>> repaired = Repaired(answer, texts=((0, text),))
    >>> run_observed(exercise, repaired, case).status

The learner's function does not change: its runs are made with the repair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch

from flashlearn.exercise import Inputs
from flashlearn.outcome import Outcome
from flashlearn.running.answer import Answer, Facts
from flashlearn.running.answer_source import Section
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited, Observed, PlainCall, Rewritten, RunMode

HALF = (torch.float16, torch.bfloat16)

Dtypes = Mapping[tuple[torch.dtype, int], torch.dtype]
"""The dtype that an output, by its number, should have where the inputs have a dtype."""


class Repaired(Answer):
    """An answer with `texts` in place of some sections, and its outputs converted to `dtypes`."""

    def __init__(self, answer: Answer, texts: Sequence[tuple[int, str]] = (), dtypes: Dtypes | None = None):
        self.answer, self.texts, self.dtypes = answer, tuple(texts), dtypes or {}
        self.elsewhere = self.taken = 0.0

    def facts(self) -> Facts:
        return self.answer.facts()

    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        return self.answer.misfit(name, arguments)

    def sections(self) -> tuple[Section, ...]:
        texts = dict(self.texts)
        return tuple(
            replace(one, text=texts.get(i, one.text)) for i, one in enumerate(self.answer.sections())
        )

    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        if isinstance(mode, Edited):
            given = {mode.section, *(number for number, _ in mode.more)}
            mode = replace(mode, more=(*mode.more, *(one for one in self.texts if one[0] not in given)))
        elif self.texts and isinstance(mode, Observed | PlainCall):
            mode = Rewritten(self.texts, mode)
        return self._converted(inputs, self.answer.run(inputs, mode))

    def prepared(self, draws: Sequence[Inputs], limit: float) -> AbstractContextManager[None]:
        return self.answer.prepared(draws, limit)

    def _converted(self, inputs: Inputs, evidence: Evidence) -> Evidence:
        """The evidence with every output in the dtype that it should have."""
        if not self.dtypes or evidence.raised is not None:
            return evidence
        own = _dtype_of(inputs)
        outputs = []
        for i, output in enumerate(evidence.outputs):
            wanted = self.dtypes.get((own, i))
            fits = wanted is None or not isinstance(output.value, torch.Tensor)
            outputs.append(output if fits else replace(output, value=output.value.to(wanted)))
        values = tuple(output.value for output in outputs)
        returned: Any = values if isinstance(evidence.returned, tuple) else values[0]
        return replace(evidence, outputs=tuple(outputs), returned=returned)


def wanted_dtypes(outcomes: Sequence[Outcome]) -> dict[tuple[torch.dtype, int], torch.dtype]:
    """The dtypes that outputs should have and have not."""
    wanted = {}
    for outcome in outcomes:
        for i, check in enumerate(outcome.outputs):
            if check.misfit is not None and check.misfit.what == "dtype":
                wanted[outcome.case.dtype, i] = getattr(torch, str(check.misfit.expected))
    for (own, i), dtype in [*wanted.items()]:  # cases of the other half precision may have stopped
        for other in HALF if own in HALF else ():
            wanted.setdefault((other, i), other if dtype is own else dtype)
    return wanted


def _dtype_of(inputs: Inputs) -> torch.dtype:
    """The dtype that a case has: that of its tensors of half precision, if there are any."""
    found = [x.dtype for x in inputs.values() if isinstance(x, torch.Tensor) and x.is_floating_point()]
    return min(found, key=lambda dtype: dtype.itemsize, default=torch.float32)
