// Another budget for a plan: the same noise, scaled, so that one number multiplies every error of the page.
(() => {
  const element = (id) => document.getElementById(id);
  const control = (id) => element(`another-${id}`);
  const read = (id) => JSON.parse(element(id).textContent);
  const plan = read("budget-data");
  const rows = read("data");

  // Numbers as Python writes them: with so many decimals, with four digits, and with four digits rounded up.
  const fixed = (value, decimals) =>
    value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

  function short(number) {
    const [digits, power] = number.toExponential(3).split("e");
    if (power >= -4 && power < 4) return String(Number(number.toPrecision(4)));
    return `${Number(digits)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }

  function roundedUp(number) {
    const text = short(number);
    const step = 10 ** (Math.floor(Math.log10(number)) - 3);
    // numbers here are right to 1e-12: what is nearer than that to its digits is meant to be equal
    return Number(text) >= number * (1 - 1e-11) ? text : short((Math.floor(number / step) + 1) * step);
  }

  const numberText = (number) =>
    number < 1e15 && (number >= 1000 || Number.isInteger(number)) ? fixed(number, 0) : short(number);

  // Where a question of a positive number turns from no to yes.
  function crossing(isPast, low, high) {
    for (let step = 0; step < 100 && high > low * (1 + 1e-15); step += 1) {
      const middle = Math.sqrt(low) * Math.sqrt(high);
      if (isPast(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  // The curve of zCDP, eq. (4), in the letters of the manual's page on mathematics.
  const zcdp = {
    epsilon(cost, delta) {
      const [rho, needed] = [cost / 2, -Math.log(delta)];
      const t = crossing((t) => rho * t * t + Math.log1p(t) > needed, 1e-60, 1e60);
      return Math.max(0, rho * (1 + t) + needed / t - Math.log1p(1 / t) - Math.log1p(t) / t);
    },
    cost(epsilon, delta) {
      const needed = -Math.log(delta);
      const isPast = (t) => t * t * (epsilon + Math.log1p(1 / t)) > (2 * t + 1) * (needed - Math.log1p(t));
      const t = crossing(isPast, 1e-60, 1e60);
      return (2 * (t * epsilon + Math.log1p(t) + t * Math.log1p(1 / t) - needed)) / (t * (1 + t));
    },
  };

  // (1 - Phi(x)) / phi(x), by its power series or by Laplace's continued fraction.
  function mills(x) {
    let found = 0;
    if (x >= 2.5) {
      for (let k = 200; k > 0; k -= 1) found = k / (x + found);
      return 1 / (x + found);
    }
    for (let [term, odd] = [x, 1]; Math.abs(term) > 1e-18 * Math.abs(found); term *= (x * x) / odd) {
      found += term;
      odd += 2;
    }
    return Math.sqrt(Math.PI / 2) * Math.exp((x * x) / 2) - found;
  }

  // The curve of continuous noise, eq. (3).
  const gdp = {
    delta(cost, epsilon) {
      const x = epsilon / Math.sqrt(cost) - Math.sqrt(cost) / 2;
      const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
      const right = mills(x + Math.sqrt(cost));
      return x > -5 ? density * (mills(x) - right) : 1 - density * (mills(-x) + right);
    },
    epsilon(cost, delta) {
      if (gdp.delta(cost, 0) <= delta) return 0;
      return crossing((epsilon) => gdp.delta(cost, epsilon) <= delta, 1e-60, zcdp.epsilon(cost, delta));
    },
    cost: (epsilon, delta) => crossing((cost) => gdp.delta(cost, epsilon) > delta, zcdp.cost(epsilon, delta), 1e30),
  };

  const curve = plan.continuous ? gdp : zcdp;
  const costs = { rho: (rho) => 2 * rho, mu: (mu) => mu * mu, epsilon: curve.cost };
  const numbers = { rho: (cost) => cost / 2, mu: Math.sqrt, epsilon: curve.epsilon };

  // Write a text, in which no end of a line stands within a number or a statement.
  function tell(note, text) {
    const parts = text.split(/(\([^ )]+, \S+|(?:delta )?\S*\w-\S+)/).map((part, place) => {
      if (place % 2 === 0) return part;
      return Object.assign(document.createElement("span"), { className: "unbroken", textContent: part });
    });
    note.replaceChildren(...parts);
  }

  // A positive number that was typed, perhaps as a fraction; NaN for anything else.
  function typedNumber(text) {
    if (!/^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(\/\d+)?$/i.test(text)) return NaN;
    const [above, below = "1"] = text.split("/");
    return Number(above) / Number(below);
  }

  function statementOf(notion, text, delta) {
    const number = text.includes("/") ? roundedUp(typedNumber(text)) : text;
    const [words, isForAll] = {
      rho: [`${number}-zCDP`, true],
      mu: [`${number}-GDP`, false],
      epsilon: [`(${number}, ${delta})-DP`, !plan.continuous],
    }[notion];
    return isForAll ? words : `${words} for continuous noise`;
  }

  function lineOf(notion, text, delta, cost) {
    if (notion === "rho") return `budget = { zcdp = "${text}" }`;
    if (!plan.continuous) return `budget = { approx_dp = { epsilon = "${text}", delta = "${delta}" } }`;
    // files are for discrete noise; rho is rounded down
    return `budget = { zcdp = "${((cost / 2) * (1 - 1e-10)).toPrecision(11)}" }`;
  }

  const planned = { cost: plan.cost, statement: plan.statement, line: plan.line };
  let chosen = planned;
  let kept = null;
  const scaleOf = (budget) => (budget === planned ? 1 : Math.sqrt(plan.cost / budget.cost));
  const deltaText = () => control("delta").value.trim();

  // The plan's own budget in the notion that is chosen: as it was stated, or rounded up.
  function plannedText(notion) {
    const isStated = notion === plan.notion && (notion !== "epsilon" || deltaText() === plan.delta);
    return isStated ? plan.number : roundedUp(numbers[notion](plan.cost, typedNumber(deltaText())));
  }

  // Take the budget that stands in the fields, or say what is wrong with it.
  function take() {
    const [notion, text, delta] = [control("notion").value, control("number").value.trim(), deltaText()];
    const isDelta = typedNumber(delta) < 1;
    const cost = isDelta ? costs[notion](typedNumber(text), typedNumber(delta)) : NaN;
    const isNumber = cost > 1e-18 && cost < 1e18;
    control("number").ariaInvalid = String(isDelta && !isNumber);
    control("delta").ariaInvalid = String(!isDelta);
    if (!isDelta || !isNumber) {
      const example = isDelta ? "a budget as a number above 0, such as 0.5, not extremely small or large" : "delta as a number between 0 and 1, such as 1e-9";
      tell(control("status"), `Write ${example}.`);
      return;
    }
    const statement = statementOf(notion, text, delta);
    chosen = text === plannedText(notion) ? planned : { cost, statement, line: lineOf(notion, text, delta, cost) };
    show();
  }

  function write(text) {
    control("number").value = text;
    take();
  }

  // The same budget in the notion and at the delta that are chosen now.
  function restate() {
    const notion = control("notion").value;
    control("name").textContent = notion;
    control("at").hidden = notion !== "epsilon";
    if (!(typedNumber(deltaText()) < 1)) return take();
    if (chosen !== planned) return write(short(numbers[notion](chosen.cost, typedNumber(deltaText()))));
    control("number").value = plannedText(notion);
    return show();
  }

  function slide() {
    const [notion, position] = [control("notion").value, Number(control("slider").value)];
    const number = numbers[notion](plan.cost, typedNumber(deltaText())) * 10 ** (position / 100);
    write(position ? String(Number(number.toPrecision(3))) : plannedText(notion));
  }

  function cell(text, isHead, isNumber) {
    const made = document.createElement(isHead ? "th" : "td");
    if (isHead) made.scope = isNumber ? "col" : "row";
    if (isNumber) made.className = "n";
    made.append(...[text].flat());
    return made;
  }

  function table(caption, heads, lines) {
    const [frame, made] = [document.createElement("div"), document.createElement("table")];
    frame.className = "scroll";
    frame.tabIndex = 0;
    frame.role = "region";
    frame.ariaLabel = caption;
    made.createCaption().textContent = caption;
    made.createTHead().insertRow().append(...heads.map((head, axis) => cell(head, true, axis > 0)));
    made.tHead.rows[0].cells[0].scope = "col";
    const body = made.createTBody();
    for (const line of lines) body.insertRow().append(...line.map((text, axis) => cell(text, axis === 0, axis > 0)));
    frame.append(made);
    return frame;
  }

  const decimalsOf = (scale) =>
    plan.typical ? Math.max(0, Math.min(8, 2 - Math.floor(Math.log10(plan.typical * scale)))) : 0;

  // The plan's budget, the one that was kept, and the one that is chosen, side by side.
  function compared() {
    const [delta, budgets] = [deltaText(), [["Plan", planned]]];
    if (kept) budgets.push(["Kept", kept]);
    if (chosen !== planned && chosen !== kept) budgets.push(["Chosen", chosen]);
    const scales = budgets.map(([, budget]) => scaleOf(budget));
    const each = (name, text) => [name, ...budgets.map(([, budget]) => text(budget))];
    const errors = (name, text) => [name, ...scales.map(text)];
    const lines = [
      each("As stated", (budget) => budget.statement),
      each("rho", (budget) => roundedUp(budget.cost / 2)),
      each(`epsilon at delta ${delta}`, (budget) => roundedUp(curve.epsilon(budget.cost, typedNumber(delta)) || 0)),
      ...(plan.continuous ? [each("mu", (budget) => roundedUp(Math.sqrt(budget.cost)))] : []),
      errors("Typical error", (scale) => numberText(plan.rmse * scale)),
      errors(`Worst margin, ${plan.level}`, (scale) => `\u00b1 ${numberText(plan.worst * scale)}`),
      ...plan.orders.map((name, order) =>
        errors(`Standard error, ${name.replace("0: ", "")}`, (scale) => fixed(plan.spread[order][1] * scale, decimalsOf(scale))),
      ),
    ];
    const caption = "Budgets side by side; the standard errors are those of the median table of each order";
    return table(caption, ["Budget", ...budgets.map(([head]) => head)], lines);
  }

  function percent(part) {
    if (part < 0.001) return "< 0.1%";
    return part > 10 ? "> 1,000%" : `${fixed(100 * part, part < 0.1 ? 1 : 0)}%`;
  }

  // How large the error of a cell is beside its size, and the word for that.
  function variation(error, size) {
    const [, word] = plan.grades.find(([limit]) => limit === null || error / size < limit);
    const grade = document.createElement("span");
    grade.className = "grade";
    grade.textContent = word;
    return [percent(error / size), " ", grade];
  }

  function variations(scale) {
    const lines = plan.orders
      .map((name, order) => [name, plan.counted[order]])
      .filter(([, error]) => error !== null)
      .map(([name, error]) => [name, ...plan.sizes.map((size) => variation(error * scale, size))]);
    const caption = `Coefficient of variation: the standard error of a cell in the median table, beside the size of the cell in ${plan.unit}`;
    return lines.length ? [table(caption, ["Order", ...plan.sizes.map((size) => fixed(size, 0))], lines)] : [];
  }

  const facts = [...document.querySelectorAll(".facts div")].map((fact) => {
    const [value, remark] = [fact.querySelector("strong"), fact.querySelector("span:last-child")];
    return { name: fact.querySelector("dt").textContent, value, remark, as: [[...value.childNodes], [...remark.childNodes]] };
  });

  // The key figures, which return to what they were with the plan's budget.
  function showFacts(scale) {
    for (const { name, value, remark, as } of facts) {
      value.replaceChildren(...as[0]);
      remark.replaceChildren(...as[1]);
      if (chosen === planned) continue;
      if (name === "Privacy budget") {
        value.textContent = chosen.statement;
        remark.textContent = `chosen below, in place of ${plan.statement}`;
      }
      if (name === "Typical error") value.textContent = numberText(plan.rmse * scale);
      if (name === "Worst margin") value.textContent = `\u00b1 ${numberText(plan.worst * scale)}`;
      if (name === "Targets met") {
        const room = rows.values.meets_target.filter((each) => each !== null);
        const all = value.textContent.split(" of ")[1];
        value.textContent = all === fixed(room.length, 0) ? `${fixed(room.filter((each) => each >= scale).length, 0)} of ${all}` : "\u2013";
      }
    }
  }

  function showOrders(scale) {
    const lines = document.querySelectorAll("#workload table")[0].tBodies[0].rows;
    plan.spread.forEach((errors, order) =>
      errors.forEach((error, place) => (lines[order].cells[3 + place].textContent = fixed(error * scale, decimalsOf(scale)))),
    );
  }

  function showNotes() {
    for (const note of document.querySelectorAll(".as-planned, .as-chosen")) {
      note.hidden = chosen === planned;
      const isPlanned = note.matches(".as-planned");
      tell(note, isPlanned ? `As planned, for ${plan.statement}, not for ${chosen.statement}.` : `Errors for ${chosen.statement}, the budget that was chosen in place of ${plan.statement}.`);
    }
  }

  // Everything on the page that depends on the budget.
  function show() {
    const scale = scaleOf(chosen);
    const [times, factor] = [short(chosen.cost / plan.cost), short(scale)];
    const told = `Chosen: ${chosen.statement}. It allows ${times} times the privacy cost of the plan, ${plan.statement}; errors are ${factor} times as large.`;
    tell(control("status"), chosen === planned ? `The budget of the plan: ${plan.statement}.` : told);
    const epsilon = curve.epsilon(chosen.cost, Number(plan.caution.delta));
    control("caution").hidden = epsilon <= plan.caution.epsilon;
    tell(control("caution"), `Caution: ${plan.caution.words.replace("{}", roundedUp(epsilon))}`);
    const [notion, delta] = [control("notion").value, typedNumber(deltaText())];
    const position = chosen === planned ? 0 : 100 * Math.log10(numbers[notion](chosen.cost, delta) / numbers[notion](plan.cost, delta));
    control("slider").value = Math.round(position);
    control("slider").setAttribute("aria-valuetext", chosen.statement);
    control("keep").disabled = chosen === planned || chosen === kept;
    control("line").value = chosen.line;
    control("copied").textContent = "";
    control("errors").replaceChildren(compared(), ...variations(scale));
    showFacts(scale);
    showOrders(scale);
    showNotes();
    dispatchEvent(new CustomEvent("another-budget", { detail: scale }));
  }

  function reset() {
    kept = null;
    chosen = planned;
    control("found").hidden = true;
    control("notion").value = plan.notion;
    control("delta").value = plan.delta;
    for (const id of ["number", "delta"]) control(id).ariaInvalid = "false";
    restate();
  }

  const names = rows.values.query.map((row) => row.split(",").map((part) => rows.parts[part]).join(rows.join));
  const folded = names.map((name) => name.toLowerCase());

  // The first tables that have all of the words that were typed, before all the one of that name.
  function found(most) {
    const typed = control("table").value.toLowerCase().trim();
    const words = typed.split(/[\s\u00d7]+/).filter(Boolean);
    const tables = [];
    if (folded.includes(typed)) tables.push(folded.indexOf(typed));
    for (let row = 0; row < names.length && tables.length < most; row += 1) {
      if (row !== tables[0] && words.every((word) => folded[row].includes(word))) tables.push(row);
    }
    return tables;
  }

  function offer() {
    const options = found(50).map((row) => Object.assign(document.createElement("option"), { value: names[row] }));
    control("tables").replaceChildren(...options);
  }

  // The least budget, rounded up, for which no margin of a table is above what was typed.
  function find() {
    const [wanted, row] = [typedNumber(control("margin").value.trim()), found(1)[0]];
    function say(text) {
      tell(control("found"), text);
      control("found").hidden = false;
    }
    if (!(wanted > 0)) return say("Write the margin as a number above 0, such as 50.");
    if (row === undefined) return say("No table has these words.");
    const column = rows.columns.find((each) => each.key === "worst") ?? rows.columns.find((each) => each.key === "moe");
    const margin = column.times ? rows.values.std_err[row] * column.times : rows.values[column.key][row];
    const [notion, delta] = [control("notion").value, typedNumber(deltaText())];
    const number = roundedUp(numbers[notion](plan.cost * (margin / wanted) ** 2, delta));
    write(number);
    return say(`${names[row]}: a ${plan.level} margin of at most ${numberText(wanted)} in every cell needs ${notion} = ${number}${notion === "epsilon" ? ` at delta ${deltaText()}` : ""}.`);
  }

  async function copy() {
    control("line").select();
    try {
      await navigator.clipboard.writeText(control("line").value);
      control("copied").textContent = "Copied";
    } catch {
      control("copied").textContent = "Selected; copy it with your keyboard";
    }
  }

  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
  control("notion").addEventListener("change", restate);
  control("number").addEventListener("input", take);
  control("delta").addEventListener("input", () => (chosen === planned && plan.notion !== "epsilon" ? restate() : take()));
  control("slider").addEventListener("input", slide);
  control("reset").addEventListener("click", reset);
  control("table").addEventListener("input", offer);
  control("find").addEventListener("click", find);
  for (const id of ["margin", "table"]) {
    control(id).addEventListener("keydown", (event) => event.key === "Enter" && find());
  }
  control("keep").addEventListener("click", () => {
    kept = chosen;
    show();
  });
  control("copy").addEventListener("click", copy);
  offer();
  reset();
})();
