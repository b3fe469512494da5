const field = (name) => document.getElementById(name);
const KEYS = ["alpha", "c", "slope", "gamma"];

/** E[τ] = 1 + α + … + α^γ (Leviathan et al. 2023, Eq. 1). */
function expectedTokens(alpha, gamma) {
  let sum = 1, power = 1;
  for (let i = 1; i <= gamma; i++) sum += power *= alpha;
  return sum;
}

/** The speed-up: E[τ] over what a block takes, in target steps. */
function speedUp({ alpha, c, slope }, gamma) {
  return expectedTokens(alpha, gamma) / (gamma * c + 1 + gamma * slope);
}

/** The smallest γ of the largest speed-up; 0: do not speculate. */
function bestGamma(settings) {
  let best = 0, factor = 1;
  for (let gamma = 1; gamma <= DATA.max_gamma; gamma++) {
    const longer = speedUp(settings, gamma);
    if (longer > factor * (1 + DATA.tie)) [best, factor] = [gamma, longer];
  }
  return [best, factor];
}

function show(name, value, text) {
  field(name).value = text;
  field(name).dataset.value = value;
}

function explore() {
  const settings = Object.fromEntries(KEYS.map((key) => [key, field(key).valueAsNumber]));
  for (const key of KEYS) field(`${key}-value`).value = String(settings[key]);
  const factor = speedUp(settings, settings.gamma);
  const [best, most] = bestGamma(settings);
  show("factor", factor, factor.toFixed(2));
  show("best", best, best === 0 ? "do not speculate" : String(best));
  show("best-factor", most, most.toFixed(2));
  const tokens = expectedTokens(settings.alpha, settings.gamma);
  show("tokens", tokens, tokens.toFixed(2));
  const points = Array.from({ length: DATA.max_gamma }, (_, i) => ({ x: i + 1, y: speedUp(settings, i + 1), low: null, high: null }));
  drawChart(field("explored"), {
    x: "γ, drafted tokens",
    y: "times the baseline",
    series: [
      { name: "speed-up", colour: 0, mark: "line", points },
      { name: "this γ", colour: 1, mark: "dots", points: [points[settings.gamma - 1]] },
    ],
  });
}

function start(from) {
  for (const key of KEYS) field(key).value = from[key];
  explore();
}

for (const from of DATA.start) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `as ${from.name}`;
  button.addEventListener("click", () => start(from));
  document.querySelector(".starts").append(button);
}
for (const key of KEYS) field(key).addEventListener("input", explore);
new ResizeObserver(explore).observe(field("explored"));
start(DATA.start[0]);
