// One worker with Python for the whole page. A check that takes too long is ended together with its worker.
let worker; // undefined until Python is asked for, and after an end
let state = { kind: "off", text: "" }; // off, loading, ready, failed
let waiting; // the check that is being answered
let queue = Promise.resolve();
const listeners = new Set();

const PATIENCE = 180; // seconds for loading, on a slow line

export class Stopped extends Error {}

// Calls `listener` with the state, now and whenever it changes.
export function listen(listener) {
  listeners.add(listener);
  listener(state);
}

function become(kind, text = "") {
  state = { kind, text };
  for (const listener of listeners) listener(state);
}

function end(error, kind) {
  worker?.terminate();
  worker = undefined;
  become(kind, error.message);
  waiting?.reject(error);
  waiting = undefined;
}

export const stop = () => end(new Stopped(), "off");

export function start() {
  if (worker) return;
  become("loading", "Python is loading …");
  const failed = (text) => end(new Error(text || "its script could not be read"), "failed");
  try {
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  } catch (error) {
    failed(error.message);
    return;
  }
  const loading = worker;
  setTimeout(() => {
    if (worker === loading && state.kind === "loading") failed(`that took longer than ${PATIENCE} seconds`);
  }, PATIENCE * 1000);
  worker.onerror = (event) => failed(event.message);
  worker.onmessage = ({ data }) => {
    if (data.kind === "progress") become("loading", data.text);
    else if (data.kind === "failed") failed(data.text);
    else if (data.kind === "ready") {
      become("ready");
      waiting?.begin();
    } else {
      waiting?.resolve(data);
      waiting = undefined;
    }
  };
}

// What the worker says of an answer. Stopped after so many seconds of checking, which begin when Python is there.
export function check(name, text, seconds) {
  const one = () => {
    start();
    if (!worker) throw new Error(state.text);
    let timer;
    const answer = new Promise((resolve, reject) => {
      const begin = () => {
        timer = setTimeout(() => end(new Stopped(`${seconds} seconds`), "off"), seconds * 1000);
      };
      waiting = { resolve, reject, begin };
      if (state.kind === "ready") begin();
      worker.postMessage({ kind: "check", name, text });
    });
    return answer.finally(() => clearTimeout(timer));
  };
  return (queue = queue.then(one, one));
}
