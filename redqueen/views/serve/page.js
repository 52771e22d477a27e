// A game against the policy: what to play, the table, the moves. The server decides everything; this only shows it.
let game = null; // the view of the game that is played
let advice = null; // [[reply, probability], ...] of the ask on the page

async function request(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is redqueen serve still running?");
  }
  const found = await answer.json().catch(() => ({ error: "The server's answer cannot be read." }));
  if (!answer.ok) throw Object.assign(new Error(found.error), { status: answer.status });
  return found;
}
function called(player) {
  if (!player.startsWith(`${data.folder}@`)) return player;
  const step = player.slice(data.folder.length + 1);
  return `${data.run} at ${step === "best" ? "its best" : `step ${step}`}`;
}
const at = (rest = "") => `/api/games/${encodeURIComponent(game.key)}${rest}`;

// One request at a time: while it runs, nothing can be pressed; what it refuses is said and changes nothing.
async function doing(what, work) {
  const status = document.getElementById("status");
  if (page.getAttribute("aria-busy") === "true") return;
  page.setAttribute("aria-busy", "true");
  status.className = "";
  status.textContent = what;
  const pressed = [...page.querySelectorAll("button")].filter((button) => !button.disabled);
  const focused = document.activeElement;
  pressed.forEach((button) => (button.disabled = true));
  try {
    await work();
    status.className = game && game.trouble ? "bad" : "";
    status.textContent = game ? standing() : "";
  } catch (error) {
    status.className = "bad";
    status.replaceChildren(words(error.message));
  }
  pressed.forEach((button) => (button.disabled = false));
  page.setAttribute("aria-busy", "false");
  if (focused.isConnected) focused.focus();
  else document.querySelector("[data-next]")?.focus();
}

// --- what to play --------------------------------------------------------------------------------------------------

function setup() {
  const field = (label, name, control) => make("label", {}, label, Object.assign(control, { id: name, name }));
  const options = (control, values) => control.replaceChildren(...values.map(([value, text]) => make("option", { value }, words(text))));
  const [title, player, role, task] = ["select", "select", "select", "select"].map((tag) => make(tag));
  const seed = make("input", { inputmode: "numeric", placeholder: "by chance", autocomplete: "off", maxlength: 20 });
  options(title, data.games.map((each) => [each.name, each.name]));
  const refresh = () => {
    const chosen = data.games.find((each) => each.name === title.value);
    options(player, chosen.players.map((each) => [each, called(each)]));
    options(role, chosen.roles.map((each) => [each, each]));
    options(task, [["", "dealt by chance"], ...chosen.tasks.map((each, place) => [String(place), each])]);
  };
  title.addEventListener("change", refresh);
  refresh();
  const form = make("form", { onsubmit: (event) => {
    event.preventDefault();
    begin({ game: title.value, player: player.value, role: role.value, task: task.value === "" ? null : +task.value, seed: seed.value.trim() || null });
  } }, field("Game", "game", title), field("Against", "player", player), field("You take", "role", role), field("Deal", "task", task), field("Seed", "seed", seed),
    make("button", { type: "submit", class: "main", id: "begin" }, "Begin"));
  return make("details", { id: "setup", open: true }, make("summary", {}, "Play a game"), form);
}

function begin(wish) {
  doing("The table is laid …", async () => {
    const found = await request("/api/games", wish);
    if (game) request(at("/leave"), {}).catch(() => null);
    history.replaceState(null, "", `#${found.key}`);
    away();
    draw(found);
  });
}

function away() {
  const setup = document.getElementById("setup");
  setup.open = false;
  setup.querySelector("summary").textContent = "Another game";
}

// --- the table -----------------------------------------------------------------------------------------------------

function draw(found) {
  game = found;
  advice = null;
  const table = make("section", { id: "table" }, make("h2", {}, words(`${game.game}: you are ${game.role}, against ${called(game.against)}`)),
    make("div", { class: "play" }, make("div", { id: "now" }, ...now()), make("div", {}, moves())));
  document.getElementById("table").replaceWith(table);
}

function standing() {
  return game.trouble || (game.result ? verdict() : `Your turn, ${game.ask.seat}.`);
}

function redraw() {
  document.getElementById("now").replaceChildren(...now());
}

function now() {
  const parts = [game.frame && drawn(game.frame)];
  if (game.can_ask_again) parts.push(make("button", { type: "button", class: "main", "data-next": true, onclick: () => doing("Asked again …", async () => draw(await request(at("/go"), {}))) }, "Ask again"));
  if (game.ask) parts.push(told(game.ask.messages), heard(), choices(), entry(), ...advised());
  if (game.result) parts.push(end());
  return parts.filter(Boolean);
}

function say(text) {
  doing(`${called(game.against)} is thinking …`, async () => draw(await request(at("/say"), { entry: text, entries: game.entries })));
}

// The last line, which asks, is always read; what comes before it is folded once it was shown.
function told(messages) {
  const first = !game.moves.some((move) => move.yours);
  const texts = messages.map(([speaker, text]) => (speaker === "game" || speaker === "system" ? text : `${speaker}: ${text}`));
  const whole = texts.join("\n\n");
  const cut = whole.trimEnd().lastIndexOf("\n");
  const text = (content) => make("div", { class: "text" }, words(content));
  if (cut < 0) return make("div", { class: "told" }, text(whole));
  return make("div", { class: "told" }, make("details", { open: first || !game.frame }, make("summary", { class: "quiet" }, "What you are told"), text(whole.slice(0, cut))), text(whole.slice(cut + 1)));
}

// Who hears what the person says next, where the game states it.
function heard() {
  return game.ask.heard ? make("p", { class: "quiet", id: "heard" }, words(`What you say is heard: ${game.ask.seat} ${game.ask.heard}.`)) : null;
}

function drawn(frame) {
  if (frame.kind === "board") {
    const drops = frame.rows.some((row) => row.includes(""));
    const marks = { class: frame.rows[0].length > 4 ? "board wide" : "board", "aria-label": "the board" };
    return make("table", marks, ...frame.rows.map((row, y) => make("tr", {}, ...row.map((cell, x) => square(cell, drops && cell === "" ? String(x + 1) : cell, frame.last && frame.last[0] === y && frame.last[1] === x)))));
  }
  const hands = Object.entries(frame.hands).flatMap(([seat, cards]) => cards.map((card) => make("span", { class: "card" }, words(`${seat}: ${card}`))));
  return make("div", { class: "cards" }, ...hands, ...frame.shared.map((card) => make("span", { class: "card" }, words(`on the table: ${card}`))));
}

function square(cell, move, isLast) {
  const taken = /^[XO]$/.test(cell);
  if (taken || !game.ask || !game.ask.choices.includes(move)) return make("td", { class: [taken ? cell : "empty", isLast ? "last" : ""].join(" ") }, cell);
  const chance = advice && advice.find(([choice]) => choice === move);
  const next = move === game.ask.choices[0];
  const button = make("button", { type: "button", "data-move": move, "data-next": next, "aria-label": `play ${move}${chance ? `, ${percent(chance[1])}` : ""}`, onclick: () => say(move) }, cell || "↓", chance && cell ? make("small", {}, percent(chance[1])) : null);
  if (chance && cell) button.style.background = `color-mix(in oklab, var(--blue) ${Math.round(70 * chance[1])}%, transparent)`;
  return make("td", { class: "empty" }, button);
}

function choices() {
  const onBoard = game.frame && game.frame.kind === "board";
  if (!game.ask.choices.length || onBoard) return null;
  return make("div", { class: "choices", role: "group", "aria-label": "your legal replies" }, ...game.ask.choices.map((choice, place) =>
    make("button", { type: "button", "data-choice": choice, "data-next": place === 0, onclick: () => say(choice) }, game.ask.numbered ? make("span", { class: "quiet" }, `${place + 1} `) : null, words(choice))));
}

function entry() {
  const free = !game.ask.choices.length;
  const field = make("textarea", { id: "entry", rows: free ? 3 : 1, maxlength: data.longest, autocomplete: "off", "aria-label": "your reply", placeholder: free ? "your words; Enter sends, Shift+Enter makes a line" : "or write it", "data-next": free,
    onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      say(field.value);
    } });
  return make("div", { class: "entry" }, field, make("button", { type: "button", id: "send", onclick: () => say(field.value) }, "Say"));
}

// --- probabilities -------------------------------------------------------------------------------------------------

const percent = (chance) => `${(100 * chance).toFixed(chance > 0 && chance < 0.01 ? 1 : 0)} %`;

function bars(chances, said = null) {
  const rows = chances.slice().sort((a, b) => b[1] - a[1]).flatMap(([choice, chance]) => {
    const fill = make("div", { class: "fill" });
    fill.style.width = `${100 * chance}%`;
    return [make("div", { class: choice === said ? "what was" : "what" }, words(choice)), make("div", { class: "track", "aria-hidden": "true" }, fill), make("div", { class: "n" }, percent(chance))];
  });
  return make("div", { class: "bars" }, ...rows);
}

function advised() {
  if (!game.ask.choices.length) return [];
  const button = make("button", { type: "button", id: "advice", "aria-expanded": String(Boolean(advice)), onclick: () => doing("Its mind is read …", async () => {
    advice = advice ? null : await request(at("/chances"));
    redraw();
    document.getElementById("advice").focus();
  }) }, words(advice ? "Hide what it would play" : `What would ${called(game.against)} play here?`));
  const onBoard = game.frame && game.frame.kind === "board" && game.ask.choices.every((choice) => game.frame.rows.some((row) => row.includes(choice)));
  return [button, advice && !onBoard ? bars(advice) : null];
}

function moves() {
  const list = game.moves.map((move, number) => {
    const place = make("div", {});
    const button = make("button", { type: "button", "data-chances": number, "aria-expanded": "false", onclick: () => {
      if (place.childElementCount) {
        place.replaceChildren();
        button.setAttribute("aria-expanded", "false");
      } else doing("Its mind is read …", async () => {
        place.replaceChildren(bars(await request(at(`/chances?move=${number}`)), move.said));
        button.setAttribute("aria-expanded", "true");
      });
    } }, "probabilities");
    const shown = move.shown.map(([speaker, text]) => make("div", { class: "text shown" }, words(speaker === "game" ? text : `${speaker}: ${text}`)));
    return make("div", { class: move.yours ? "turn yours" : "turn" }, make("h4", {}, words(move.line), make("span", { class: "quiet" }, words(move.yours ? "you" : called(game.against)))),
      move.thought ? make("div", { class: "text thought" }, words(move.thought)) : null, make("div", { class: "text said" }, words(move.said)),
      make("div", { class: "about" }, shown.length ? make("details", {}, make("summary", { class: "quiet" }, "was told"), ...shown) : null, move.listed ? button : null), place);
  });
  const hidden = game.over ? "" : " you may see";
  return make("section", { "aria-label": "moves" }, make("h3", {}, `Moves${hidden}`), list.length ? make("div", { class: "moves" }, ...list) : make("p", { class: "quiet" }, "None yet."));
}

// --- the end -------------------------------------------------------------------------------------------------------

function verdict() {
  const mine = Math.max(...game.result.scores.filter(([, , yours]) => yours).map(([, score]) => +score));
  const others = Math.max(...game.result.scores.filter(([, , yours]) => !yours).map(([, score]) => +score));
  return mine > others ? "You won." : mine < others ? "You lost." : "Equal scores.";
}

function end() {
  const line = (name, ...content) => make("tr", {}, make("td", {}, words(name)), make("td", {}, ...content));
  const { result } = game;
  const scores = result.scores.map(([seat, score, yours]) => line(yours ? `${seat} (you)` : seat, score));
  const facts = result.facts.map(([name, fact]) => line(name, words(fact)));
  const kept = result.saved ? make("p", { id: "saved" }, "Saved. Play it again word for word: ", make("code", {}, words(result.replay))) : null;
  const save = make("button", { type: "button", id: "save", "data-next": true, onclick: () => doing("Saving …", async () => draw(await request(at("/save"), {}))) }, "Save this game");
  const again = make("button", { type: "button", id: "again", "data-next": Boolean(result.saved), onclick: () => begin({ ...game.wish, seed: null }) }, "Play again");
  return make("section", { class: "end", id: "end" }, make("h3", {}, verdict()),
    make("table", {}, ...scores, line("deal", words(result.task)), line("seed", result.seed), ...facts),
    result.again ? make("p", {}, "The same game at the keyboard: ", make("code", {}, words(result.again))) : null, kept,
    make("div", { class: "choices" }, result.saved ? null : save, again));
}

page.append(make("header", {}, make("h1", {}, words(`Red Queen: ${data.run}`))), setup(), make("p", { id: "status", role: "status", "aria-live": "polite" }), make("section", { id: "table" }));
const known = location.hash.slice(1);
if (/^[\w-]{22}$/.test(known)) {
  doing("The game is fetched …", async () => {
    const found = await request(`/api/games/${known}`);
    away();
    draw(found);
  });
}
page.dataset.ready = "true";
