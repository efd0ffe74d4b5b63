const make = (name, text) => {
  const one = document.createElement(name);
  if (text !== undefined) one.textContent = text;
  return one;
};

function start(card) {
  const stage = card.querySelector(".fls-stage"), image = card.querySelector("img");
  if (!stage || stage.childElementCount) return;
  card.querySelector(".fls-note").hidden = true;

  const at = [];
  let left = data.start;
  for (let k = data.values.length - 1; k >= 0; k--) {
    at[k] = left % data.values[k].length;
    left = Math.floor(left / data.values[k].length);
  }
  const show = () => {
    const now = data.values.reduce((sum, values, k) => sum * values.length + at[k], 0);
    const [width, height, says, source] = data.frames[now];
    Object.assign(image, {width, height, alt: says, src: `data:image/png;base64,${source}`});
  };
  data.names.forEach((name, k) => {
    const row = make("label"), input = make("input"), value = make("b");
    row.style.cssText = "display: flex; align-items: center; gap: 10px; max-width: 36em; margin: 2px 0;";
    value.style.cssText = "min-width: 5.5em;";
    input.style.cssText = "flex: 1 1 220px; min-width: 160px; margin: 0; accent-color: #3a78c9;";
    Object.assign(input, {type: "range", min: 0, max: data.values[k].length - 1, step: 1, value: at[k]});
    input.setAttribute("aria-label", name);
    input.setAttribute("data-lm-suppress-shortcuts", "true");  // arrow keys move the slider, not the notebook
    const tell = () => {
      value.textContent = `${name} = ${data.values[k][at[k]]}`;
      input.setAttribute("aria-valuetext", value.textContent);
    };
    input.addEventListener("input", () => { at[k] = +input.value; tell(); show(); });
    row.append(value, input);
    stage.append(row);
    tell();
  });
}
document.querySelectorAll(`[data-slider="${id}"]`).forEach(start);
