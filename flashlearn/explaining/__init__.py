"""From outcomes to the one sentence that names the mistake.

`pipeline` lists the stages of the search, `findings` has the kinds of what they find.
"""

from flashlearn.explaining.pipeline import diagnose, with_wording

__all__ = ["diagnose", "with_wording"]
