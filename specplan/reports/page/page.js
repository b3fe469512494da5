"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const SHOWN = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, maximumFractionDigits: 0, roundingPriority: "morePrecision", useGrouping: false });
const pictures = new Map();
const printing = matchMedia("print");
const colour = (name) => getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
const rounded = (value) => SHOWN.format(Math.abs(value) < 1e-6 ? 0 : value);
const shown = (point) => rounded(point.y) + (point.low === null ? "" : ` [${rounded(point.low)}, ${point.high === null ? "unbounded" : rounded(point.high)}]`);
const xName = (chart, x) => (chart.categories.length ? chart.categories[x] : `${chart.x} ${SHOWN.format(x)}`);

/** Returns what the chart has at x: a line for each series, and the name of the coloured range, which may be too narrow for its label. */
const linesAt = (chart, x) => [
  ...chart.series.flatMap((series) => series.points.filter((point) => point.x === x).map((point) => `${series.name}: ${shown(point)}${point.note ? ` (${point.note})` : ""}`)),
  ...chart.spans.filter((span) => span.first <= x && x <= span.last && span.label).slice(-1).map((span) => span.label),
];

/** Returns a tooltip as an element, so that names are text and never markup. */
function tip(chart, x) {
  const box = document.createElement("div");
  for (const line of [xName(chart, x), ...linesAt(chart, x)]) box.append(Object.assign(document.createElement("div"), { textContent: line }));
  return box;
}

/** Returns a series as the library draws it: its band or its bars of uncertainty first. ring: size of rings, which are larger than those before them. */
function layers(series, shade, index, shift, ring) {
  const points = series.points.map((point) => [point.x + shift, point.y]);
  const bounded = series.points.filter((point) => point.low !== null && point.high !== null);
  const rings = series.mark === "rings";
  const dots = rings || series.mark === "dots";
  const main = { name: series.name, type: { bars: "bar", dots: "scatter", rings: "scatter" }[series.mark] ?? "line", data: points, color: shade, symbolSize: rings ? ring : dots ? 11 : 6, showSymbol: points.length < 20, lineStyle: { width: 2, type: series.mark === "dashed" ? "dashed" : "solid" }, barMaxWidth: 34, z: dots ? 5 : series.mark === "dashed" ? 4 : 3 };
  if (dots) main.itemStyle = { opacity: 1 };
  if (rings) main.itemStyle = { color: "transparent", borderColor: shade, borderWidth: 2.5, opacity: 1 };
  if (dots) main.markLine = { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: shade, type: "solid", width: 2 }, data: bounded.map((point) => [{ coord: [point.x + shift, point.low] }, { coord: [point.x + shift, point.high] }]) };
  if (dots || bounded.length < 2) return [main];
  const edge = { type: "line", stack: `band ${index}`, stackStrategy: "all", symbol: "none", silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false }, color: shade };
  return [
    { ...edge, data: bounded.map((point) => [point.x, point.low]) },
    { ...edge, data: bounded.map((point) => [point.x, point.high - point.low]), areaStyle: { color: shade, opacity: 0.16 } },
    main,
  ];
}

/** Returns the points of a line, and nine between each two. */
const filled = (points) => [...points, ...points.slice(1).flatMap(([x, y], i) => [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map((part) => [points[i][0] + part * (x - points[i][0]), points[i][1] + part * (y - points[i][1])]))];

/** Returns how the label of each mark is placed: on the side where it covers the fewest lines, levels, rings of other marks and labels, and within the chart. points: of lines; all in pixels. */
function labelled(marks, points, levels, wide) {
  const labels = [];
  return marks.map(([text, x, y], own) => {
    const rings = marks.filter((_, i) => i !== own).map(([, left, top]) => [left, top]);
    const half = 4.2 * text.length, inside = Math.max(half, Math.min(wide + 20 - half, x));
    const sides = [["top", inside, y - 20], ["bottom", inside, y + 20], ["right", x + 14 + half, y], ["left", x - 14 - half, y]];
    const cost = ([, middle, centre]) => {
      const hit = ([left, top], [across, down] = [0, 0]) => Math.abs(left - middle) < half + across && Math.abs(top - centre) < 9 + down;
      const outside = middle - half < -4 || middle + half > wide + 24 || centre < -20;
      return points.filter((point) => hit(point)).length + 20 * levels.filter((level) => hit([middle, level])).length + 20 * rings.filter((ring) => hit(ring, [8, 8])).length + 50 * labels.filter(([left, top, across]) => hit([left, top], [across, 9])).length + 1000 * outside;
    };
    const [position, middle, centre] = sides.reduce((best, other) => (cost(other) < cost(best) ? other : best));
    labels.push([middle, centre, half]);
    return { position, offset: [position === "top" || position === "bottom" ? middle - x : 0, 0] };
  });
}

/** Returns where the label of a level covers the fewest lines and dots. */
function place(chart, level, share, [low, high], width) {
  const long = Math.min(1, 8 * level.label.length / width + 0.03), tall = 0.1 * (high - low);
  const lines = chart.series.map((series) => series.points.map((point) => [share(point.x), point.y]));
  const covered = ([, from, side]) => {
    const [bottom, top] = side > 0 ? [level.y - 0.02 * tall, level.y + tall] : [level.y - tall, level.y + 0.02 * tall];
    const inside = ([x, y]) => x >= from && x <= from + long && y >= bottom && y <= top;
    return lines.reduce((count, points) => count + filled(points).filter(inside).length, 0);
  };
  const places = [["Start", 0], ["End", 1 - long], ["Middle", 0.5 - long / 2]].flatMap(([end, from]) => [[`inside${end}Top`, from, 1], [`inside${end}Bottom`, from, -1]]);
  return places.reduce((best, other) => (covered(other) < covered(best) ? other : best))[0];
}

const pen = document.createElement("canvas").getContext("2d");

/** Returns how many lines a chart's legend takes: names of 13 pixels, each with a sign and a gap. */
function legendRows({ series }, width) {
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const wide = series.map(({ name }) => pen.measureText(name).width + 41);
  return wide.length < 2 ? 0 : wide.reduce(([rows, used], each) => (used + each > width ? [rows + 1, each] : [rows, used + each]), [1, 0])[0];
}

function options(chart, width, height) {
  const [ink, faint, line, card] = ["ink", "faint", "line", "card"].map(colour);
  const ys = chart.series.flatMap((series) => series.points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]));
  const xs = [...chart.series.flatMap((series) => series.points.map((point) => point.x)), ...chart.spans.flatMap((span) => [span.first, span.last])];
  const named = chart.categories.length > 0, bars = chart.series.some((series) => series.mark === "bars");
  // A single value has room on both sides, and so has a dot or ring at an end, which would hide the axis.
  const lowest_x = Math.min(...xs), highest_x = Math.max(...xs), wider = lowest_x === highest_x;
  const dotted = named ? [] : chart.series.flatMap((series) => (["dots", "rings"].includes(series.mark) ? series.points.map((point) => point.x) : []));
  const room = (x) => (dotted.includes(x) ? 18 / (width - 82) : 0);
  const [first, last] = chart.logarithmic
    ? (wider ? [lowest_x / 2, 2 * highest_x] : [lowest_x * (lowest_x / highest_x) ** room(lowest_x), highest_x * (highest_x / lowest_x) ** room(highest_x)])
    : (wider ? [lowest_x - 1, highest_x + 1] : [lowest_x - (highest_x - lowest_x) * room(lowest_x), highest_x + (highest_x - lowest_x) * room(highest_x)]);
  const share = (x) => (chart.logarithmic ? Math.log(x / first) / Math.log(last / first) : (x - first) / (last - first));
  const fits = (span) => (share(span.last) - share(span.first)) * (width - 82) > 7 * span.label.length;
  const areas = chart.spans.map((span) => [{ name: span.label, xAxis: span.first, label: { show: fits(span) }, itemStyle: { color: span.colour === null ? faint : colour(`colour-${span.colour % 8}`), opacity: 0.14 } }, { xAxis: span.last }]);
  const axis = { nameLocation: "middle", nameTextStyle: { color: faint, fontSize: 13 }, axisLabel: { color: faint, fontSize: 12 }, axisLine: { onZero: false, lineStyle: { color: line } }, splitLine: { lineStyle: { color: line, opacity: 0.6 } } };
  const names = chart.series.map((series) => series.name), rows = legendRows(chart, width);
  // Dots of one category are side by side, so that their intervals do not hide each other.
  const shift = (index) => (named && !bars ? (index - (names.length - 1) / 2) * 0.14 : 0);
  const places = bars ? { type: "category", data: chart.categories }
    : named ? { type: "value", min: -0.5, max: chart.categories.length - 0.5, minInterval: 1, maxInterval: 1 }
    : { type: chart.logarithmic ? "log" : "value", logBase: 2, min: first, max: last, minInterval: xs.every(Number.isInteger) ? 1 : undefined };
  const end = (value) => (bars || (!named && Number.isInteger(value)) ? null : false);
  const short = (x) => (chart.logarithmic && x >= 1024 && x % 1024 === 0 ? `${x / 1024}k` : SHOWN.format(x));
  // Few names are all shown, broken into lines where they are long.
  const place_width = (width - 82) / Math.max(1, chart.categories.length) - 4;
  const few = named && chart.categories.length <= 8 && (bars || Math.max(...chart.categories.map((name) => 7 * name.length)) > place_width) ? { interval: 0, hideOverlap: false, width: place_width, overflow: "break", lineHeight: 14 } : {};
  const lines = few.width ? Math.min(3, Math.max(...chart.categories.map((name) => Math.ceil(7 * name.length / place_width)))) : 1;
  const label = { ...axis.axisLabel, hideOverlap: true, showMinLabel: end(first), showMaxLabel: end(last), formatter: bars ? undefined : named ? (x) => chart.categories[x] ?? "" : short, ...few };
  const heights = [...ys, ...chart.levels.map((level) => level.y)];
  const [lowest, highest] = [Math.min(0, ...heights), Math.max(...heights)];
  const bottom = 52 + 14 * (lines - 1) + 22 * rows;
  const pixels = ([x, y]) => [share(x) * (width - 82), (highest - y) / (highest - lowest) * (height - 30 - bottom)];
  const drawn = chart.series.flatMap((series) => filled(series.points.map((point) => pixels([point.x, point.y]))));
  const labels = labelled(chart.marks.map(([text, x, y]) => [text, ...pixels([x, y])]), drawn, chart.levels.map((level) => pixels([first, level.y])[1]), width - 82);
  const levels = chart.levels.map((level) => ({ yAxis: level.y, label: { show: level.label !== "" && !named, formatter: level.label, position: place(chart, level, share, [lowest, highest], width - 82), color: ink, backgroundColor: colour("paper"), padding: 1 } }));
  return {
    animation: false,
    // A quotation mark in the name of a font would end an attribute of a downloaded SVG.
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily.replaceAll('"', "'") },
    grid: { left: 58, right: 24, top: 30, bottom },
    legend: { show: rows > 0, data: names, bottom: 0, left: 0, textStyle: { color: faint, fontSize: 13 }, inactiveColor: line, selectedMode: true },
    tooltip: { trigger: "axis", confine: true, extraCssText: "white-space: normal; max-width: min(20rem, 80vw)", backgroundColor: card, borderColor: faint, textStyle: { color: ink }, formatter: (found) => { const x = Number([found].flat()[0].value[0]); return tip(chart, named ? Math.round(x) : x); } },
    dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift", moveOnMouseWheel: false, preventDefaultMouseMove: false, filterMode: "none" }],
    xAxis: { ...axis, ...places, name: chart.x, nameGap: 30 + 14 * (lines - 1), scale: true, splitLine: { show: false }, axisLabel: label },
    yAxis: { ...axis, type: "value", name: chart.y, nameGap: 42, min: Math.min(...heights) > -1e-9 ? 0 : undefined },
    series: [
      ...chart.series.flatMap((series, index) => layers(series, colour(`colour-${series.colour % 8}`), index, shift(index), named ? 13 : 17 + 6 * chart.series.slice(0, index).filter((other) => other.mark === "rings").length)),
      {
        type: "line", silent: true, symbol: "none", lineStyle: { opacity: 0 }, tooltip: { show: false }, z: 4, data: [[first, Math.min(...heights)], [last, Math.max(...heights)]],
        markArea: { silent: true, label: { color: ink, position: "top" }, data: areas },
        markLine: { silent: true, symbol: "none", lineStyle: { color: ink, width: 1, type: "dotted" }, data: levels },
      },
      { type: "scatter", silent: true, symbol: "circle", symbolSize: 17, itemStyle: { color: "transparent", borderColor: ink, borderWidth: 2 }, z: 6, data: chart.marks.map(([label, x, y], i) => ({ value: [x, y], label: { show: true, formatter: label, ...labels[i], color: ink, fontWeight: "bold", backgroundColor: colour("paper"), padding: 1 } })) },
    ],
  };
}

function drawChart(figure, chart) {
  const picture = pictures.get(figure) ?? echarts.init(figure, null, { renderer: "svg" });
  pictures.set(figure, picture);
  figure.chart = chart;
  // Further lines of a legend make a chart taller, and its plot no smaller.
  figure.style.setProperty("--further", Math.max(0, legendRows(chart, figure.clientWidth) - 1));
  picture.resize();
  picture.setOption(options(chart, figure.clientWidth, figure.clientHeight), { notMerge: true });
}

/** Downloads a chart as it is on the screen, under its title and the page's; PNG is twice as fine. */
function save(figure, kind) {
  const link = document.createElement("a"), title = figure.closest("section").querySelector("h3").textContent;
  const width = figure.clientWidth, lines = Math.ceil(7 * document.title.length / width), above = 44 + 16 * lines;
  const size = { width, height: figure.clientHeight + above };
  const copy = echarts.init(document.createElement("div"), null, { renderer: kind === "svg" ? "svg" : "canvas", ...size });
  const chart = options(figure.chart, width, figure.clientHeight), broken = { width: width - 20, overflow: "break" };
  copy.setOption({
    ...chart, backgroundColor: colour("paper"), grid: { ...chart.grid, top: chart.grid.top + above }, dataZoom: pictures.get(figure).getOption().dataZoom,
    title: { text: title, subtext: document.title, left: 4, itemGap: 9, textStyle: { color: colour("ink"), fontSize: 16, ...broken }, subtextStyle: { color: colour("faint"), fontSize: 12, lineHeight: 16, ...broken } },
  });
  link.download = `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${kind}`;
  link.href = copy.getDataURL({ type: kind, pixelRatio: 2 });
  copy.dispose();
  link.click();
}

function zoom(figure, factor) {
  const [{ start, end }] = pictures.get(figure).getOption().dataZoom;
  const half = Math.min(50, Math.max(2, (end - start) / 2 * factor)), middle = Math.min(100 - half, Math.max(half, (start + end) / 2));
  pictures.get(figure).dispatchAction({ type: "dataZoom", start: middle - half, end: middle + half });
}

/** Moves the tooltip by keys, and says what it shows. */
function press(event) {
  const figure = event.currentTarget, zooms = { "+": 0.5, "-": 2, 0: 1e9 };
  if (event.key in zooms) zoom(figure, zooms[event.key]);
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const chart = figure.chart, xs = [...new Set(chart.series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
  const at = Math.min(xs.length - 1, Math.max(0, (figure.at ?? -1) + steps[event.key]));
  figure.at = at;
  const index = chart.series.findIndex((series) => series.points.some((point) => point.x === xs[at]));
  const drawnIndex = pictures.get(figure).getOption().series.findIndex((series) => series.name === chart.series[index].name);
  pictures.get(figure).dispatchAction({ type: "showTip", seriesIndex: drawnIndex, dataIndex: chart.series[index].points.findIndex((point) => point.x === xs[at]) });
  figure.parentElement.querySelector(".spoken").textContent = [xName(chart, xs[at]), ...linesAt(chart, xs[at])].join("; ");
}

const redraw = () => { for (const figure of pictures.keys()) drawChart(figure, figure.chart); };
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.clientWidth) drawChart(target, target.chart ?? DATA.charts[target.dataset.chart]);
});
for (const figure of document.querySelectorAll("[data-chart]")) {
  figure.addEventListener("keydown", press);
  if (figure.dataset.chart in DATA.charts) sizes.observe(figure);
  for (const button of figure.parentElement.querySelectorAll("button[data-save]")) button.addEventListener("click", () => save(figure, button.dataset.save));
  for (const button of figure.parentElement.querySelectorAll("button[data-zoom]")) button.addEventListener("click", () => zoom(figure, Number(button.dataset.zoom)));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
printing.addEventListener("change", redraw);
// Paper has no folds; the numbers of a chart of many points would fill pages of it.
addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details")) fold.open ||= fold.querySelectorAll("tr").length <= 40; });

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
  });
}

/** Marks a table that is wider than the page, and the one that is scrolled to its end. */
const cut = (part) => {
  part.classList.toggle("cut", part.scrollWidth > part.clientWidth + 1);
  part.classList.toggle("end", part.scrollLeft + part.clientWidth >= part.scrollWidth - 1);
};
const widths = new ResizeObserver((entries) => entries.forEach(({ target }) => cut(target)));
for (const part of document.querySelectorAll(".wide")) {
  widths.observe(part);
  part.addEventListener("scroll", () => cut(part));
}

const WHOLE = /(K = \d+|K \+ 1|(?:± |over |under )?\d[\d.]* %|\d{4}-\d\d-\d\d|--[a-z][a-z-]*)/;
/** Returns a text whose long words may be broken after a comma, slash or underscore. */
const breakable = (text) => text.split(/(\S{28,})/).flatMap((word, i) => (i % 2 ? word.split(/(?<=[,/_])/).flatMap((part) => [part, document.createElement("wbr")]) : word));

/** Keeps "K = 4", "90 %", dates and options in one line each. */
function keepWhole(element) {
  const found = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), texts = [];
  while (found.nextNode()) texts.push(found.currentNode);
  for (const text of texts) text.replaceWith(...text.data.split(WHOLE).flatMap((part, i) => (i % 2 ? Object.assign(document.createElement("span"), { className: "whole", textContent: part }) : breakable(part))));
}
document.querySelectorAll("h1, h2, p:not(.tools, .spoken), pre, tbody .long, dd").forEach(keepWhole);
