"use strict";
// Tables that are sorted, searched and shown a page at a time; in print, all that is found.
(() => {
  const element = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(element(id).textContent);
  const options = read("options");
  const collator = new Intl.Collator("en", { numeric: true });

  const fixed = (value, decimals) =>
    value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

  function shownText(value, column) {
    if (value === null) return "\u2013";
    if (column.form === "text") return value;
    if (column.form === "truth") return value ? "yes" : "no";
    const power = (digits) => value.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2");
    if (Math.abs(value) >= 1e15) return power(3);
    if (column.form === "error" && value !== 0 && Math.abs(value) < 0.5 * 10 ** -column.decimals) return power(1);
    return column.form === "percent" ? fixed(100 * value, column.decimals) + "%" : fixed(value, column.decimals);
  }

  // One line of a table: `isHead` says which cells are its headings, `link` where these lead.
  function line(rows, row) {
    const found = document.createElement("tr");
    for (const column of rows.columns) {
      const isHead = rows.isHead(column.key);
      const cell = document.createElement(isHead ? "th" : "td");
      const text = shownText(rows.value(column.key, row), column);
      if (isHead) cell.scope = "row";
      if (isHead && text.length <= rows.unbroken) cell.className = "short";
      else if (column.form !== "text") cell.className = "n";
      const link = isHead ? rows.link(row) : "";
      if (link) {
        const anchor = document.createElement("a");
        anchor.href = link;
        anchor.textContent = text;
        cell.append(anchor);
      } else cell.textContent = text;
      found.append(cell);
    }
    return found;
  }

  // What is shown of `rows`, in the table `name`, by controls whose names begin with `prefix`.
  function paged(name, prefix, rows) {
    const control = (id) => element(prefix + id);
    const body = document.querySelector(`#${name} tbody`);
    const heads = document.querySelector(`#${name} thead tr`);
    const state = { key: null, down: false, start: 0, printing: false };
    let everything = [];
    let found = [];

    function compared(column) {
      if (rows.isName(column.key)) return (a, b) => collator.compare(rows.value(column.key, a), rows.value(column.key, b));
      return (a, b) => rows.rank(column.key, a) - rows.rank(column.key, b);
    }

    function find() {
      const words = control("search").value.toLowerCase().split(/[\s\u00d7]+/).filter(Boolean);
      found = everything.filter((row) => rows.passes(row) && words.every((word) => rows.folded(row).includes(word)));
      if (state.key !== null) {
        const column = rows.columns.find((each) => each.key === state.key);
        const ascending = compared(column);
        const isNone = (row) => rows.value(column.key, row) === null;
        // Rows without a value come last, either way; equal ones stay in their order.
        found.sort((a, b) => isNone(a) - isNone(b) || (isNone(a) ? 0 : state.down ? ascending(b, a) : ascending(a, b)) || a - b);
      }
      state.start = 0;
      show();
    }

    function show() {
      const most = state.printing ? options.print : options.page;
      const first = state.printing ? 0 : state.start;
      const shown = found.slice(first, first + most);
      body.replaceChildren(...shown.map((row) => line(rows, row)));
      const range = found.length ? `${fixed(first + 1, 0)} to ${fixed(first + shown.length, 0)} of ` : "";
      control("shown").textContent = rows.caption(range, found.length, everything.length);
      control("status").textContent = found.length ? `${range}${fixed(found.length, 0)}` : "none found";
      control("pages").hidden = found.length <= options.page;
      control("first").disabled = control("previous").disabled = first === 0;
      control("last").disabled = control("next").disabled = first + most >= found.length;
      for (const heading of heads.children) {
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
      const column = rows.columns.find((each) => each.key === key);
      state.down = state.key === key ? !state.down : column.form !== "text";
      state.key = key;
      find();
    }

    function reset() {
      control("search").value = "";
      Object.assign(state, { key: null, down: false });
      find();
    }

    // Begin with other rows, whose headings stand in the table.
    function load(others) {
      rows = others;
      everything = Array.from({ length: rows.count }, (_, row) => row);
      for (const heading of heads.children) {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...heading.childNodes);
        button.addEventListener("click", () => sortBy(heading.dataset.key));
        heading.append(button);
      }
      reset();
    }

    control("search").addEventListener("input", find);
    control("reset").addEventListener("click", reset);
    control("first").addEventListener("click", () => turn(0));
    control("previous").addEventListener("click", () => turn(state.start - options.page));
    control("next").addEventListener("click", () => turn(state.start + options.page));
    control("last").addEventListener("click", () => turn(found.length));
    load(rows);
    return {
      find,
      show,
      load,
      print(printing) {
        state.printing = printing;
        show();
      },
    };
  }

  function errorRows() {
    const { join, parts, columns, values, links } = read("data");
    const total = values.query.length;
    const names = values.query.map((row) => row.split(",").map((part) => parts[part]).join(join));
    const folded = names.map((name) => name.toLowerCase());
    const columnOf = new Map(columns.map((column) => [column.key, column]));
    let scale = 1; // of the errors on the page of a plan, for another budget
    function value(key, row) {
      if (key === "query") return names[row];
      const { typical, times } = columnOf.get(key);
      const held = times ? values.std_err[row] * times : values[key][row];
      if (key === "meets_target" && typeof held === "number") return held >= scale;
      return typical && held !== null ? held * scale : held;
    }
    return {
      count: total,
      scaleTo(other) {
        scale = other;
        for (const column of columns) {
          if (column.typical) column.decimals = Math.max(0, Math.min(8, 2 - Math.floor(Math.log10(column.typical * scale))));
        }
      },
      columns,
      isHead: (key) => key === "query",
      unbroken: 0,
      value,
      rank: value,
      isName: (key) => key === "query",
      folded: (row) => folded[row],
      passes: (row) => element("order").value === "" || values.order[row] === Number(element("order").value),
      link: (row) => (links ? links[row] : ""),
      caption(range, found) {
        const all = found < total ? `, found among ${fixed(total, 0)}` : "";
        return found ? `Tables ${range}${fixed(found, 0)} ${found === 1 ? "table" : "tables"}${all}` : "No table has these words";
      },
    };
  }

  function cellRows(page, table) {
    const axes = table.axes.map((axis) => page.labels[axis]);
    const count = axes.reduce((product, labels) => product * labels.length, 1);
    const steps = axes.map((_, axis) => axes.slice(axis + 1).reduce((product, labels) => product * labels.length, 1));
    const code = (axis, row) => Math.floor(row / steps[axis]) % axes[axis].length;
    const isOfTable = (column) => column.form === "number" || column.form === "error";
    const isLabel = (key) => typeof key === "string" && key.startsWith("axis");
    const axisOf = (key) => Number(key.slice(4));
    const labels = table.heads.map((label, axis) => ({ key: `axis${axis}`, label, form: "text" }));
    const folded = axes.map((each) => each.map((label) => label.toLowerCase()));
    const classified = table.axes.findIndex((axis) => page.levels[axis].length);
    const levels = classified < 0 ? [] : page.levels[table.axes[classified]];
    function value(key, row) {
      if (isLabel(key)) return axes[axisOf(key)][code(axisOf(key), row)];
      const all = table.values[key];
      return Array.isArray(all) ? all[row] : all;
    }
    return {
      count,
      columns: [...labels, ...page.columns.map((each) => (isOfTable(each) ? { ...each, decimals: table.decimals } : each))],
      isHead: isLabel,
      unbroken: Math.floor(options.unbroken / Math.max(1, axes.length)),
      value,
      rank: (key, row) => (isLabel(key) ? code(axisOf(key), row) : value(key, row)),
      isName: (key) => key === "quality",
      folded: (row) => folded.map((each, axis) => each[code(axis, row)]).join("\n"),
      levels: [...new Set(levels)],
      passes: (row) => !levels.length || ["", levels[code(classified, row)]].includes(element("cells-level").value),
      link: () => "",
      caption(range, found) {
        const all = found < count ? `, found among ${fixed(count, 0)}` : "";
        return found ? `${table.name}: ${range}${fixed(found, 0)} ${found === 1 ? "cell" : "cells"}${all}` : "No cell has these words";
      },
    };
  }

  function heading(column) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.dataset.key = column.key;
    if (column.form !== "text") cell.className = "n";
    cell.textContent = column.label;
    return cell;
  }

  // In print: table after table, as long as there is room for whole ones; then how many are left out.
  function printedTables(page) {
    const printed = [];
    let room = options.print;
    let left = 0;
    for (const table of page.tables) {
      const rows = cellRows(page, table);
      room -= rows.count;
      if (room < 0) left += 1;
      else printed.push(printedTable(rows, table.name));
    }
    if (left) {
      const note = document.createElement("p");
      note.textContent = `Not printed here: ${left === 1 ? "1 larger table" : `${fixed(left, 0)} other tables`}, of more rows than there is room for.`;
      printed.push(note);
    }
    return printed;
  }

  function printedTable(rows, name) {
    const table = document.createElement("table");
    table.className = rows.count <= 20 ? "paged unsplit" : "paged"; // short tables are not cut by the end of a page
    const top = document.createElement("th"); // the name is a heading, not a caption: these are not repeated
    top.colSpan = rows.columns.length;
    top.className = "name";
    top.textContent = name;
    table.createTHead().insertRow().append(top);
    table.tHead.insertRow().append(...rows.columns.map(heading));
    table.createTBody().append(...Array.from({ length: rows.count }, (_, row) => line(rows, row)));
    return table;
  }

  const views = [];
  const rows = errorRows();
  const errors = paged("errors", "", rows);
  views.push(errors.print);
  addEventListener("another-budget", (event) => {
    rows.scaleTo(event.detail);
    errors.show();
  });
  element("order").addEventListener("change", errors.find);
  element("reset").addEventListener("click", () => {
    element("order").value = "";
    errors.find();
  });
  const page = read("cells-data");
  if (page.tables.length) {
    const chosen = () => cellRows(page, page.tables[Number(element("cells-table").value)]);
    const heads = document.querySelector("#cells thead tr");
    const headed = (rows) => {
      heads.replaceChildren(...rows.columns.map(heading));
      element("cells-levels").hidden = !rows.levels.length;
      element("cells-level").replaceChildren(...["", ...rows.levels].map((level) => new Option(level || "all", level)));
      return rows;
    };
    const cells = paged("cells", "cells-", headed(chosen()));
    element("cells-table").addEventListener("change", () => cells.load(headed(chosen())));
    element("cells-level").addEventListener("change", cells.find);
    element("cells-reset").addEventListener("click", () => {
      element("cells-level").value = "";
      cells.find();
    });
    views.push((printing) => element("printed").replaceChildren(...(printing ? printedTables(page) : [])));
  }
  const print = (printing) => views.forEach((view) => view(printing));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (query) => print(query.matches));
})();
