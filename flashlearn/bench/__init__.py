"""Attention, timed: the course's kernels beside torch's on one GPU, in one run, as a record and as pictures.

    $ flashlearn bench --json h200.json            # on a machine with a GPU
    $ flashlearn bench --show h200.json            # anywhere

`problems` are the shapes, `contestants` who computes, `checked` whether they are right; `measure` makes a
`record`, of which `tables` and `plots` show what is in it.
"""

from __future__ import annotations

from flashlearn.bench.record import Record, load, shipped

__all__ = ["Record", "load", "shipped"]
