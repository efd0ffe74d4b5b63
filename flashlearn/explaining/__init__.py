"""From outcomes to the one sentence that names the mistake.

`pipeline` lists the stages of the search, `formulas` those for formulas, and `findings` has the kinds of what
they find.
"""

from flashlearn.explaining.diagnosis import diagnose, with_wording

__all__ = ["diagnose", "with_wording"]
