"use strict";
// The error table: sorted, searched and shown a page at a time; in print, all that is found.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const element = (id) => document.getElementById(id);
  const { join, parts, columns, values } = read("data");
  const options = read("options");
  const total = values.query.length;
  const names = values.query.map((row) => row.split(",").map((part) => parts[part]).join(join));
  const folded = names.map((name) => name.toLowerCase());
  const body = document.querySelector("#errors tbody");
  const headings = [...document.querySelectorAll("#errors thead th")];
  const everything = Array.from({ length: total }, (_, row) => row);
  const collator = new Intl.Collator("en", { numeric: true });
  const state = { key: null, down: false, start: 0, printing: false };
  let found = everything;

  const fixed = (value, decimals) =>
    value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

  function text(row, column) {
    const value = column.key === "query" ? names[row] : values[column.key][row];
    if (value === null) return "\u2013";
    if (column.form === "text") return value;
    if (column.form === "truth") return value ? "yes" : "no";
    if (Math.abs(value) >= 1e15) return value.toExponential(3).replace(/e([+-])(\d)$/, "e$10$2");
    return column.form === "percent" ? fixed(100 * value, column.decimals) + "%" : fixed(value, column.decimals);
  }

  function compared(key) {
    if (key === "query") return (a, b) => collator.compare(names[a], names[b]);
    return (a, b) => values[key][a] - values[key][b];
  }

  function find() {
    const words = element("search").value.toLowerCase().split(/[\s\u00d7]+/).filter(Boolean);
    const order = element("order").value;
    found = everything.filter(
      (row) => (order === "" || values.order[row] === Number(order)) && words.every((word) => folded[row].includes(word)),
    );
    if (state.key !== null) {
      const ascending = compared(state.key);
      const isNone = (row) => state.key !== "query" && values[state.key][row] === null;
      // Rows without a value come last, either way; equal ones stay in the plan's order.
      found.sort((a, b) => isNone(a) - isNone(b) || (isNone(a) ? 0 : state.down ? ascending(b, a) : ascending(a, b)) || a - b);
    }
    state.start = 0;
    show();
  }

  function show() {
    const most = state.printing ? options.print : options.page;
    const first = state.printing ? 0 : state.start;
    const shown = found.slice(first, first + most);
    const fragment = document.createDocumentFragment();
    for (const row of shown) {
      const line = document.createElement("tr");
      for (const column of columns) {
        const cell = document.createElement(column.key === "query" ? "th" : "td");
        if (column.key === "query") cell.scope = "row";
        else cell.className = "n";
        cell.textContent = text(row, column);
        line.append(cell);
      }
      fragment.append(line);
    }
    body.replaceChildren(fragment);
    const range = found.length ? `${fixed(first + 1, 0)} to ${fixed(first + shown.length, 0)} of ` : "";
    const of = `${fixed(found.length, 0)} ${found.length === 1 ? "table" : "tables"}`;
    const all = found.length < total ? `, found among ${fixed(total, 0)}` : "";
    element("shown").textContent = found.length ? `Tables ${range}${of}${all}` : "No table has these words";
    element("status").textContent = found.length ? `${range}${fixed(found.length, 0)}` : "none found";
    element("pages").hidden = found.length <= options.page;
    element("first").disabled = element("previous").disabled = first === 0;
    element("last").disabled = element("next").disabled = first + most >= found.length;
    for (const heading of headings) {
      const mine = heading.dataset.key === state.key;
      if (mine) heading.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    }
  }

  function turn(start) {
    state.start = Math.max(0, Math.min(start, Math.floor((found.length - 1) / options.page) * options.page));
    show();
  }

  function sortBy(key) {
    state.down = state.key === key ? !state.down : key !== "query";
    state.key = key;
    find();
  }

  function print(printing) {
    state.printing = printing;
    show();
  }

  for (const heading of headings) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(heading.dataset.key));
    heading.append(button);
  }
  element("search").addEventListener("input", find);
  element("order").addEventListener("change", find);
  element("reset").addEventListener("click", () => {
    element("search").value = element("order").value = "";
    Object.assign(state, { key: null, down: false });
    find();
  });
  element("first").addEventListener("click", () => turn(0));
  element("previous").addEventListener("click", () => turn(state.start - options.page));
  element("next").addEventListener("click", () => turn(state.start + options.page));
  element("last").addEventListener("click", () => turn(found.length));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (query) => print(query.matches));
  find();
})();
