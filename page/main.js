/* main.js - selecting, searching, folding, keys; and the start. */

/* --- Selecting -------------------------------------------------------------------------------- */
function bringIntoView(y) {
  const scroll = byId("scroll"), top = y * LINE;
  if (top < scroll.scrollTop + 2 * LINE || top > scroll.scrollTop + scroll.clientHeight - 3 * LINE)
    scroll.scrollTop = top - scroll.clientHeight / 2;
}

/* A frame in a notebook has no address that a script may change. */
function setAddress(id) {
  try {
    history.replaceState(null, "", id ? "#" + id : location.pathname + location.search);
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
  }
}

/* A node, a section, or null for the overview. */
function select(one) {
  Object.assign(state, {selected: one, hovered: null});
  if (one && !one.path) unfoldTo(one);
  if (one) bringIntoView(one.path ? one.y : one.row.y);
  showPanel();
  draw();
  showStatus(one && !one.path ? one : null);
  const id = one && !one.path ? idOf(one) : "";
  setAddress(id);
  if (id) byId("scroll").setAttribute("aria-activedescendant", "node-" + id);
}

function selectFragment() {
  const node = nodeOf(location.hash.slice(1));
  if (node && node !== state.selected) select(node);
}

/* --- Searching -------------------------------------------------------------------------------- */
const KINDS = {
  "is:write": n => n.side === "traced" && n.kind === "write",
  "is:view": n => n.side === "traced" && n.kind === "view",
  "is:copy": n => n.steps.some(step => step.kind === "copy"),
  "is:added": n => n.side === "functional" && n.reason[0] !== "computed",
};

/* The text that a search looks at, made when it is first needed. */
function haystack(node) {
  if (node.words === undefined) {
    const module = moduleOf(node),
          source = node.source < 0 ? "" : model.sources[node.source][2].replace(/", line /g, ":");
    node.words = [
      node.operator, ...node.results.map(r => r.name + " " + r.type.text), module ? module.path : "", source
    ].join(" ").toLowerCase();
  }
  return node.words;
}

function search(text) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = n => words.every(word => KINDS[word] ? KINDS[word](n) : haystack(n).includes(word));
  state.query = words.join(" ");
  state.hits = new Set(words.length ? [...model.traced, ...model.functional].filter(fits) : []);
  byId("hits").textContent = words.length ? plural(state.hits.size, "hit") : "";
  draw();
}

/* To the next of some nodes, in the order of lines, behind the selected node. */
function next(nodes, direction = 1) {
  const inOrder = [...nodes].sort((a, b) => lineOf(a) - lineOf(b) || a.number - b.number),
        at = inOrder.indexOf(state.selected);
  if (!inOrder.length) return;
  const from = state.selected && state.selected.row ? lineOf(state.selected) : -1;
  const behind = inOrder.findIndex(node => lineOf(node) >= from);
  select(inOrder[at < 0 ? Math.max(0, behind) : (at + direction + inOrder.length) % inOrder.length]);
}

/* --- Moving and folding ----------------------------------------------------------------------- */
function move(by) {
  const one = state.selected, side = one && one.side === "functional" ? "functional" : "traced";
  let y = one ? (one.path ? one.y : one.row.y) : Math.floor(byId("scroll").scrollTop / LINE) - 1;
  for (y += by; y >= 0 && y < layout.shown.length; y += by) {
    const {row, section} = layout.shown[y], found = section || row[side] || row.traced || row.functional;
    if (found) return select(found);
  }
}

const partner = node => node.side === "traced" ? node.row.functional || node.became[0] : node.row.traced || node.from;

function fold(section, isOpen) {
  if (section.alike && !section.isSpread && isOpen) section.isSpread = true;
  else if (section.alike && section.isSpread && !section.isOpen && !isOpen)
    section.isSpread = false;
  else
    section.isOpen = isOpen;
  refold();
  draw();
}

function foldAll() {
  const isOpen = !layout.sections.some(section => section.isOpen);
  for (const section of layout.sections) Object.assign(section, {isOpen, isSpread: isOpen && section.isSpread});
  refold();
  draw();
}

function sideways(isRight) {
  const one = state.selected;
  if (!one) return;
  if (one.path) return fold(one, isRight);
  const other = isRight === (one.side === "traced") ? partner(one) : null;
  if (other) select(other);
}

function enter() {
  const one = state.selected;
  if (one && one.path) fold(one, !(one.isOpen || (one.alike && one.isSpread)));
  else if (one && partner(one))
    select(partner(one));
}

/* Copies; in a program without copies the moves into joined tensors and into bases. */
function nextCopy() {
  const copies = model.functional.filter(KINDS["is:copy"]);
  next(copies.length ? copies : model.functional.filter(f => f.steps.some(step => step.bytes)));
}

const ACTIONS = {
  ArrowDown: () => move(1),
  j: () => move(1),
  ArrowUp: () => move(-1),
  k: () => move(-1),
  ArrowRight: () => sideways(true),
  ArrowLeft: () => sideways(false),
  Enter: enter,
  Escape: () => select(null),
  "/": () => byId("find").focus(),
  f: foldAll,
  w: () => next(model.traced.filter(KINDS["is:write"])),
  v: () => next(model.traced.filter(KINDS["is:view"])),
  c: nextCopy,
};

/* --- Events ----------------------------------------------------------------------------------- */
const within = (event, name) => {
  const found = event.target.closest(`[data-${name}]`);
  return found && found.dataset[name];
};

function onRows() {
  const rows = byId("rows"), at = event => {
    const cell = event.target.closest(".cell[id]");
    return cell && nodeOf(cell.id.slice("node-".length));
  };
  rows.addEventListener("mouseover", event => {
    const node = at(event);
    if (node === state.hovered || (!node && !state.hovered)) return;
    state.hovered = node;
    requestAnimationFrame(relight);
    showStatus(node || (state.selected && state.selected.row ? state.selected : null));
  });
  rows.addEventListener("mouseleave", () => {
    state.hovered = null;
    relight();
  });
  rows.addEventListener("click", event => {
    const number = within(event, "section"), node = at(event);
    if (number) fold(layout.sections[number], !layout.sections[number].isOpen);
    else if (node)
      select(node);
  });
}

function onPanel() {
  const go = event => {
    const id = within(event, "go");
    if (id) select(nodeOf(id));
  };
  byId("panel").addEventListener("click", event => event.target.closest("[data-close]") ? select(null) : go(event));
  byId("panel").addEventListener("keydown", event => {
    if (event.key === "Enter") {
      go(event);
      event.stopPropagation();
    }
  });
}

function onHead() {
  const find = byId("find");
  find.addEventListener("input", () => search(find.value));
  find.addEventListener("keydown", event => {
    event.stopPropagation();
    if (event.key === "Enter") next(state.hits, event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    find.value = "";
    search("");
    byId("scroll").focus();
  });
  byId("top").addEventListener("click", event => {
    const key = within(event, "key");
    if (key) ACTIONS[key]();
  });
  byId("fold").addEventListener("click", foldAll);
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement, theme = root.dataset.theme;
    const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    draw();
  });
}

function onMap() {
  byId("map").addEventListener("click", event => {
    const scroll = byId("scroll"), box = byId("map").getBoundingClientRect(),
          whole = Math.max(layout.shown.length * LINE, scroll.clientHeight);
    scroll.scrollTop = (event.clientY - box.top) / box.height * whole - scroll.clientHeight / 2;
  });
}

function onWindow() {
  let isWaiting = false;
  byId("scroll").addEventListener("scroll", () => {
    if (!isWaiting)
      requestAnimationFrame(() => {
        isWaiting = false;
        draw();
      });
    isWaiting = true;
  }, {passive: true});
  addEventListener("resize", () => {
    placeLanes();
    draw();
  });
  addEventListener("hashchange", selectFragment);
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT" || !ACTIONS[event.key])
      return;
    ACTIONS[event.key]();
    event.preventDefault();
  });
}

function start() {
  readDocument();
  makeRows();
  makeSections();
  refold();
  showHead();
  showPanel();
  showStatus(null);
  draw();
  onRows();
  onPanel();
  onHead();
  onMap();
  onWindow();
  selectFragment();
  document.documentElement.dataset.ready = "yes";
}

start();
