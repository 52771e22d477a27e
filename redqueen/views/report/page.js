// Draws the report from its data.
// The colour of a run or of a group of seeds. Red is kept for alarms and failures, yellow for what one seat alone was
// shown, green and violet for what is above and below zero.
const COLOURS = ["#1d6fa5", "#c46a00", "#00838a", "#a33b7a", "#6b7200", "#8a6a45", "#4a5a8a", "#008bb5"];
const ROWS = 100; // episodes shown before the rest is asked for
const GROUPS = data.groups.map((group, number) => {
  const runs = group.runs.map((place) => data.runs[place]);
  return { ...group, runs, colour: COLOURS[number % COLOURS.length], name: runs.length === 1 ? runs[0].name : `${runs[0].recipe}, ${runs.length} seeds (${runs.map((run) => run.name).join(", ")})` };
});
const known = (name) => data.figures[name] || { words: name, unit: "", better: "", group: "" };
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const told = (name, value) => (known(name).unit === "share" ? `${short(+(100 * value).toFixed(2))}%` : short(value));
const better = (name) => ({ higher: "higher is better ↑", lower: "lower is better ↓" })[known(name).better] || "";
const linked = (place, text) => make("a", { href: "#episodes", onclick: () => openEpisode(place) }, text);

// --- curves: a line for each run, or for each group of runs that differ in the seed alone, with its interval ------

// [{step, mean, low, high, count}] of some courses, each [[step, value, low, high], ...]; the bounds of one course are its own
function joined(courses) {
  const at = new Map();
  courses.forEach((points) => points.forEach((point) => at.set(point[0], [...(at.get(point[0]) || []), point])));
  return [...at.entries()].sort((a, b) => a[0] - b[0]).map(([step, points]) => {
    const values = points.map((point) => point[1]);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    if (values.length < 2) return { step, mean, low: points[0][2] ?? null, high: points[0][3] ?? null, count: 1 };
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    const half = (data.student[values.length - 2] * deviation) / Math.sqrt(values.length);
    return { step, mean, low: mean - half, high: mean + half, count: values.length };
  });
}
const course = (group, name) => joined(group.runs.map((run) => run.curves[name] || []));

// Round numbers between which all values lie, some `most` of them.
function ticks(low, high, most) {
  const rough = (high - low || Math.abs(high) || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const by = power * [1, 2, 5, 10].find((each) => each * power >= rough);
  const found = [];
  for (let place = Math.floor(low / by + 1e-9); place * by < high + by * (1 - 1e-9) || found.length < 2; place += 1) found.push(+(place * by).toPrecision(12));
  return found;
}

// What stands beside the lines of a chart: with all digits where fewer would make two of them equal.
function marks(name, rows) {
  const found = rows.map((value) => told(name, value));
  if (new Set(found).size === found.length) return found;
  return rows.map((value) => (known(name).unit === "share" ? `${+(100 * value).toPrecision(12)}%` : String(value)));
}

// One chart, drawn at its size in pixels, so that its text is as large as the page's. `references` are [words, value];
// `planned` is the last step that the runs were to reach, `died` the step in which one ended before it.
function chart(name, series, { width, height, references = [], planned = 0, died = null, ended = "", large = false }) {
  const all = series.flatMap((each) => each.points);
  const last = Math.max(...all.map((point) => point.step), planned, 1);
  const shown = [...all.flatMap((point) => [point.mean, point.low ?? point.mean, point.high ?? point.mean]), ...references.map(([, value]) => value)];
  const share = known(name).unit === "share";
  const rows = ticks(Math.min(...shown, share ? 0 : Infinity), Math.max(...shown), large ? 5 : 2);
  const [bottom, top] = share && Math.max(...shown) <= 1 ? [rows[0], Math.min(rows[rows.length - 1], 1)] : [rows[0], rows[rows.length - 1]];
  const marked = marks(name, rows);
  const left = 12 + 7 * Math.max(...marked.map((mark) => mark.length)), right = width - (large ? 18 : 6), upper = large ? 14 : 8, lower = height - (large ? 40 : 22);
  const x = (step) => left + ((right - left) * step) / last;
  const y = (value) => lower - ((lower - upper) * (value - bottom)) / (top - bottom || 1);
  const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": known(name).words });
  for (const [place, value] of rows.entries()) if (value >= bottom && value <= top) svg.append(make("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }), make("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, marked[place]));
  const steps = ticks(0, last, Math.max(2, Math.floor((right - left) / 90))).filter((step) => step <= last && Number.isInteger(step) && (step === last || x(last) - x(step) > 44));
  for (const step of [...new Set([...steps, last])]) svg.append(make("text", { x: x(step), y: lower + 16, "text-anchor": large ? "middle" : step === last ? "end" : step ? "middle" : "start" }, step === last && !large ? `step ${step}` : String(step)));
  if (large) svg.append(make("text", { class: "title", x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, "steps done"));
  if (died !== null) svg.append(make("rect", { class: "unreached", x: x(died), y: upper, width: Math.max(right - x(died), 0), height: lower - upper }), make("line", { class: "died", x1: x(died), x2: x(died), y1: upper, y2: lower }));
  for (const { group, points } of series) {
    const known = points.filter((point) => point.low !== null && point.high !== null);
    if (known.length && known.some((point) => point.high > point.low)) {
      const edge = (side) => known.map((point) => `${x(point.step).toFixed(1)},${y(Math.max(bottom, Math.min(top, point[side]))).toFixed(1)}`);
      svg.append(make("path", { class: "band", fill: group.colour, d: `M${[...edge("high"), ...edge("low").reverse()].join("L")}Z` }));
    }
  }
  const labels = died === null ? [] : [{ words: `${ended} after step ${died}`, at: (upper + lower) / 2 }];
  for (const [words, value] of references) {
    svg.append(make("line", { class: "reference", x1: left, x2: right, y1: y(value), y2: y(value) }));
    labels.push({ words, at: y(value) });
  }
  for (const { group, points } of series) {
    const path = points.map((point) => `${x(point.step).toFixed(1)},${y(point.mean).toFixed(1)}`).join("L");
    svg.append(make("path", { class: "line", stroke: group.colour, d: `M${path}${points.length === 1 ? "h0" : ""}` }));
    if (large && points.length <= 60) svg.append(...points.map((point) => make("circle", { cx: x(point.step), cy: y(point.mean), r: 2.5, fill: group.colour })));
  }
  const nearest = (from, to, at) => Math.min(...all.filter((point) => x(point.step) >= from && x(point.step) <= to).map((point) => Math.abs(y(point.mean) - at)));
  spread(labels, upper + 8, lower - 3, 13).forEach(({ words, at }) => {
    const long = 7 * words.length, atEnd = nearest(right - long, right, at - 8);
    const aside = atEnd < 14 && nearest(left, left + long, at - 8) > atEnd; // at the other end, where it would hide the line
    svg.append(make("text", { class: "label", x: aside ? left + 4 : right - 4, y: at - 4, "text-anchor": aside ? "start" : "end" }, words));
  });
  return { svg, x, left, right, upper, lower, last };
}

// The labels, none over another: each at its line or as near to it as there is room.
function spread(labels, upper, lower, apart) {
  const found = labels.slice().sort((a, b) => b.at - a.at);
  found.forEach((label, number) => { label.at = Math.min(label.at, lower, number ? found[number - 1].at - apart : lower); });
  for (let number = found.length - 1; number >= 0; number -= 1) found[number].at = Math.max(found[number].at, (number === found.length - 1 ? upper : found[number + 1].at + apart));
  return found;
}

// A chart with what it shows, which tells the figures under the pointer.
function plotted(name, series, options, heading) {
  const { svg, x, left, right, upper, lower, last } = chart(name, series, options);
  const marker = make("line", { class: "axis", x1: 0, x2: 0, y1: upper, y2: lower, stroke: "currentColor", visibility: "hidden" });
  const reading = make("figcaption", {});
  const rest = () => {
    marker.setAttribute("visibility", "hidden");
    reading.replaceChildren(...heading(series.map(({ points }) => `${told(name, points[0].mean)} → ${told(name, points[points.length - 1].mean)}`).join("; ")));
  };
  svg.append(marker);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const step = ((((event.clientX - box.left) / box.width) * options.width - left) / (right - left)) * last;
    const near = series.map(({ points }) => points.reduce((best, point) => (Math.abs(point.step - step) < Math.abs(best.step - step) ? point : best)));
    marker.setAttribute("visibility", "visible");
    marker.setAttribute("x1", x(near[0].step));
    marker.setAttribute("x2", x(near[0].step));
    const read = near.map((point) => told(name, point.mean) + (point.low !== null && point.high > point.low ? ` (${told(name, point.low)} to ${told(name, point.high)})` : ""));
    reading.replaceChildren(...heading(`step ${near[0].step}: ${read.join("; ")}`));
  });
  svg.addEventListener("pointerleave", rest);
  rest();
  return [svg, reading];
}

function figure(name) {
  const series = GROUPS.map((group) => ({ group, points: course(group, name) })).filter((each) => each.points.length);
  const arrow = { higher: " ↑", lower: " ↓" }[known(name).better] || "";
  const unit = known(name).unit && known(name).unit !== "share" ? ` (${known(name).unit})` : "";
  return make("figure", { "data-figure": name }, ...plotted(name, series, { width: 280, height: 130 }, (read) => [make("strong", { title: better(name) }, `${capital(known(name).words)}${unit}${arrow}`), `: ${read} `, make("code", { class: "quiet" }, name)]));
}

const isAlarm = (name) => /(^|\/)alarm\//.test(name);
function curves() {
  const names = Object.keys(data.figures).filter((name) => !isAlarm(name) && !/_(low|high)$/.test(name));
  const values = (name) => data.runs.map((run) => (run.curves[name] || []).map(([, value]) => value)).filter((each) => each.length);
  const flat = names.filter((name) => values(name).every((each) => each.every((value) => value === each[0])));
  const moving = names.filter((name) => !flat.includes(name));
  const kinds = [...new Set(moving.map((name) => known(name).group))];
  const grids = kinds.map((kind, number) => {
    const grid = make("div", { class: "curves" });
    const block = folded(kind, grid, number < 2);
    const draw = () => { if (block.open && !grid.children.length) grid.append(...moving.filter((name) => known(name).group === kind).map(figure)); };
    block.addEventListener("toggle", draw);
    draw();
    return block;
  });
  const still = flat.length ? folded(`${flat.length} flat ${flat.length === 1 ? "figure" : "figures"}: the same from the first step to the last`, make("div", { class: "scroll" }, make("table", {}, ...flat.map((name) => make("tr", {}, make("td", {}, capital(known(name).words)), make("td", {}, make("code", { class: "quiet" }, name)), make("td", { class: "n" }, values(name).map((each) => told(name, each[0])).join("; ")))))), false) : null;
  if (still) still.id = "flat";
  const band = GROUPS.some((group) => group.runs.length > 1) ? make("p", { class: "quiet" }, "Bands: 95 % interval of the mean over seeds (Student's t).") : null;
  return make("section", { id: "curves" }, make("h2", {}, "All curves"), GROUPS.length > 1 ? legend() : null, band, ...grids, still);
}

const legend = () => make("p", { class: "legend" }, ...GROUPS.map((group) => make("span", { class: "swatch" }, make("span", { class: "key", style: `background:${group.colour}` }), words(group.name))));

// --- the first screen: what happened, the curve that matters, alarms, one prompt before and after, the states ---------

function mainCurve() {
  const name = GROUPS[0].figure;
  if (!name) return null;
  const series = GROUPS.map((group) => ({ group, points: group.figure === name ? joined(group.points) : course(group, name) })).filter((each) => each.points.length);
  const start = series.length === 1 ? series[0].points[0] : null;
  const found = Object.entries(data.runs[0].references).filter(([label, value]) => Number.isFinite(value) && data.runs.every((run) => run.references[label] === value));
  const rough = (value) => told(name, +value.toPrecision(3));
  const references = found.map(([label, value]) => [start && rough(start.mean) === rough(value) ? `start, ${label}: ${rough(value)}` : `${label}: ${rough(value)}`, value]);
  if (start && !found.some(([, value]) => rough(start.mean) === rough(value))) references.push([`start: ${rough(start.mean)}`, start.mean]);
  const dead = data.runs.length === 1 && data.runs[0].ending.status !== "finished" && data.runs[0].ending.status !== "running";
  const done = data.runs[0].steps;
  const planned = data.runs.length > 1 ? 0 : Math.min(data.runs[0].planned, Math.ceil(1.4 * done)); // far beyond what was done there is nothing to see
  const holder = make("div", {});
  const { words: title, unit } = known(name);
  const units = unit && unit !== "share" ? ` (${unit})` : "";
  const banded = series.some(({ points }) => points.some((point) => point.low !== null && point.high > point.low));
  const bands = !banded ? "" : GROUPS.some((group) => group.runs.length > 1) ? " Band: 95% interval of the mean over seeds (Student's t)." : " Band: 95% interval of each.";
  const draw = () => {
    const width = Math.max(Math.min(Math.floor(holder.clientWidth) || 640, 900), 260);
    if (holder.dataset.width === String(width)) return;
    holder.dataset.width = String(width);
    holder.replaceChildren(...plotted(name, series, { width, height: Math.round(Math.max(230, Math.min(300, width * 0.5))), references, planned, died: dead ? data.runs[0].steps : null, ended: data.runs[0].ending.words.split(" after")[0], large: true }, (read) => [make("span", { class: "quiet" }, `${read.startsWith("step") ? `${read}.` : "Dots are measurements: point at one to read it."}${bands}`)]));
  };
  new ResizeObserver(draw).observe(holder);
  const shown = GROUPS.length > 1 ? legend() : null;
  return make("section", { class: "main", id: "curve" }, make("h2", {}, `${capital(title)}${units} `, make("span", { class: "way" }, better(name))), shown, make("figure", { "data-main": name }, holder),
    make("details", { class: "quiet small" }, make("summary", {}, "Why this figure"), `It is ${data.rule}. A run that was started with --score shows that figure.`));
}

function alarms() {
  const rung = data.runs.flatMap((run) => run.alarms.map((alarm) => ({ run, ...alarm })));
  if (!rung.length) return null;
  const row = ({ run, name, message, first, last, steps, now }) => make("li", {}, make("strong", {}, words(capital(name))), message ? [": ", words(message)] : null,
    make("div", { class: "quiet small" }, data.runs.length > 1 ? [words(run.name), ", "] : null, first === last ? `in step ${first}` : `in ${steps} steps from ${first} to ${last}`, now ? "; it was still firing in the last step" : "; it had stopped by the last step"));
  return make("section", { class: "panel alarms", id: "alarms" }, make("h2", {}, `${rung.length} ${rung.length === 1 ? "alarm" : "alarms"}`), make("ul", {}, ...rung.map(row)));
}

const SAME = { task: "The same task", kind: "No task recurs: two of the same kind", game: "No task recurs: two of the same game" };
// Held-out questions with the replies of the first and of the last measurement.
function asked(run) {
  const found = run.answered;
  const side = (each, step) => make("div", { class: "side" }, make("h3", {}, `Step ${step} `, make("span", { class: "tag" }, each.verdict === null ? "unknown" : each.verdict ? "right" : "wrong"), each.cut_off ? [" ", make("span", { class: "tag" }, "cut off")] : null),
    make("div", { class: "text said" }, words(excerpt(each.reply, 400) || "(nothing)")), make("div", { class: "quiet small" }, each.extracted ? ["answer: ", words(cut(each.extracted, 80))] : "no answer was found in it"));
  const one = (both) => make("div", { class: "pair" }, make("div", { class: "text shown" }, words(tail(both[0].question, 260))), both[0].expected ? make("p", { class: "quiet small" }, "expected: ", words(cut(both[0].expected, 80))) : null, make("div", { class: "sides" }, ...both.map((each, number) => side(each, found.steps[number]))));
  const rest = found.replies.slice(1);
  return [make("p", { class: "quiet small" }, "A held-out question, and the first reply to it in the first and in the last measurement, whatever came of them."), one(found.replies[0]), rest.length ? folded(`and ${rest.length} more`, make("div", {}, ...rest.map(one)), false) : null];
}

function beforeAndAfter() {
  const known = data.runs.find((each) => each.answered && each.answered.replies.length);
  if (known) return make("section", { class: "panel", id: "replies" }, make("h2", {}, words(`One prompt, before and after${data.runs.length > 1 ? `: ${known.name}` : ""}`)), ...asked(known));
  const run = data.runs.find((each) => each.pairs.length);
  if (!run) return null;
  const side = (place, shown) => {
    const episode = data.episodes[place];
    const scores = episode.verdict !== null ? [make("span", { class: "tag" }, episode.verdict ? "right" : "wrong")] : episode.scores.map(([seat, score]) => make("span", { class: "tag" }, `${seat} ${signed(score)}`));
    const last = episode.frames[episode.frames.length - 1];
    const board = last && last.kind === "board" ? make("div", {}, drawn(last, episode)) : null;
    const few = board ? [] : episode.turns.slice(0, 6);
    const lines = few.map((turn) => make("div", { class: "text said" }, episode.turns.length > 1 ? make("span", { class: "quiet" }, `${turn.seat}${turn.to}: `) : null, words(excerpt(data.texts[turn.said], episode.turns.length > 1 ? 120 : 400) || "(nothing)")));
    const rest = board ? 0 : episode.turns.length - few.length;
    return make("div", { class: "side" }, make("h3", {}, `Step ${episode.step} `, ...scores.flatMap((tag) => [tag, " "])), shown ? prompt(episode) : null, board, board ? make("div", { class: "quiet small" }, `the end, after ${episode.turns.length} moves: ${episode.turns.map((turn) => excerpt(data.texts[turn.said], 8)).join(" ")}`) : null, ...lines, rest > 0 ? make("div", { class: "quiet small" }, `and ${rest} more turns`) : null,
      shown && episode.answer ? make("div", { class: "quiet small" }, "expected: ", words(cut(episode.answer, 200))) : null, make("div", { class: "small" }, linked(place, "whole episode")));
  };
  const prompt = (episode) => make("div", { class: "text shown" }, words(tail(episode.turns[0].shown.map(([, blocks]) => blocks.map(([place]) => data.texts[place]).join("\n")).join("\n"), 260)));
  const pair = ([before, after, same]) => {
    const one = same === "task", first = data.episodes[before];
    return make("div", { class: "pair" }, make("p", { class: "quiet small" }, `${SAME[same]}, ${first.game}: the first one and the last one recorded${one && first.answer ? ", expected answer " : ""}`, one && first.answer ? words(cut(first.answer, 80)) : "", ", whatever came of them."),
      one ? prompt(first) : null, make("div", { class: "sides" }, side(before, !one), side(after, !one)));
  };
  const where = data.runs.length > 1 ? `: ${run.name}` : "";
  return make("section", { class: "panel", id: "replies" }, make("h2", {}, words(`${run.pairs[0][2] === "task" ? "One prompt, before" : "Before"} and after${where}`)), pair(run.pairs[0]), ...run.pairs.slice(1).map((each) => folded(`and of ${data.episodes[each[0]].game}`, pair(each), false)));
}
const squeezed = (text) => text.replace(/[ \t]+/g, " ").replace(/\n\s*\n+/g, "\n").trim();
const excerpt = (text, most) => { const whole = squeezed(text); return cut(whole, most) + ([...whole].length > most ? " …" : ""); };
// The end of a text, from the beginning of a paragraph, a sentence or at least a word.
function tail(text, most) {
  const signs = [...squeezed(text)];
  if (signs.length <= most) return signs.join("");
  const end = signs.slice(-most).join("");
  const from = ["\n", ". ", " "].map((mark) => end.indexOf(mark) + mark.length).find((at, number) => at > number && at < end.length * 0.75);
  return `… ${end.slice(from || 0).trim()}`;
}

function states() {
  const place = data.runs.findIndex((run) => run.states);
  if (place < 0) return null;
  const run = data.runs[place], found = run.states, colour = (GROUPS.find((group) => group.runs.includes(run)) || GROUPS[0]).colour;
  const choices = found.rows[0].choices, few = choices.length <= 4 && found.rows.every((row) => JSON.stringify(row.choices) === JSON.stringify(choices));
  const fill = (value) => `background: linear-gradient(to right, color-mix(in oklab, ${colour} 35%, transparent) ${(100 * value).toFixed(1)}%, transparent 0)`;
  const percent = (value) => `${Math.round(100 * value)}%`;
  const counted = found.rows[0].count !== null;
  const early = (row, number) => (counted ? make("span", { class: "quiet" }, row.before ? `${percent(row.before[number])} → ` : "– → ") : null);
  const seats = new Set(found.rows.map((row) => row.seat)).size > 1;
  const state = (row) => make("td", { class: "state" }, seats ? make("span", { class: "quiet" }, `${row.seat}: `) : null, words(tail(row.text, 220)));
  // where the equilibria lie: a line below the bar; in the nearest one: a stroke
  const known = ([low, high, near]) => {
    const from = Math.max(100 * low - 1, 0), to = Math.min(100 * high + 1, 100), at = Math.min(Math.max(100 * near, 1), 99);
    return `background: linear-gradient(to right, transparent ${from}%, var(--ink) 0, var(--ink) ${to}%, transparent 0) bottom / 100% 3px no-repeat, linear-gradient(to right, transparent calc(${at}% - 1px), var(--ink) 0, var(--ink) calc(${at}% + 1px), transparent 0), `;
  };
  const range = ([low, high]) => (high > low ? `${percent(low)} to ${percent(high)}` : percent(low));
  const bar = (row, number) => make("td", { class: "n chance", style: fill(row.after[number]) }, early(row, number), percent(row.after[number]));
  // of two replies the second: its bar, its share and what it is in the equilibria
  const diagram = (row) => [make("td", { class: "diagram", style: fill(row.after[1]).replace("background: ", known(row.known[1])) }), make("td", { class: "n" }, early(row, 1), percent(row.after[1])), make("td", { class: "n quiet" }, range(row.known[1]))];
  const likely = (row) => {
    const order = row.choices.map((_, number) => number).sort((a, b) => row.after[b] - row.after[a]);
    const top = order.slice(0, 4).filter((number, place) => !place || row.after[number] >= 0.01);
    const rest = order.slice(top.length).reduce((sum, number) => sum + row.after[number], 0);
    return make("td", {}, ...top.map((number) => make("div", { class: "chance", style: fill(row.after[number]) }, make("strong", {}, words(cut(row.choices[number], 40))), " ", early(row, number), percent(row.after[number]))), order.length > top.length ? make("div", { class: "quiet" }, `${order.length - top.length} other${order.length - top.length > 1 ? "s" : ""}, ${percent(rest)}`) : null);
  };
  const table = make("table", { class: "states" }, make("tr", {}, make("th", {}, "state"), counted ? make("th", { class: "n" }, "replies") : null, ...(found.nearest ? [make("th", { class: "n", colspan: 2 }, "bet or call"), make("th", { class: "n" }, "equilibria")] : few ? choices.map((choice) => make("th", { class: "n" }, words(cut(choice, 30)))) : [make("th", {}, "most likely replies")])),
    ...found.rows.map((row) => make("tr", {}, state(row), counted ? make("td", { class: "n" }, String(row.count)) : null, ...(found.nearest ? diagram(row) : few ? choices.map((_, number) => bar(row, number)) : [likely(row)]))));
  const all = found.total > found.rows.length ? `the ${found.rows.length} of ${found.total} states ${found.which}` : `all ${found.total} states`;
  return make("section", { class: "panel", id: "states" }, make("h2", {}, `What the policy plays${data.runs.length > 1 ? `: ${run.name}` : ""}`), make("p", { class: "quiet small" }, words(counted ? `Share of each reply in ${found.total} states: ${found.before} → ${found.source}.` : `Probability of each reply in ${all}, from ${found.source}.`)), make("div", { class: "scroll" }, table),
    found.nearest ? make("p", { class: "quiet small" }, `Kuhn poker has an equilibrium for each chance of betting the jack from 0% to 33% (Kuhn, 1950). The line at the foot of a bar is where they lie, the stroke the nearest of them: ${percent(Number(found.nearest))} with the jack.`) : null);
}

// --- tables ------------------------------------------------------------------------------------------------------

function ends() {
  const names = Object.keys(data.figures);
  const rows = names.map((name) => make("tr", {}, make("td", {}, capital(known(name).words), " ", make("code", { class: "quiet" }, name)), ...data.runs.flatMap((run) => {
    const points = run.curves[name] || [];
    return [make("td", { class: "n" }, points.length ? told(name, points[0][1]) : ""), make("td", { class: "n" }, points.length ? told(name, points[points.length - 1][1]) : ""), make("td", { class: "n quiet" }, points.length ? words(run.rests_on[name] || "–") : "")];
  })));
  const head = make("tr", {}, make("th", {}, ""), ...data.runs.flatMap((run) => [make("th", { class: "n" }, data.runs.length > 1 ? `${run.name}, start` : "start"), make("th", { class: "n" }, "end"), make("th", { class: "n", title: "samples that the figure is a mean over; – for a count, a setting or a state" }, "rests on")]));
  const table = folded("At the start and at the end", make("div", { class: "scroll" }, make("table", {}, head, ...rows)), false);
  return make("section", { id: "ends" }, make("h2", {}, "Start and end"), table);
}

// What became of every reply that was sampled: the cells of a run sum to all of them.
const FORMS = ["whole", "cut off", "unreadable"];
function samples() {
  const counted = data.runs.filter((run) => run.samples.length);
  if (!counted.length) return null;
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const row = (title, counts, all) => make("tr", {}, make("td", {}, title), ...[...counts, sum(counts)].map((count) => make("td", { class: "n" }, count.toLocaleString("en"))), make("td", { class: "n quiet" }, `${((100 * sum(counts)) / all).toFixed(1)}%`));
  const tables = counted.map((run) => {
    const columns = FORMS.map((_, at) => sum(run.samples.map((fate) => fate[at + 2]))), all = sum(columns);
    const head = make("tr", {}, make("th", {}, data.runs.length > 1 ? words(run.name) : ""), ...[...FORMS, "all", ""].map((form) => make("th", { class: "n" }, form)));
    return make("div", { class: "scroll" }, make("table", {}, head, ...run.samples.map(([fate, means, ...counts]) => row(make("span", { title: means }, means), counts, all)), row(make("strong", {}, "all that was sampled"), columns, all)));
  });
  return make("section", { id: "samples" }, make("h2", {}, "What became of every reply"), folded("Counts of sampled replies", make("div", {}, ...tables), counted.length === 1));
}

function settingsTable() {
  const names = [...new Set(data.runs.flatMap((run) => Object.keys(run.settings)))];
  const rows = names.map((name) => {
    const values = data.runs.map((run) => run.settings[name] ?? "");
    return make("tr", { class: new Set(values).size > 1 ? "differs" : null }, make("td", {}, name), ...values.map((value) => make("td", {}, words(value))));
  });
  const head = make("tr", {}, make("th", {}, ""), ...data.runs.map((run) => make("th", {}, run.name)));
  return folded("Settings and versions", make("div", { class: "scroll" }, make("table", {}, data.runs.length > 1 ? head : null, ...rows)), false);
}

function folded(title, content, open) {
  return make("details", { open }, make("summary", {}, title), content);
}

function heat(players, values, top, written, widths = null) {
  const cell = (value, one, other) => {
    const share = Math.round((80 * Math.abs(value ?? 0)) / top);
    const colour = value > 0 ? "var(--more)" : "var(--less)";
    return make("td", { style: value === null ? null : `background: color-mix(in oklab, ${colour} ${share}%, transparent)`, title: `${players[one]} against ${players[other]}` }, value === null ? "" : written(value), widths && value !== null ? make("span", { class: "small" }, widths[one][other] === null ? " ±?" : ` ±${widths[one][other].toFixed(3)}`) : null);
  };
  const rows = values.map((row, one) => make("tr", {}, make("th", {}, players[one]), ...row.map((value, other) => cell(one === other ? null : value, one, other))));
  return make("div", { class: "scroll" }, make("table", { class: "heat" }, make("tr", {}, make("th", {}, ""), ...players.map((name) => make("th", {}, name))), ...rows));
}

function tournament(found) {
  const top = Math.max(...found.scores.flat().map(Math.abs), 1e-9);
  const ladder = make("table", {}, make("tr", {}, ...found.ladder.headings.map((heading, number) => make("th", { class: number ? "n" : null }, heading))),
    ...found.ladder.rows.map((row) => make("tr", {}, ...row.map((value, number) => make("td", { class: number ? "n" : null }, value)))));
  return make("section", { id: "tournament" }, make("h2", {}, `Tournament: ${found.game}`), make("p", { class: "quiet" }, `${found.matches} matches of each pair, half in each seating. Mean score of the row's player against the column's${found.widths ? ", and half its 95 % interval; ? where the deals are too few" : ""}.`),
    heat(found.players, found.scores, top, signed, found.widths), make("h2", {}, "Ratings"), make("div", { class: "scroll" }, ladder), ...found.ladder.notes.map((note) => make("p", {}, note)));
}

function suite([run, found]) {
  const texts = found.headings.indexOf("of");
  const tone = { gained: "var(--more)", forgotten: "var(--less)" };
  const rows = found.rows.map((row) => make("tr", {}, ...row.map((value, number) => make("td", { class: number >= texts ? "n" : null, style: number === row.length - 1 && tone[value] ? `color: ${tone[value]}` : null }, words(value)))));
  return make("div", {}, make("h3", {}, words(data.runs.length > 1 ? `${data.runs[run].name}: ${found.of}` : found.of)), make("p", { class: "quiet" }, words(`Before and after ${found.updates} updates${found.settings ? `, with ${found.settings}` : ""}; 95 % intervals: exact binomial ones of what is right or wrong, Student's t of other means.`)),
    make("div", { class: "scroll" }, make("table", {}, make("tr", {}, ...found.headings.map((heading, number) => make("th", { class: number >= texts ? "n" : null }, words(heading)))), ...rows)));
}

function suites() {
  return data.suites.length ? [make("section", { id: "suites" }, make("h2", {}, "Gained and forgotten in others' tests"), ...data.suites.map(suite))] : [];
}

function league(found) {
  const leads = found.win_rates.map((row) => row.map((rate) => (rate === null ? null : rate - 0.5)));
  const rows = found.players.map((name, number) => make("tr", {}, make("td", {}, name), make("td", {}, found.kinds[number]), make("td", { class: "n" }, String(Math.round(found.ratings[number]) || 0))));
  return make("section", { id: "league" }, make("h2", {}, "League"), make("p", { class: "quiet" }, "Share of matches that the row's player wins against the column's, draws counting half; empty where they have not met. Results of those who learn fade."),
    heat(found.players, leads, 0.5, (lead) => (lead + 0.5).toFixed(2)), make("h2", {}, "Ratings within the league"), make("div", { class: "scroll" }, make("table", {}, make("tr", {}, make("th", {}, "player"), make("th", {}, "role"), make("th", { class: "n" }, "Elo")), ...rows)));
}

// --- two players on the same tasks and seeds ----------------------------------------------------------------------

function comparison(found) {
  const head = (...cells) => make("tr", {}, ...cells.map((cell) => make("th", {}, cell)));
  const scores = make("table", {}, head("score as", ...found.names, "the second is better by"),
    ...found.scores.map(([role, first, second, better]) => make("tr", {}, make("td", {}, words(role)), make("td", { class: "n" }, signed(first)), make("td", { class: "n" }, signed(second)), make("td", { class: "n" }, better))));
  const crossings = found.crossings.map((each) => folded(`turn ${each.turn}, ${each.seat}, in ${each.count} ${each.count === 1 ? "match" : "matches"}: ${each.said.map((text) => cut(text, 60)).join(" or ")}`, make("div", {},
    ...each.shown.map(([speaker, text]) => make("div", { class: "text shown" }, words(`${speaker}: `), words(text))),
    make("div", { class: "scroll" }, make("table", { class: "chances" }, head("", ...found.names), make("tr", {}, make("td", {}, "says"), ...each.said.map((text) => make("td", { class: "said" }, words(cut(text, 300))))),
      ...(each.chances.some(Boolean) ? each.choices : []).map((choice, number) => make("tr", {}, make("td", {}, words(choice)), ...each.chances.map((chances) => chance(chances && chances[number]))))))), false));
  const pairs = found.pairs.map((pair) => make("tr", { class: pair.fork === null ? "quiet" : null }, make("td", {}, words(cut(pair.task, 120)), pair.role ? ` as ${pair.role}` : ""), ...[0, 1].map((side) => make("td", {},
    ...pair.said[side].flatMap(([seat, text], turn) => [make("span", { class: turn === pair.fork ? "parted" : null, title: seat }, words(cut(text, 120))), " "]), make("span", { class: "quiet" }, pair.scores[side].map(([seat, score]) => `${seat} ${signed(score)}`).join(", "))))));
  const rest = found.matches - found.pairs.length;
  return make("section", { class: "comparison", id: "comparison" }, make("h2", {}, `${found.names.join(" and ")} side by side`),
    make("p", { class: "quiet" }, `${found.game}, ${found.matches} matches with each, on the same tasks and seeds, ${found.against ? `against ${found.against}` : "each in all seats"}. They part in ${found.parted}.`),
    make("div", { class: "scroll" }, scores), make("h3", {}, "Where they part"), ...crossings,
    folded(rest ? `Matches, ${found.pairs.length} of ${found.matches}` : "Matches", make("div", { class: "scroll" }, make("table", {}, make("tr", {}, make("th", {}, "task"), ...found.names.map((name) => make("th", {}, name))), ...pairs)), false));
}

function chance(value) {
  if (value === null || value === undefined) return make("td", {});
  return make("td", { class: "n", style: `background: linear-gradient(to left, color-mix(in oklab, var(--rule) 90%, transparent) ${(100 * value).toFixed(1)}%, transparent 0)` }, value.toFixed(3));
}

// --- episodes ----------------------------------------------------------------------------------------------------

const view = { colour: "none", seats: "interleaved", filter: "", run: "", game: "", sort: "newest", shown: ROWS };

function haystack(episode) {
  if (!episode.searched) {
    const said = episode.turns.flatMap((turn) => [data.texts[turn.said], turn.thought === null ? "" : data.texts[turn.thought], ...turn.shown.flatMap(([, blocks]) => blocks.map(([place]) => data.texts[place]))]);
    episode.searched = [episode.name, episode.game, episode.task, ...said, ...Object.values(episode.facts)].join("\n").toLowerCase();
  }
  return episode.searched;
}

function chosen() {
  const wanted = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = data.episodes.filter((episode) => (!view.run || String(episode.run) === view.run) && (!view.game || episode.game === view.game) && wanted.every((word) => haystack(episode).includes(word)));
  const best = (episode) => Math.max(...episode.scores.map(([, score]) => score));
  const orders = { newest: (a, b) => b.step - a.step, oldest: (a, b) => a.step - b.step, "highest score": (a, b) => best(b) - best(a), "lowest score": (a, b) => best(a) - best(b), longest: (a, b) => b.turns.length - a.turns.length };
  return found.slice().sort(orders[view.sort]);
}

function episodes() {
  const list = make("div", { class: "list" });
  const count = make("span", { class: "quiet", id: "count", role: "status" });
  const show = () => {
    const found = chosen();
    list.replaceChildren(...found.slice(0, view.shown).flatMap(row));
    if (found.length > view.shown) list.append(make("button", { type: "button", onclick: () => { view.shown += ROWS; show(); } }, `${found.length - view.shown} more`));
    count.textContent = `${found.length} of ${data.episodes.length} episodes` + (data.recorded > data.episodes.length ? `, a sample of ${data.recorded} recorded` : "");
  };
  const pick = (name, values, label) => make("select", { "aria-label": label, onchange: (event) => { view[name] = event.target.value; view.shown = ROWS; show(); } },
    ...values.map(([value, text]) => make("option", { value }, text)));
  const toggle = (name, value, text) => make("button", { type: "button", "data-toggle": `${name}:${value}`, "aria-pressed": String(view[name] === value), onclick: (event) => {
    view[name] = value;
    document.querySelectorAll(`[data-toggle^="${name}:"]`).forEach((button) => button.setAttribute("aria-pressed", String(button === event.currentTarget)));
    document.querySelectorAll(".episode").forEach((element) => element.replaceWith(opened(data.episodes[+element.dataset.place])));
  } }, text);
  const games = [...new Set(data.episodes.map((episode) => episode.game))];
  const bar = make("div", { class: "bar" },
    make("input", { type: "search", id: "search", placeholder: "words, a task, a seat, STEP.NUMBER", "aria-label": "search episodes", oninput: (event) => { view.filter = event.target.value; view.shown = ROWS; show(); } }),
    data.runs.length > 1 ? pick("run", [["", "all runs"], ...data.runs.map((run, number) => [String(number), run.name])], "run") : null,
    games.length > 1 ? pick("game", [["", "all games"], ...games.map((game) => [game, game])], "game") : null,
    pick("sort", ["newest", "oldest", "highest score", "lowest score", "longest"].map((name) => [name, name]), "order"));
  const looks = make("div", { class: "bar" }, "Words coloured by", toggle("colour", "none", "nothing"), toggle("colour", "logprob", "log-probability"), toggle("colour", "advantage", "advantage"), toggle("colour", "weight", "what is learned from"),
    "Seats", toggle("seats", "interleaved", "interleaved"), toggle("seats", "side", "side by side"));
  show();
  bar.firstElementChild.addEventListener("redraw", show);
  return make("section", { id: "episodes" }, make("h2", {}, "Episodes"), bar, looks, count, list);
}

function row(episode) {
  const place = data.episodes.indexOf(episode);
  const scores = episode.scores.map(([seat, score]) => `${seat} ${signed(score)}`).join(", ");
  const name = data.runs.length > 1 ? `${data.runs[episode.run].name} ${episode.name}` : episode.name;
  const button = make("button", { type: "button", class: "row", "aria-expanded": "false", "data-name": episode.name, "data-at": place, onclick: () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) button.nextElementSibling.remove();
    else button.after(opened(episode, place));
  } }, make("strong", {}, name), ` ${episode.game} · `, words(cut(episode.task, 120)), ` · ${scores} `, preview(episode),
    ...(episode.facts.forfeit ? [" ", make("span", { class: "tag bad" }, "forfeit")] : []));
  return [button];
}

function preview(episode) {
  const last = episode.turns[episode.turns.length - 1];
  return last ? make("span", { class: "quiet" }, words(cut(data.texts[last.said].replace(/\s+/g, " "), 80))) : null;
}

function opened(episode, place = data.episodes.indexOf(episode)) {
  const seats = episode.scores.map(([seat]) => seat);
  const side = view.seats === "side" && seats.length > 1;
  const turns = make("div", { class: side ? "turns side" : "turns", style: side ? `grid-template-columns: repeat(${seats.length}, minmax(12rem, 1fr))` : null },
    ...episode.turns.map((turn, number) => said(turn, episode, number, side ? seats.indexOf(turn.seat) + 1 : 0, number + 1)));
  const facts = Object.entries(episode.facts).map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", {}, words(value))));
  const end = episode.frames.length ? make("div", {}, make("p", { class: "quiet" }, "The end:"), drawn(episode.frames[episode.frames.length - 1], episode)) : null;
  return make("div", { class: "episode", "data-place": place },
    make("p", {}, ...episode.scores.flatMap(([seat, score]) => [make("span", { class: "tag" }, `${seat} ${signed(score)}`), " "]), make("span", { class: "quiet" }, `task ${cut(episode.task, 200)}, seed ${episode.seed}`)),
    episode.answer ? make("p", { class: "quiet" }, "expected answer: ", words(episode.answer)) : null,
    turns, end, facts.length ? folded("What is known afterwards", make("table", {}, ...facts), facts.length <= 6) : null,
    episode.replay ? make("p", { class: "quiet" }, "Play it again, checked word for word: ", make("code", {}, episode.replay)) : null);
}

function said(turn, episode, number, column, line) {
  const block = ([place, secret], number) => [number ? "\n" : "", make("span", secret ? { class: "private", title: `only ${turn.seat} was shown this` } : {}, words(data.texts[place]))];
  const shown = turn.shown.map(([speaker, blocks]) => make("div", { class: "text shown" }, words(`${speaker}: `), ...blocks.flatMap(block)));
  const parts = Object.entries(turn.parts).map(([name, value]) => `${name} ${signed(value)}`).join(", ");
  const credit = [turn.reward === null ? "" : `reward ${signed(turn.reward)}${parts ? ` (${parts})` : ""}`, turn.advantage === null ? "" : `advantage ${signed(turn.advantage)}`, turn.logprob === null ? "" : `log-probability ${short(turn.logprob)}`].filter(Boolean).join(", ");
  return make("div", { class: "turn", style: column ? `grid-column: ${column}; grid-row: ${line}` : null },
    make("h4", {}, turn.seat, turn.to, make("span", { class: "quiet" }, turn.player), ...turn.flags.map((flag) => make("span", { class: "tag bad" }, flag))),
    episode.frames.length ? drawn(episode.frames[number], episode, turn.seat) : null, ...shown,
    turn.thought === null ? null : make("div", { class: "text thought", title: "private: no game and no other seat is shown it" }, words(data.texts[turn.thought])),
    make("div", { class: "text said" }, coloured(turn)), make("div", { class: "quiet" }, credit));
}

function coloured(turn) {
  if (view.colour === "none" || (!turn.words.length && view.colour !== "advantage")) return words(data.texts[turn.said]);
  const tint = (value, most) => `background: color-mix(in oklab, ${value >= 0 ? "var(--more)" : "var(--less)"} ${Math.round(70 * Math.min(Math.abs(value) / most, 1))}%, transparent)`;
  if (!turn.words.length) return make("span", { class: "word", style: tint(turn.advantage || 0, 2) }, words(data.texts[turn.said]));
  const whole = document.createDocumentFragment();
  for (const [piece, logprob, free] of turn.words) {
    const style = view.colour === "logprob" ? tint(logprob, 4) : view.colour === "advantage" ? tint(free ? turn.advantage || 0 : 0, 2) : tint(free && turn.advantage ? 2 : 0, 2);
    whole.append(make("span", { class: free ? "word" : "word forced", style, title: `log-probability ${short(logprob)}, chance ${short(Math.exp(logprob))}${free ? "" : ", forced: no other word was legal"}` }, words(piece)));
  }
  return whole;
}

function drawn(frame, episode, seat = null) {
  if (frame.kind === "board") return make("table", { class: "board", "aria-label": "the board" }, ...frame.rows.map((cells, row) => make("tr", {}, ...cells.map((cell, column) => make("td", { class: [/^[XO]$/.test(cell) ? "" : "empty", frame.last && frame.last[0] === row && frame.last[1] === column ? "last" : ""].join(" ").trim() }, cell)))));
  const hands = Object.entries(frame.hands).map(([owner, held]) => make("span", {}, ...held.map((card) => make("span", { class: owner === seat || seat === null ? "card private" : "card", title: seat !== null && owner !== seat ? `${seat} does not see this` : "" }, `${owner}: ${card}`))));
  return make("div", {}, ...hands, ...frame.shared.map((card) => make("span", { class: "card" }, `on the table: ${card}`)));
}

// --- the page ----------------------------------------------------------------------------------------------------

function openEpisode(place) {
  const episode = data.episodes[place];
  view.run = view.game = "";
  const search = document.getElementById("search");
  search.value = view.filter = "";
  document.querySelectorAll("#episodes select").forEach((select) => { if (select.getAttribute("aria-label") !== "order") select.value = ""; });
  view.shown = Math.max(ROWS, chosen().indexOf(episode) + 1);
  search.dispatchEvent(new Event("redraw"));
  const button = [...document.querySelectorAll(".row")].find((each) => each.dataset.at === String(place));
  if (button.getAttribute("aria-expanded") !== "true") button.click();
  requestAnimationFrame(() => button.scrollIntoView());
}

function header() {
  if (!data.runs.length) return make("header", {}, make("h1", {}, document.title));
  const sentences = GROUPS.map((group) => make("p", { class: GROUPS.length > 1 ? "sentence several" : "sentence" }, GROUPS.length > 1 ? [make("span", { class: "key", style: `background:${group.colour}` }), make("strong", {}, words(`${group.name}: `))] : null, words([group.sentence, group.against].filter(Boolean).join(" "))));
  const ends = data.runs.map((run) => {
    const bad = run.ending.status === "died" || run.ending.status === "stopped";
    if (!bad && data.runs.length > 1) return null;
    return make("p", { class: bad ? "ending bad" : "ending" }, data.runs.length > 1 ? [make("strong", {}, words(run.name)), " "] : null, make("span", { class: bad ? "tag bad" : "tag" }, run.ending.words), run.ending.error ? [" ", words(run.ending.error)] : null,
      bad ? null : [" ", make("span", { class: "quiet small" }, duration(run.seconds))]);
  });
  const one = data.runs.length === 1 ? make("p", { class: "command" }, make("code", {}, words(data.runs[0].command || "The command was not recorded."))) : null;
  return make("header", {}, make("div", { class: "top" }, make("h1", {}, document.title), ...ends), ...sentences.slice(0, 4), sentences.length > 4 ? folded(`${sentences.length - 4} more`, make("div", {}, ...sentences.slice(4)), false) : null, one);
}

function command() {
  const runs = data.runs.map((run) => make("div", { class: "command" }, data.runs.length > 1 ? [make("strong", {}, words(run.name)), make("code", {}, words(run.command || "The command was not recorded."))] : null,
    make("div", { class: "quiet small" }, `${run.recipe}, seed ${run.seed}, ${run.steps} steps in ${duration(run.seconds)}; folder `, make("code", {}, words(run.folder))),
    make("div", { class: "small chosen" }, ...Object.entries(run.settings).filter(([name, value]) => name.startsWith("config.") && !run.usual.includes(name) && !["by default", "[]", "()", ""].includes(value)).map(([name, value]) => make("span", {}, make("span", { class: "quiet" }, words(`${name.slice(7)} `)), words(cut(value, 60)))))));
  return make("section", { class: "panel", id: "command" }, make("h2", {}, data.runs.length > 1 ? "Commands and settings" : "Settings"), ...runs, settingsTable());
}
const duration = (seconds) => (seconds < 120 ? `${short(+seconds.toFixed(1))} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${short(+(seconds / 3600).toFixed(1))} h`);

function anchors(parts) {
  const known = [["alarms", "Alarms"], ["curve", "The curve"], ["replies", "Before and after"], ["states", "What it plays"], ["command", data.runs.length > 1 ? "Commands and settings" : "Settings"], ["curves", "All curves"], ["ends", "Start and end"], ["samples", "Every reply"], ["suites", "Others' tests"], ["league", "League"], ["tournament", "Tournament"], ["comparison", "Side by side"], ["episodes", "Episodes"], ["colours", "Colours"]];
  const there = new Set(parts.filter(Boolean).flatMap((part) => [part.id, ...[...part.querySelectorAll("[id]")].map((each) => each.id)]));
  return make("nav", {}, ...known.filter(([id]) => there.has(id)).map(([id, text]) => make("a", { href: `#${id}` }, text)));
}

function colours() {
  const key = (style, text) => make("span", { class: "swatch" }, make("span", { class: "key", style }), text);
  return make("section", { id: "colours", class: "quiet small" }, make("h2", {}, "Colours"), make("p", {}, key(`background:${COLOURS[0]}`, GROUPS.length > 1 ? "a run each: see the legend" : "this run"), key("background:var(--red)", "alarms and failures"), key("background:var(--secret)", "what one seat alone was shown"), key("background:var(--more)", "above zero"), key("background:var(--less)", "below zero")));
}

if (data.runs.length) {
  const played = states(), main = mainCurve();
  const [first, second] = main ? [[main, played ? beforeAndAfter() : null], [alarms(), played || beforeAndAfter(), command()]] : [[alarms(), beforeAndAfter()], [played, command()]];
  const rest = [curves(), ends(), samples(), ...suites(), ...data.leagues.map(league), ...data.tournaments.map(tournament), ...data.comparisons.map(comparison), data.episodes.length ? episodes() : make("p", { class: "quiet" }, "No episodes were recorded."), colours()];
  const grid = make("div", { class: "first" }, make("div", {}, ...first.filter(Boolean)), make("div", {}, ...second.filter(Boolean)));
  page.append(header(), anchors([grid, ...rest]), grid, ...rest);
} else {
  page.append(header(), episodes());
  page.querySelector(".row").click(); // one episode, shown alone
}
page.dataset.ready = "true";
