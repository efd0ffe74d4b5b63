"""What a learner sees: an HTML card in Jupyter, text elsewhere, a record in files.

    >>> report = flashlearn.check("softmax_forward", softmax_forward)
    >>> print(report)                        # the same words as the card's
    ✗ Out of bounds   softmax_forward   Softmax, one row per program
    ...

First everything is computed, then it is rendered. A `CheckResult` (`data.py`) is what a check found; a `Card`
(`card.py`) is what is shown of it, each part computed by a module of its own: `verdict`, `evidence`, `cases`,
`times` and so on. `text`, `html` and `record` render a card, and know nothing else. `Report` (`report.py`) is
a result that shows itself.
"""

from __future__ import annotations

from flashlearn.report.report import Report

__all__ = ["Report"]
