// node pack.mjs PYODIDE SOURCE TARGET: the archive SOURCE with its Python files compiled for Pyodide's Python.
// Compiled ahead, sympy is imported in a sixth of the time. Our own files keep their texts, which are read; those of
// libraries leave out what Python's -OO does.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, source, target] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide();
python.FS.writeFile("/source.zip", readFileSync(source));
python.runPython(`
import py_compile, site, warnings, zipfile
from importlib.util import cache_from_source
from pathlib import Path

warnings.simplefilter("ignore")  # those about libraries are not for this site's builder
folder = Path(site.getsitepackages()[0])
with zipfile.ZipFile("/source.zip") as given, zipfile.ZipFile("/target.zip", "w", zipfile.ZIP_DEFLATED) as made:
    given.extractall(folder)
    for name in given.namelist():
        kept = name.startswith("flashlearn/")
        if kept or not name.endswith(".py"):
            made.write(folder / name, name)
        if name.endswith(".py") and not name.endswith("notebook.py"):
            compiled = cache_from_source(name) if kept else f"{name}c"
            py_compile.compile(
                str(folder / name), "/compiled.pyc", dfile=str(folder / name), doraise=True, quiet=2,
                optimize=0 if kept else 2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
            made.write("/compiled.pyc", compiled)
`);
writeFileSync(target, python.FS.readFile("/target.zip"));
