// Filters and tables of the scoreboard; the address keeps the filters. scoreboard_rows.js has NAMES and ROWS.
(() => {
  const FILTERS = [["class", "Kind of draft"], ["engine", "Engine"], ["basis", "Basis"], ["gpu", "GPU"], ["source", "Source"]];
  const DEPLOYMENT = ["source", "gpu", "engine", "target", "draft"];
  const MOST = 100;
  const at = (id) => document.getElementById(`scoreboard-${id}`);
  const error = (row) => row.predicted / row.measured - 1;
  const covered = (row) => row.low <= row.measured && row.measured <= row.high;
  const percent = (share, sign) => `${sign && share >= 0 ? "+" : ""}${(100 * share).toFixed(1)} %`;
  const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const all = ROWS.map((values) => Object.fromEntries(NAMES.map((name, index) => [name, values[index]])));
  const state = new URLSearchParams(location.search);
  // An address may spell a name in other cases: engine=vLLM.
  FILTERS.forEach(([key]) => {
    const named = all.find((row) => row[key].toLowerCase() === state.get(key)?.toLowerCase());
    if (named) state.set(key, named[key]);
  });

  const element = (name, text, attributes = {}) => {
    const made = Object.assign(document.createElement(name), attributes);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const table = (heads, rows) => {
    const made = element("table");
    const head = made.createTHead().insertRow();
    heads.forEach((text) => head.append(element("th", text, { scope: "col" })));
    const body = made.createTBody();
    rows.forEach((cells) => {
      const line = body.insertRow();
      cells.forEach((text) => line.append(element("td", text)));
    });
    return made;
  };

  const matching = (except) => all.filter((row) =>
    FILTERS.every(([key]) => key === except || !state.get(key) || row[key] === state.get(key)));

  const group = (rows, key) => {
    const groups = new Map();
    rows.forEach((row) => groups.set(row[key], [...(groups.get(row[key]) ?? []), row]));
    return [...groups].sort(([a], [b]) => a.localeCompare(b));
  };

  const scores = (rows) => [
    String(rows.length), String(new Set(rows.map((row) => row.source)).size),
    percent(mean(rows.map((row) => Math.abs(error(row))))), percent(mean(rows.map(error)), true),
    percent(mean(rows.map((row) => Number(covered(row))))),
  ];

  const cells = (row) => [
    percent(error(row), true), row.measured.toFixed(2), `${row.predicted.toFixed(2)} [${row.low.toFixed(2)}, ${row.high.toFixed(2)}]`,
    String(row.gamma), String(row.batch ?? ""), row.length?.toFixed(2) ?? "", row.gpu + (row.tp ? ` × ${row.tp}` : ""), row.class,
    row.target, row.source, `${row.engine} ${row.version}`.trim(), row.basis,
  ];
  const HEADS = ["error", "measured", "predicted [90 %]", "K", "batch", "length", "GPU", "draft", "target", "source", "engine", "basis"];

  function choose(key, value) {
    if (value) state.set(key, value); else state.delete(key);
    const query = state.toString();
    history.replaceState(null, "", query ? `?${query}` : location.pathname);
    draw();
  }

  function drawFilters() {
    at("filters").replaceChildren(...FILTERS.map(([key, title]) => {
      const label = element("label", `${title} `), select = element("select", undefined, { name: key });
      const groups = group(matching(key), key), chosen = state.get(key) ?? "";
      if (chosen && !groups.some(([name]) => name === chosen)) groups.push([chosen, []]);
      select.append(element("option", "all", { value: "" }));
      groups.forEach(([name, rows]) =>
        select.append(element("option", `${name} (${rows.length})`, { value: name })));
      select.value = chosen;
      select.addEventListener("change", () => choose(key, select.value));
      label.append(select);
      return label;
    }));
  }

  function draw() {
    const rows = matching();
    drawFilters();
    if (!rows.length) {
      at("summary").textContent = "No row has all of this: choose \"all\" in a filter.";
      ["classes", "worst", "rows"].forEach((id) => at(id).replaceChildren());
      return;
    }
    const [count, sources, mean, bias, inside] = scores(rows), half = percent(middle(rows.map((row) => Math.abs(error(row)))));
    at("summary").textContent = `${count} rows of ${sources} ${sources === "1" ? "source" : "sources"}: half within ${half}, ${mean} off on average, bias ${bias}, ${inside} covered.`;
    const classes = FILTERS.slice(0, 4).flatMap(([key, title]) =>
      group(rows, key).map(([name, some]) => [`${title}: ${name}`, ...scores(some)]));
    at("classes").replaceChildren(table(["class", "rows", "sources", "mean error", "bias", "covered"], classes));
    const off = (row) => Math.abs(Math.log(row.predicted / row.measured));
    const deployment = (row) => DEPLOYMENT.map((name) => row[name]).join("|");
    const seen = new Set();
    const worst = [...rows].sort((a, b) => off(b) - off(a)).filter((row) => !seen.has(deployment(row)) && seen.add(deployment(row)));
    at("worst").replaceChildren(table(HEADS, worst.slice(0, 10).map(cells)));
    const shown = rows.length > MOST ? [element("p", `The first ${MOST} of ${rows.length} rows; choose a filter to see others.`)] : [];
    at("rows").replaceChildren(...shown, table(HEADS, rows.slice(0, MOST).map(cells)));
  }

  draw();
})();
