// What is wider than its column scrolls, and its edge fades where there is more (site.css): phones show no bar.
// A formula within a line gets a box of its own only where it does not fit.
const boxes = ".wide, .table-wrapper, div.math, pre, div.cell_output, .fl-scroll, .flt-live, .flt-still, .flt-timeline";
const mark = (box) => {
  const left = box.scrollLeft > 2;
  const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 2;
  const more = [left && "left", right && "right"].filter(Boolean).join(" ");
  if (more) box.dataset.more = more;
  else delete box.dataset.more;
};
const observer = new ResizeObserver((seen) => {
  for (const { target } of seen) mark(target.matches(boxes) || target.matches(".math") ? target : target.parentElement);
});
const watched = new WeakSet();
const watch = (box) => {
  if (watched.has(box)) return;
  watched.add(box);
  box.addEventListener("scroll", () => mark(box), { passive: true });
  observer.observe(box);
  if (box.firstElementChild) observer.observe(box.firstElementChild);
};
const article = document.querySelector("article");
for (const box of article?.querySelectorAll(boxes) ?? []) watch(box);

const lines = [...(article?.querySelectorAll("span.math") ?? [])].filter((one) => !one.closest("table"));
const fit = () => {
  for (const formula of lines) {
    formula.classList.remove("is-wide");
    formula.removeAttribute("tabindex");
  }
  const wide = lines.filter((formula) => {
    const block = formula.closest("p, li, dd, figcaption, section");
    return block && formula.getBoundingClientRect().width > block.clientWidth + 1;
  });
  for (const formula of wide) {
    formula.classList.add("is-wide");
    formula.tabIndex = 0;
    formula.setAttribute("role", "group");
    watch(formula);
  }
};
if (lines.length) {
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - width) < 1) return;
    width = contentRect.width;
    fit();
  }).observe(article);
  article.addEventListener("toggle", fit, true); // what is folded has no width
}
