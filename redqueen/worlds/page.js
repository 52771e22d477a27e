// Runs before a page's own scripts: a clock and chance of ours, and what can be seen and done on the page.
(() => {
  const START = Date.UTC(2020, 0, 1), waiting = new Map();
  const Real = Date;
  let now = 0, last = 0, chance = 1;

  // --- the clock: it stands still but for `__page.pass` ---
  const later = (run, wait, every, given) => {
    waiting.set(++last, { run, due: now + Math.max(1, +wait || 0), every, given });
    return last;
  };
  window.setTimeout = (run, wait, ...given) => later(run, wait, 0, given);
  window.setInterval = (run, wait, ...given) => later(run, wait, Math.max(1, +wait || 0), given);
  window.requestAnimationFrame = (run) => later(() => run(now), 16, 0, []);
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = (id) => { waiting.delete(id); };
  window.Date = new Proxy(Real, {
    construct: (made, given) => (given.length ? new made(...given) : new made(START + now)),
    apply: () => new Real(START + now).toString(),
    get: (made, key) => (key === "now" ? () => START + now : made[key]),
  });
  performance.now = () => now;

  const pass = (time) => {
    const end = now + time;
    for (let runs = 0; runs < 5000; runs++) {
      let next = 0;
      for (const [id, each] of waiting) if (each.due <= end && (!next || each.due < waiting.get(next).due)) next = id;
      if (!next) break;
      const each = waiting.get(next);
      now = Math.max(now, each.due);
      if (each.every) each.due = now + each.every; else waiting.delete(next);
      (typeof each.run === "function" ? each.run : new Function(each.run))(...each.given);
    }
    now = end;
  };

  // --- chance before a page is given its seed ---
  Math.random = () => ((chance = (chance * 48271) % 2147483647) - 1) / 2147483646;

  // --- what can be seen ---
  const IGNORED = "script, style, option, head, title, br, hr, #query, #reward-display, #sync-task-cover, #click-canvas";
  const KINDS = { A: "link", BUTTON: "button", SELECT: "list", TEXTAREA: "field" };
  const TYPES = { checkbox: "box", radio: "choice", submit: "button", button: "button", hidden: "" };
  const TOLD = "input, textarea, select, button, a";
  let seen = [];

  const words = (text) => (text || "").replace(/\s+/g, " ").trim();
  const kind = (of) => {
    if (of.tagName !== "INPUT") return KINDS[of.tagName] || "";
    return of.type in TYPES ? TYPES[of.type] : "field";
  };
  const called = (of) => {
    if (of.matches("input[type=checkbox], input[type=radio]")) {
      const label = of.closest("label") || (of.id && document.querySelector(`label[for="${CSS.escape(of.id)}"]`));
      const beside = of.nextSibling && of.nextSibling.nodeType === 3 ? of.nextSibling.data : "";
      return words(label ? label.textContent : beside);
    }
    if (of.matches("input[type=submit], input[type=button]")) return words(of.value);
    if (of.matches("input, textarea")) return words(of.placeholder);
    if (of.tagName === "SELECT") return words(of.selectedOptions[0] && of.selectedOptions[0].textContent);
    const shape = of.ownerSVGElement ? `${of.getAttribute("fill") || ""} ${of.tagName}` : "";
    const marks = [...of.classList].filter((one) => !one.startsWith("ui-")).join(" ") || (of.id === "area" ? "" : of.id);
    return words(of.textContent) || words(shape) || words(of.title) || words(marks.replace(/[-_]/g, " "));
  };
  const shown = (of) => {
    const box = of.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(of).visibility !== "hidden";
  };
  const value = (of) => {
    if (of.matches("input[type=checkbox], input[type=radio]")) return of.checked ? "on" : "off";
    return of.matches("input, textarea") && kind(of) === "field" ? of.value : "";
  };
  // what is drawn has its size only when its picture is there; one that cannot be loaded never has
  const pictures = () => Promise.allSettled([...document.body.querySelectorAll("*")].map((of) => {
    const found = /^url\("(.*)"\)$/.exec(getComputedStyle(of).content);
    if (of.tagName === "IMG") return of.decode();
    return found && Object.assign(new Image(), { src: found[1] }).decode();
  }));
  const inside = (of) => {
    for (const each of of.childNodes) {
      if (each.nodeType === 3 && words(each.data) && shown(of)) seen.push(each); // a text beside elements
      if (each.nodeType !== 1 || each.matches(IGNORED)) continue;
      if (each.children.length && !each.matches(TOLD)) inside(each);
      else if (shown(each) && (kind(each) || called(each))) seen.push(each);
    }
  };
  const labelled = (text) => text.parentElement.matches("label") && text.parentElement.querySelector("input");
  const box = (of) => {
    if (of.nodeType === 1) return of.getClientRects();
    const range = document.createRange();
    range.selectNode(of);
    return range.getClientRects();
  };
  const told = (of, longest) => {
    if (of.nodeType === 3) return { kind: "", name: words(of.data).slice(0, longest), value: "", options: [] };
    const options = of.tagName === "SELECT" ? [...of.options].map((one) => words(one.textContent)) : [];
    return { kind: kind(of), name: called(of).slice(0, longest), value: value(of).slice(0, longest), options };
  };

  window.__page = {
    pass,
    loaded: () => new Promise((done) => {
      if (document.readyState === "complete") done(); else addEventListener("load", () => done());
    }),
    still: () => {
      const style = document.createElement("style");
      style.textContent = "* { transition: none !important; animation: none !important }";
      document.head.append(style);
    },
    look: async (most, longest) => {
      await pictures();
      seen = [];
      inside(document.body);
      seen = seen.filter((each) => each.nodeType === 1 || !labelled(each)).slice(0, most);
      return seen.map((each) => told(each, longest));
    },
    place: (number) => {
      const of = seen[number];
      (of.nodeType === 1 ? of : of.parentElement).scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const found = box(of)[0];
      return [found.left + found.width / 2, found.top + found.height / 2];
    },
    into: (number) => { seen[number].focus(); seen[number].select(); },
    choose: (number, option) => {
      seen[number].selectedIndex = option;
      for (const what of ["input", "change"]) seen[number].dispatchEvent(new Event(what, { bubbles: true }));
    },
  };
})();
