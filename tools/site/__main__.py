"""`python -m tools.site`: the website in build/site, and what its pages weigh.

python -m tools.site                    everything
python -m tools.site --few-pictures     a picture for every third exercise in the gallery: quicker, for tests
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from tools.site import finishing, python_in_page, sources, weights

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Build the site; the exit status of Sphinx, whose warnings are errors."""
    arguments = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__.partition("\n")[0])
    arguments.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where the pages go")
    arguments.add_argument("--few-pictures", action="store_true", help="a picture for every third exercise")
    arguments.add_argument("--address", default="ADDRESS", help="the address that readers clone")
    arguments.add_argument(
        "--modules", type=Path, default=ROOT / "build" / "npm" / "node_modules", help="what npm installed"
    )
    chosen = arguments.parse_args()
    started = time.perf_counter()
    written = ROOT / "build" / "site-source"
    shutil.rmtree(written, ignore_errors=True)
    modules = chosen.modules if python_in_page.is_available(chosen.modules) else None
    if modules is None:
        print("No exercise can be solved in the page: npm installed nothing (make site does it).", flush=True)
    sources.write(ROOT, written, chosen.address, few_pictures=chosen.few_pictures, modules=modules)
    print(f"The sources are written, after {time.perf_counter() - started:.0f} s.", flush=True)
    shutil.rmtree(chosen.out, ignore_errors=True)
    status = _sphinx(written, chosen.out)
    if status == 0:
        finishing.finish(chosen.out)
        print("\n".join(weights.lines(chosen.out)))
        seconds = time.perf_counter() - started
        print(f"{chosen.out} is ready, after {seconds:.0f} s: serve it with any web server.")
    return status


def _sphinx(written: Path, out: Path) -> int:
    from sphinx.cmd.build import main as sphinx  # only this command needs it

    doctrees = ROOT / "build" / "site-doctrees"
    shutil.rmtree(doctrees, ignore_errors=True)
    options = ["-q", "-W", "--keep-going", "-d", doctrees]
    made = sphinx([str(part) for part in ("-b", "html", *options, written, out)])
    for left in (".doctrees", ".buildinfo", "objects.inv"):
        (out / left).unlink(missing_ok=True)
    return made


if __name__ == "__main__":
    sys.exit(main())
