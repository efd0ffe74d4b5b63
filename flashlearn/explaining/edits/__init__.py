"""Small edits of a wrong answer's own text: does one of them make every wrong case right?

`edit` says what an edit and a kind of edit are, and each kind is declared beside its generator: `accesses`,
`analogy`, `calls`, `comparisons`, `dtypes`, `formulas`, `gluon`, `guards`, `names`, `operators`,
`reductions`, `scalars`, `statements`, `strides`, `wrapped_indices`. `generation` collects the edits,
`ranking` orders them by the odds in `odds.json`, `verification` runs an edited text, and `search` looks for
one that repairs the answer. `naturalness` says whether such an edit need be the mistake, `alternatives` looks
for a more natural one, and `quotation` says what a report quotes.
"""

from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.generation import edits_of

__all__ = ["Edit", "edits_of"]
