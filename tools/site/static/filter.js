// Filters for tables: a field for words, and a list for each column that has one. The choice is in the address,
// so that a filtered table can be linked to: exercises.html#lesson=06&words=causal
for (const block of document.querySelectorAll(".filterable")) {
  const table = block.querySelector(".wide");
  const rows = [...block.querySelectorAll("tbody tr")];
  const heads = [...block.querySelectorAll("thead th")];
  const form = document.createElement("form");
  form.className = "filters";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "This table");
  const add = (name, label, element) => {
    const field = document.createElement("label");
    field.textContent = label;
    element.name = name;
    field.append(element);
    form.append(field);
    return element;
  };
  const words = document.createElement("input");
  words.type = "search";
  words.placeholder = block.dataset.example;
  add("words", "Words", words);
  const lists = heads.flatMap((head, column) => {
    if (!head.dataset.all) return [];
    const list = document.createElement("select");
    const values = [...new Set(rows.map((row) => row.cells[column].textContent))].sort();
    list.append(new Option(head.dataset.all, ""), ...values.map((value) => new Option(value, value)));
    return [[column, add(head.textContent.toLowerCase(), head.textContent, list)]];
  });
  const count = document.createElement("output");
  form.append(count);
  const nothing = document.createElement("p");
  nothing.className = "filter-empty";
  nothing.hidden = true;
  const all = document.createElement("button");
  all.type = "button";
  all.textContent = "Show all";
  nothing.append("Nothing matches.", all);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, number) => {
      const fits =
        wanted.every((word) => texts[number].includes(word)) &&
        lists.every(([column, list]) => !list.value || row.cells[column].textContent === list.value);
      row.hidden = !fits;
      shown += fits;
    });
    const phrase = words.value.trim().toLowerCase();
    const whole = rows.filter((_, number) => texts[number].includes(phrase)); // these come first
    rows[0]?.parentNode.append(...new Set([...whole, ...rows]));
    count.textContent = `${shown} of ${rows.length}`;
    nothing.hidden = shown > 0;
    table.hidden = shown === 0;
  };
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const field of form.elements) if (asked.has(field.name)) field.value = asked.get(field.name);
  form.addEventListener("input", () => {
    show();
    const chosen = [...new FormData(form)].filter(([, value]) => value);
    history.replaceState(null, "", "#" + new URLSearchParams(chosen));
  });
  all.addEventListener("click", () => {
    for (const field of [words, ...lists.map(([, list]) => list)]) field.value = "";
    form.dispatchEvent(new Event("input"));
    words.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
  block.prepend(form, nothing);
}
