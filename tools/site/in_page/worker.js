// Python in a web worker: it loads Pyodide, sympy and flashlearn from this site, and checks answers one by one.
//
// in:   {kind: "check", name, text}
// out:  {kind: "progress", text} · {kind: "ready"} · {kind: "failed", text} · {kind: "checked", ...}
const file = (name) => new URL(name, self.location.href).href;

// an error of Python's is a whole traceback, and says what happened in its last line
const reason = (error) => String(error?.message ?? error).trim().split("\n").at(-1);

async function fetched(name, options) {
  const response = await fetch(file(name), options);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

const failed = (error) => self.postMessage({ kind: "failed", text: reason(error) });

const bytes = async (name) => new Uint8Array(await (await fetched(name)).arrayBuffer());

async function load() {
  if (typeof WebAssembly !== "object") throw new Error("this browser has no WebAssembly");
  const say = (text) => self.postMessage({ kind: "progress", text });
  say("Python is loading …");
  const archives = Promise.all([bytes("libraries.zip"), bytes("flashlearn.zip")]);
  archives.catch(failed); // at once, not when Python has started
  // where Pyodide cannot fetch this one, it says nothing and never ends
  await fetched("python/pyodide.asm.wasm", { method: "HEAD" });
  const { loadPyodide } = await import(file("python/pyodide.js"));
  const python = await loadPyodide({ indexURL: file("python/") });
  say("sympy is loading …");
  const folder = python.runPython("import site; site.getsitepackages()[0]");
  for (const archive of await archives) python.unpackArchive(archive, "zip", { extractDir: folder });
  const check = python.runPython("import in_page; in_page.check");
  self.postMessage({ kind: "ready" });
  return check;
}

const loaded = load();
loaded.catch(failed);

self.onmessage = async ({ data }) => {
  const check = await loaded;
  try {
    self.postMessage({ kind: "checked", ...JSON.parse(check(data.name, data.text)) });
  } catch (error) {
    failed(error);
  }
};
