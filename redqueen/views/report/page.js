// Draws the report from its data.
const COLOURS = ["#b3202c", "#1d6fa5", "#3c8a4e", "#a86b00", "#7a4fa3", "#00838a", "#a33b7a", "#5f6b00"];
const FEW = 12; // curves shown before the rest is asked for
const ROWS = 100; // episodes shown before the rest is asked for

// --- curves: a line for each run, or for each group of runs that differ in the seed alone, with its interval ------
// A run whose seed its group has already tells nothing more of the spread: it is a line of its own.

function groups() {
  const found = new Map();
  data.runs.forEach((run) => {
    const key = JSON.stringify([run.recipe, Object.entries(run.settings).filter(([name]) => name.startsWith("config."))]);
    const group = found.get(key);
    if (group && group.every((other) => other.seed !== run.seed)) group.push(run);
    else found.set(group ? run : key, [run]);
  });
  return [...found.values()].map((runs, number) => ({
    runs,
    colour: COLOURS[number % COLOURS.length],
    name: runs.length === 1 ? runs[0].name : `${runs[0].recipe}, ${runs.length} seeds (${runs.map((run) => run.name).join(", ")})`,
  }));
}
const GROUPS = groups();

// Student's t at 97.5 % for 1, 2, ... degrees of freedom
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
function joined(group, figure) {
  const at = new Map();
  group.runs.forEach((run) => (run.curves[figure] || []).forEach(([step, value]) => at.set(step, [...(at.get(step) || []), value])));
  return [...at.entries()].sort((a, b) => a[0] - b[0]).map(([step, values]) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    if (values.length < 2) return { step, mean, half: 0, count: values.length };
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    return { step, mean, half: ((T[values.length - 2] || 1.96) * deviation) / Math.sqrt(values.length), count: values.length };
  });
}

function figure(name) {
  const series = GROUPS.map((group) => ({ group, points: joined(group, name) })).filter((each) => each.points.length);
  const all = series.flatMap((each) => each.points);
  const last = Math.max(...all.map((point) => point.step), 1);
  const top = Math.max(...all.map((point) => point.mean + point.half));
  const bottom = Math.min(...all.map((point) => point.mean - point.half), top >= 0 ? 0 : Infinity);
  const height = top - bottom || 1;
  const x = (step) => 40 + (272 * step) / last;
  const y = (value) => 120 - (110 * (value - bottom)) / height;
  const svg = make("svg", { viewBox: "0 0 320 140", role: "img", "aria-label": name },
    make("line", { class: "axis", x1: 40, y1: y(Math.max(bottom, Math.min(0, top))), x2: 312, y2: y(Math.max(bottom, Math.min(0, top))), stroke: "currentColor" }),
    make("text", { x: 2, y: 14 }, short(top)), make("text", { x: 2, y: 120 }, short(bottom)),
    make("text", { x: 312, y: 136, "text-anchor": "end" }, `step ${last}`));
  for (const { group, points } of series) {
    if (group.runs.length > 1) {
      const upper = points.map((point) => `${x(point.step).toFixed(1)},${y(point.mean + point.half).toFixed(1)}`);
      const lower = points.map((point) => `${x(point.step).toFixed(1)},${y(point.mean - point.half).toFixed(1)}`).reverse();
      svg.append(make("path", { class: "band", fill: group.colour, d: `M${[...upper, ...lower].join("L")}Z` }));
    }
    const path = points.map((point) => `${x(point.step).toFixed(1)},${y(point.mean).toFixed(1)}`).join("L");
    svg.append(make("path", { class: "line", stroke: group.colour, d: `M${path}${points.length === 1 ? "h0" : ""}` }));
  }
  const marker = make("line", { class: "axis", x1: 0, x2: 0, y1: 8, y2: 120, stroke: "currentColor", visibility: "hidden" });
  const reading = make("figcaption", {});
  const rest = () => {
    marker.setAttribute("visibility", "hidden");
    const ends = series.map(({ points }) => `${short(points[0].mean)} → ${short(points[points.length - 1].mean)}`);
    reading.replaceChildren(make("strong", {}, name), `: ${ends.join("; ")}`);
  };
  svg.append(marker);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const step = ((((event.clientX - box.left) / box.width) * 320 - 40) / 272) * last;
    const near = series.map(({ group, points }) => ({ group, point: points.reduce((best, point) => (Math.abs(point.step - step) < Math.abs(best.step - step) ? point : best)) }));
    marker.setAttribute("visibility", "visible");
    marker.setAttribute("x1", x(near[0].point.step));
    marker.setAttribute("x2", x(near[0].point.step));
    const read = near.map(({ point }) => short(point.mean) + (point.count > 1 ? ` ± ${short(point.half)}` : ""));
    reading.replaceChildren(make("strong", {}, name), `, step ${near[0].point.step}: ${read.join("; ")}`);
  });
  svg.addEventListener("pointerleave", rest);
  rest();
  return make("figure", { "data-figure": name }, svg, reading);
}

function curves() {
  const names = [...new Set(data.runs.flatMap((run) => Object.keys(run.curves)))];
  const grid = make("div", { class: "curves" }, ...names.slice(0, FEW).map(figure));
  const more = names.length > FEW ? make("button", { type: "button", onclick: () => { grid.append(...names.slice(FEW).map(figure)); more.remove(); } }, `${names.length - FEW} more curves`) : null;
  const legend = GROUPS.length > 1 ? make("p", {}, ...GROUPS.flatMap((group) => [make("span", { class: "key", style: `background:${group.colour}` }), group.name])) : null;
  const band = GROUPS.some((group) => group.runs.length > 1) ? make("p", { class: "quiet" }, "Bands: 95 % interval of the mean over seeds (Student's t).") : null;
  return make("section", { id: "curves" }, make("h2", {}, "Curves"), legend, band, grid, more);
}

// --- tables ------------------------------------------------------------------------------------------------------

function ends() {
  const names = [...new Set(data.runs.flatMap((run) => Object.keys(run.curves)))];
  const rows = names.map((name) => make("tr", {}, make("td", {}, name), ...data.runs.flatMap((run) => {
    const points = run.curves[name] || [];
    return [make("td", { class: "n" }, points.length ? short(points[0][1]) : ""), make("td", { class: "n" }, points.length ? short(points[points.length - 1][1]) : "")];
  })));
  const head = make("tr", {}, make("th", {}, ""), ...data.runs.flatMap((run) => [make("th", { class: "n" }, data.runs.length > 1 ? `${run.name}, start` : "start"), make("th", { class: "n" }, "end")]));
  return folded("At the start and at the end", make("div", { class: "scroll" }, make("table", {}, head, ...rows)), data.runs.length === 1 && names.length <= FEW);
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

function heat(players, values, top, written) {
  const cell = (value, one, other) => {
    const share = Math.round((80 * Math.abs(value ?? 0)) / top);
    const colour = value > 0 ? "var(--blue)" : "var(--red)";
    return make("td", { style: value === null ? null : `background: color-mix(in oklab, ${colour} ${share}%, transparent)`, title: `${players[one]} against ${players[other]}` }, value === null ? "" : written(value));
  };
  const rows = values.map((row, one) => make("tr", {}, make("th", {}, players[one]), ...row.map((value, other) => cell(one === other ? null : value, one, other))));
  return make("div", { class: "scroll" }, make("table", { class: "heat" }, make("tr", {}, make("th", {}, ""), ...players.map((name) => make("th", {}, name))), ...rows));
}

function tournament(found) {
  const top = Math.max(...found.scores.flat().map(Math.abs), 1e-9);
  const ladder = make("table", {}, make("tr", {}, ...found.ladder.headings.map((heading, number) => make("th", { class: number ? "n" : null }, heading))),
    ...found.ladder.rows.map((row) => make("tr", {}, ...row.map((value, number) => make("td", { class: number ? "n" : null }, value)))));
  return make("section", {}, make("h2", {}, `Tournament: ${found.game}`), make("p", { class: "quiet" }, `${found.matches} matches of each pair, half in each seating. Mean score of the row's player against the column's.`),
    heat(found.players, found.scores, top, signed), make("h2", {}, "Ratings"), make("div", { class: "scroll" }, ladder), ...found.ladder.notes.map((note) => make("p", {}, note)));
}

function league(found) {
  const leads = found.win_rates.map((row) => row.map((rate) => (rate === null ? null : rate - 0.5)));
  const rows = found.players.map((name, number) => make("tr", {}, make("td", {}, name), make("td", {}, found.kinds[number]), make("td", { class: "n" }, String(Math.round(found.ratings[number]) || 0))));
  return make("section", {}, make("h2", {}, "League"), make("p", { class: "quiet" }, "Share of matches that the row's player wins against the column's, draws counting half; empty where they have not met. Results of those who learn fade."),
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
  return make("section", { class: "comparison" }, make("h2", {}, `${found.names.join(" and ")} side by side`),
    make("p", { class: "quiet" }, `${found.game}, ${found.matches} matches with each, on the same tasks and seeds, ${found.against ? `against ${found.against}` : "each in all seats"}. They part in ${found.parted}.`),
    make("div", { class: "scroll" }, scores), make("h3", {}, "Where they part"), ...crossings,
    folded(rest ? `Matches, ${found.pairs.length} of ${found.matches}` : "Matches", make("div", { class: "scroll" }, make("table", {}, make("tr", {}, make("th", {}, "task"), ...found.names.map((name) => make("th", {}, name))), ...pairs)), false));
}

function chance(value) {
  if (value === null || value === undefined) return make("td", {});
  return make("td", { class: "n", style: `background: linear-gradient(to left, color-mix(in oklab, var(--blue) 35%, transparent) ${(100 * value).toFixed(1)}%, transparent 0)` }, value.toFixed(3));
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
  return make("section", { id: "episodes" }, make("h2", {}, "Episodes"), bar, looks, count, list);
}

function row(episode) {
  const place = data.episodes.indexOf(episode);
  const scores = episode.scores.map(([seat, score]) => `${seat} ${signed(score)}`).join(", ");
  const name = data.runs.length > 1 ? `${data.runs[episode.run].name} ${episode.name}` : episode.name;
  const button = make("button", { type: "button", class: "row", "aria-expanded": "false", "data-name": episode.name, onclick: () => {
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
    make("h4", {}, turn.seat, make("span", { class: "quiet" }, turn.player), ...turn.flags.map((flag) => make("span", { class: "tag bad" }, flag))),
    episode.frames.length ? drawn(episode.frames[number], episode, turn.seat) : null, ...shown,
    turn.thought === null ? null : make("div", { class: "text thought", title: "private: no game and no other seat is shown it" }, words(data.texts[turn.thought])),
    make("div", { class: "text said" }, coloured(turn)), make("div", { class: "quiet" }, credit));
}

function coloured(turn) {
  if (view.colour === "none" || (!turn.words.length && view.colour !== "advantage")) return words(data.texts[turn.said]);
  const tint = (value, most) => `background: color-mix(in oklab, ${value >= 0 ? "var(--blue)" : "var(--red)"} ${Math.round(70 * Math.min(Math.abs(value) / most, 1))}%, transparent)`;
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

function header() {
  const many = data.runs.length > 1;
  const lines = data.runs.map((run) => make("p", { class: "quiet" }, many ? make("strong", {}, `${run.name} `) : null, make("code", {}, run.command), ` — ${run.steps} steps, ${short(run.seconds)} s, ${run.finished ? "finished" : "not finished"}`));
  return make("header", {}, make("h1", {}, document.title), ...lines);
}
const runs = data.runs.length ? [curves(), ...data.leagues.map(league), ...data.tournaments.map(tournament), ...data.comparisons.map(comparison), ends(), settingsTable()] : [];
page.append(...[header(), ...runs, data.episodes.length ? episodes() : make("p", { class: "quiet" }, "No episodes were recorded.")].filter(Boolean));
if (!data.runs.length) page.querySelector(".row").click(); // one episode, shown alone
page.dataset.ready = "true";
