"""`python -m flashlearn` is `flashlearn`."""

from flashlearn.cli import app

app(prog_name="flashlearn")
