"""Attention, timed: the course's kernels beside torch's on one GPU, in one run, as a record and as pictures.

    $ flashlearn bench --json h200.json            # on a machine with a GPU
    $ flashlearn bench --show h200.json            # anywhere

`problems` are the shapes, `contestants` the implementations, `validation` tests whether they are right;
`measure` makes a `record`, which `tables` and `plots` show.
"""

from __future__ import annotations

from flashlearn.bench.record import Record, load, shipped

__all__ = ["Record", "load", "shipped"]
