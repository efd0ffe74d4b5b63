"""The cell before a lesson's imports: where they would fail, one sentence instead of a traceback.

It is in learners' notebooks only, is no part of the lesson, and is never graded.
"""

IDENTITY = "installed"

TEXT = """\
try:  # is the course installed in the Python that runs this notebook?
    import flashlearn
except ImportError as problem:
    advice = (
        f"{problem}: choose the kernel of the environment in which you installed the course, or install it "
        "here with `%pip install` and the course's wheel (a .whl file), and restart the kernel."
    )
    problem._render_traceback_ = lambda: [advice]
    raise"""
