const make = (name, classes, text) => {
  const one = document.createElement(name);
  if (classes) one.className = classes;
  if (text !== undefined) one.textContent = text;
  return one;
};
const label = (steps, width) => [steps.join(", "), `${steps[0]} … (${steps.length}×)`, `${steps[0]}`]
  .find(text => 7.2 * text.length <= width) ?? "";

function start(card) {
  const stage = card.querySelector(".flt-stage"), still = card.querySelector(".flt-still");
  if (!stage || stage.childElementCount || !data.steps.length) return;
  const total = data.steps.length;

  const bar = make("div", "flt-bar"), back = make("button", "", "◀"), forth = make("button", "", "▶");
  const slider = make("input"), count = make("span", "flt-count"), said = make("div", "flt-said");
  Object.assign(slider, {type: "range", min: 1, max: total, value: 1, step: 1});
  slider.setAttribute("aria-label", "step of the program");
  back.setAttribute("aria-label", "one step back");
  forth.setAttribute("aria-label", "one step on");
  back.type = forth.type = "button";
  for (const one of [slider, back, forth]) one.setAttribute("data-lm-suppress-shortcuts", "true");  // keys stay here
  bar.append(back, slider, forth, count);
  stage.append(bar, said);

  let tiles = [];
  if (still) {
    const bytes = Uint8Array.from(atob(still.querySelector("img").src.split(",")[1]), c => c.charCodeAt(0));
    const svg = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml").documentElement;
    const live = make("div", "flt-live");
    live.append(document.importNode(svg, true));
    stage.append(live);
    still.hidden = true;
    tiles = [...live.querySelectorAll(".t")].map(place => (
      {place, steps: place.dataset.s.split(",").map(Number), width: +place.dataset.w, text: place.querySelector(".n")}));
  }

  const where = make("div", "fl-place"), code = make("pre", "fl-code flt-code");
  if (data.sources.length) stage.append(where, code);
  let shown = -1, lines = [];
  const open = number => {
    shown = number;
    code.replaceChildren();
    lines = (data.sources[number]?.rows ?? []).map(([first, last, text]) => {
      const row = make("span", "fl-line");
      row.append(make("span", "fl-number", `${first}`.padStart(5) + "  "),
        text === null ? `… to ${last}: part of an exercise; a kernel of your own is shown whole` : text);
      code.append(row);
      return {row, first, last};
    });
  };

  const show = () => {
    const now = +slider.value, [source, line, verb, elements, words] = data.steps[now - 1];
    count.textContent = `step ${now} of ${total}`;
    said.replaceChildren(`${data.sentences[verb]} `, make("b", "", elements), make("br"), data.sentences[words]);
    slider.setAttribute("aria-valuetext", `${count.textContent}: ${data.sentences[verb]} ${elements}`);
    back.disabled = now === 1;
    forth.disabled = now === total;
    for (const {place, steps, width, text} of tiles) {
      const past = steps.filter(step => step <= now);
      place.classList.toggle("was", past.length > 0);
      place.classList.toggle("now", past.at(-1) === now);
      if (text && past.length) text.textContent = label(past, width);
    }
    if (source !== shown && source >= 0) open(source);
    where.textContent = source < 0 ? `line ${line || "unknown"}` : `line ${line} of ${data.sources[source].name}`;
    for (const {row, first, last} of lines) {
      const here = source >= 0 && first <= line && line <= last;
      row.classList.toggle("flt-now", here);
      if (here) code.scrollTop = row.offsetTop - code.offsetTop - code.clientHeight / 2 + row.offsetHeight;
    }
  };
  const move = by => { slider.value = +slider.value + by; show(); };
  slider.addEventListener("input", show);
  back.addEventListener("click", () => move(-1));
  forth.addEventListener("click", () => move(1));
  show();
}
document.querySelectorAll(`[data-trace="${id}"]`).forEach(start);
