"""Pictures for the lessons: matplotlib figures that read well in both JupyterLab themes.

>>> from flashlearn.pictures import tour
>>> tour.programs_over_vector(n=10, block=4)  # doctest: +SKIP

A lesson imports the module that it needs; this package imports nothing by itself.
"""
