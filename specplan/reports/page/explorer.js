/** Returns the two grid points around a value, and the share of the second. */
function around(values, value) {
  const next = values.findIndex((each) => each >= value), upper = next < 0 ? values.length - 1 : next;
  if (values[upper] === value || upper === 0) return [upper, upper, 0];
  return [upper - 1, upper, (value - values[upper - 1]) / (values[upper] - values[upper - 1])];
}

/** Returns the speed-up of each draft length: times between grid points are interpolated. */
function interpolated(grid, settings) {
  const places = grid.axes.map((axis) => around(axis.values, settings[axis.key]));
  return grid.gammas.map((_, k) => {
    let time = 0;
    for (let corner = 0; corner < 2 ** places.length; corner++) {
      let weight = 1, at = 0;
      places.forEach(([lower, upper, share], i) => {
        const up = (corner >> i) & 1;
        weight *= up ? share : 1 - share;
        at = at * grid.axes[i].values.length + (up ? upper : lower);
      });
      if (weight > 0) time += weight / grid.speed_up[at * grid.gammas.length + k];
    }
    return 1 / time;
  });
}

/** Returns the fastest of the draft lengths that the table advises around these settings. */
function lookedUp(grid, settings, factors) {
  const values = grid.axes.map((axis) => axis.advised ?? axis.values);
  const places = grid.axes.map((axis, i) => around(values[i], settings[axis.key]));
  let best = 0, most = -1;
  for (let corner = 0; corner < 2 ** places.length; corner++) {
    const at = places.reduce((place, [lower, upper], i) => place * values[i].length + ((corner >> i) & 1 ? upper : lower), 0);
    const k = grid.advised[at], factor = k === 0 ? 1 : factors[k - 1];
    if (factor > most) [best, most] = [k, factor];
  }
  return best;
}

/** Shows the values of a table at the places of its sliders, and lines along the first slider. */
function lookUp(grid, settings, field, figure) {
  const at = (axes, first) => axes.reduce((place, axis, i) => place * axis.values.length + (i === 0 ? first : settings[axis.key]), 0);
  const here = settings[grid.axes[0].key];
  for (const output of grid.outputs) {
    field(output.key).value = output.values[at(grid.axes.slice(0, output.axes), here)];
    keepWhole(field(output.key));
  }
  const series = grid.lines.map(({ name, values }, colour) => ({ name, colour, mark: "line", points: grid.along.map((x, i) => ({ x, y: values[at(grid.axes, i)], low: null, high: null })) }));
  const marks = series.slice(0, 1).map(({ points }) => [grid.axes[0].names[here], points[here].x, points[here].y]);
  drawChart(figure, { ...grid.chart, marks, series });
}

for (const [name, grid] of Object.entries(DATA.explorers)) {
  const part = document.getElementById(name), field = (key) => part.querySelector(`[data-field="${key}"]`);
  const value = (axis) => field(axis.key).valueAsNumber, name_of = (axis) => axis.names?.[value(axis)] ?? String(value(axis));
  const explore = () => {
    const settings = Object.fromEntries(grid.axes.map((axis) => [axis.key, value(axis)]));
    for (const axis of grid.axes) {
      field(`${axis.key}-value`).value = name_of(axis);
      field(axis.key).setAttribute("aria-valuetext", name_of(axis));
    }
    if (grid.outputs) return lookUp(grid, settings, field, part.querySelector("[data-chart]"));
    const setting = grid.axes.filter((axis) => axis.discrete).reduce((at, axis) => at * axis.values.length + settings[axis.key], 0);
    const factors = interpolated(grid, settings), advised = lookedUp(grid, settings, factors), factor = advised === 0 ? 1 : factors[advised - 1];
    const most = Math.max(...factors), none = advised === 0 && most > 0 ? ` (K = ${grid.gammas[factors.indexOf(most)]}: ${most.toFixed(2)})` : "";
    Object.assign(field("advised"), { value: most === 0 ? "does not fit into memory" : advised === 0 ? "do not speculate" : `${grid.undecided?.[setting] ? "undecided: measure " : ""}${advised}` }).dataset.value = advised;
    const plain = grid.baseline?.[setting];
    if (field("speed")) Object.assign(field("speed"), { value: plain ? `${SHOWN.format(plain * factor)} (without: ${SHOWN.format(plain)})` : "-" }).dataset.value = plain * factor;
    Object.assign(field("factor"), { value: `${factor.toFixed(2)}${none}` }).dataset.value = factor;
    part.querySelector("[data-chart]").dataset.factors = JSON.stringify(factors);
    drawChart(part.querySelector("[data-chart]"), {
      ...grid.chart, marks: advised === 0 ? [] : [[grid.undecided?.[setting] ? "to measure" : "advised", advised, factor]],
      series: [{ name: "speed-up", colour: 0, mark: "line", points: factors.map((y, i) => ({ x: grid.gammas[i], y, low: null, high: null })).filter((point) => point.y > 0) }],
    });
  };
  const start = (settings) => { for (const axis of grid.axes) if (settings[axis.key] !== undefined) field(axis.key).value = settings[axis.key]; explore(); };
  const fromAddress = () => {
    const found = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(grid.axes.filter((axis) => found.has(`${name}.${axis.key}`)).map((axis) => [axis.key, axis.names ? Math.max(0, axis.names.indexOf(found.get(`${name}.${axis.key}`))) : Number(found.get(`${name}.${axis.key}`))]));
  };
  const remember = () => {
    const found = new URLSearchParams(location.hash.slice(1));
    for (const axis of grid.axes) found.set(`${name}.${axis.key}`, name_of(axis));
    history.replaceState(null, "", `#${found}`);
  };
  for (const from of grid.starts) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `as ${from.name}` });
    button.addEventListener("click", () => { start(from); remember(); });
    part.querySelector(".starts").append(button);
  }
  for (const axis of grid.axes) field(axis.key).addEventListener("input", () => { explore(); remember(); });
  addEventListener("hashchange", () => start(fromAddress()));
  start({ ...grid.starts[0], ...fromAddress() });
  sizes.observe(part.querySelector("[data-chart]"));
}
