"""Mistakes that several lessons name: the sentences are here, the formulas come from the lesson.

>>> mistakes = dq(ways(dq_scan, causal=False))        # a kernel of lesson 07
>>> mistakes = dq(ways(of_one_head))                  # a patient of lesson 10
"""
