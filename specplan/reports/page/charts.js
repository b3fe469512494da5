"use strict";

const SPACE = "http://www.w3.org/2000/svg";
const DATA = JSON.parse(document.getElementById("data").textContent);

/** Adds an SVG element to a parent and returns it. */
function draw(parent, kind, attributes, text) {
  const element = document.createElementNS(SPACE, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** Returns about `count` round numbers from low to high, both covered. */
function ticks(low, high, count) {
  const rough = Math.max(high - low, 1e-9) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let i = Math.floor(low / step + 1e-9); i <= Math.ceil(high / step - 1e-9); i++) found.push(i * step);
  return found;
}

/** Draws a chart (see charts.py) into a figure, as large as the figure is. */
function drawChart(figure, chart) {
  const width = figure.clientWidth, height = figure.clientHeight;
  const [left, right, top, bottom] = [46, 12, 10, 42];
  const points = chart.series.flatMap((series) => series.points);
  const ys = points.flatMap((p) => [p.y, p.low ?? p.y, p.high ?? p.y]);
  let xs = points.map((p) => p.x);
  if (chart.diagonal) { xs = [...xs, ...ys]; ys.push(...xs); }
  const xTicks = ticks(Math.min(...xs), Math.max(...xs), Math.max(2, width / 90));
  const yTicks = ticks(Math.min(...ys, chart.diagonal ? Infinity : 0), Math.max(...ys), 5);
  const span = (marks) => marks.at(-1) - marks[0] || 1;
  const x = (value) => left + (value - xTicks[0]) / span(xTicks) * (width - left - right);
  const y = (value) => height - bottom - (value - yTicks[0]) / span(yTicks) * (height - top - bottom);
  const label = (value) => String(Number(value.toPrecision(6)));

  const svg = document.createElementNS(SPACE, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const value of yTicks) {
    draw(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) });
    draw(svg, "text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, label(value));
  }
  for (const value of xTicks) {
    draw(svg, "text", { x: x(value), y: height - bottom + 18, "text-anchor": "middle" }, label(value));
  }
  draw(svg, "line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom });
  draw(svg, "text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, chart.x);
  draw(svg, "text", { transform: `translate(11 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y);
  if (chart.diagonal) {
    const low = Math.max(xTicks[0], yTicks[0]), high = Math.min(xTicks.at(-1), yTicks.at(-1));
    draw(svg, "line", { class: "diagonal", x1: x(low), y1: y(low), x2: x(high), y2: y(high) });
  }
  for (const series of chart.series) drawSeries(svg, series, x, y);
  figure.replaceChildren(svg);
}

function drawSeries(svg, series, x, y) {
  const colour = `var(--colour-${series.colour % 8})`;
  const at = series.points.map((p) => `${x(p.x)},${y(p.y)}`);
  const bounded = series.points.filter((p) => p.low !== null && p.high !== null);
  if (series.mark !== "dots") {
    if (bounded.length > 1) {
      const edge = [...bounded.map((p) => `${x(p.x)},${y(p.low)}`), ...bounded.map((p) => `${x(p.x)},${y(p.high)}`).reverse()];
      draw(svg, "polygon", { class: "band", points: edge.join(" "), fill: colour });
    }
    const dash = series.mark === "dashed" ? { "stroke-dasharray": "6 5" } : {};
    draw(svg, "polyline", { points: at.join(" "), fill: "none", stroke: colour, "stroke-width": 2, ...dash });
  } else {
    for (const p of bounded) {
      draw(svg, "line", { x1: x(p.x), x2: x(p.x), y1: y(p.low), y2: y(p.high), stroke: colour, "stroke-width": 1.5 });
    }
  }
  if (series.mark !== "dashed" && (series.mark === "dots" || series.points.length < 40)) {
    for (const p of series.points) {
      const dot = draw(svg, "circle", { cx: x(p.x), cy: y(p.y), r: series.mark === "dots" ? 4.5 : 3, fill: colour });
      draw(dot, "title", {}, `${series.name}: ${Number(p.x.toPrecision(4))}, ${Number(p.y.toPrecision(4))}`);
    }
  }
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.clientWidth) drawChart(target, DATA.charts[target.dataset.chart]);
});
for (const figure of document.querySelectorAll("[data-chart]")) sizes.observe(figure);
