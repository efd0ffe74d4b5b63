// A button below each stub that can be solved in the page. What it needs is loaded when it is pressed.
import { kept } from "./kept.js";

for (const place of document.querySelectorAll(".solve")) {
  const { answer, passed } = kept(place.dataset.exercise);
  const bar = document.createElement("div");
  bar.className = "solve-bar";
  const start = document.createElement("button");
  start.type = "button";
  start.className = "solve-main";
  start.textContent = answer === undefined ? "Solve it here" : "Go on with your answer";
  const note = document.createElement("span");
  note.className = "solve-note";
  note.textContent = passed ? "✓ Passed in this browser." : `Python runs in this page: ${place.dataset.size} are loaded once.`;
  bar.append(start, note);
  place.append(bar);
  start.addEventListener("click", async () => {
    start.disabled = true;
    note.textContent = "The editor is loading …";
    try {
      const { open } = await import("./exercise.js");
      open(place, bar);
    } catch (error) {
      start.disabled = false;
      note.textContent = `The editor could not be loaded: ${error.message}`;
    }
  });
}
