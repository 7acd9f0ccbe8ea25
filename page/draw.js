/* draw.js - draws the lines that are seen, the links between both sides, and the map of the whole.
 *
 * Lines have one height, so that place and number follow from each other. Only lines in sight are in
 * the page, which therefore costs the same for any program. */

const LINE = 24, AROUND = 8;  // pixels of a line; lines that are drawn above and below what is seen
const state = {
  selected: null,
  hovered: null,
  query: "",
  hits: new Set(),
  partners: new Set(),
  readers: new Set()
};

const idOf = node => (node.side === "traced" ? "t" : "f") + node.number;
function nodeOf(id) {
  const parts = /^([tf])(\d+)$/.exec(id);
  return parts ? model[parts[1] === "t" ? "traced" : "functional"][+parts[2]] || null : null;
}

/* --- Statements ------------------------------------------------------------------------------- */
const NAMES = /%(?:[\w.]+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g;

/* A text in which names of values are elements of their own. */
function named(text, used, most = 26) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(NAMES)) {
    parts.push(text.slice(from, found.index));
    parts.push(make(
      "span", {class: "name" + (used.has(found[0]) ? " used" : ""), "data-name": found[0]}, shorten(found[0], most)));
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

/* Arguments that say nothing to a reader. */
const quiet = text =>
  text.replace(/9223372036854775807/g, "end").replace(/, device=device\("cpu"\)|, pin_memory=False/g, "");

function statement(node, used) {
  const end = node.statement.indexOf(node.operator + "(");
  if (end < 0) return named(node.statement, used);
  const results = node.results.length > 2 ? node.results[0].name + ", … = " : node.statement.slice(0, end);
  return [
    make("span", {class: "results"}, named(results, used)), make("span", {class: "operator"}, shorten(node.operator)),
    make("span", {class: "arguments"}, named(quiet(node.statement.slice(end + node.operator.length)), used))
  ];
}

/* --- Cells ------------------------------------------------------------------------------------ */
function classesOf(node) {
  return [
    "cell", node.kind, node === state.selected && "selected", state.partners.has(node) && "partner",
    state.readers.has(node) && "reader", state.hits.has(node) && "hit", state.query && !state.hits.has(node) && "faded"
  ].filter(Boolean)
    .join(" ");
}

function nodeCell(node, depth, beside, used) {
  const type = typeOf(node), isTold = beside && typeOf(beside) === type;
  return make("div", {
    class: classesOf(node),
    id: "node-" + idOf(node),
    role: "gridcell",
    title: node.statement,
    style: `padding-left:${8 + depth * 10}px`
  },
    make("span", {class: "statement"}, statement(node, used)),
    make("span", {class: "type"}, isTold ? "" : shortType(type)));
}

const note = (text, side, depth = 0) =>
  make("div", {class: "cell note " + side, style: side === "right" ? `padding-left:${8 + depth * 10}px` : null},
    make("span", {class: "statement"}, text));

/* The fate of a traced node that has no partner in its row. */
function absence(node) {
  if (node.became.length) {
    const names = node.became.map(nameOf), more = names.length > 2 ? ` and ${names.length - 2} more` : "";
    return `becomes ${names.slice(0, 2).join(", ")}${more}, ${lineOf(node.became[0]) > node.row.y ? "below" : "above"}`;
  }
  if (node.kind === "view")
    return node.uses.length && typeOf(node.uses[0]) === typeOf(node) ? "the same tensor: no node needed" :
                                                                       "a window: no node needed";
  return node.kind === "write" ? "the value itself, without a write" : "not needed";
}

/* Why a functional node was added, where it has no partner in its row. */
function cause(f) {
  const reader = f.reader ? nameOf(f.reader) : "an output", name = f.reason[0];
  if (name === "view_read") return `${reader} reads what ${nameOf(f.through || f.from)} shows`;
  if (name === "write_back") return `puts ${nameOf(f.from)} back${f.through ? " through " + nameOf(f.through) : ""}`;
  if (!f.from) return f.reason[1];
  return name === "computed" ? `what ${nameOf(f.from)} computes` : `${f.reason[1]} (${nameOf(f.from)})`;
}

const badge = cost => cost && make("span", {class: "badge " + cost.form}, cost.text);

/* --- Rows ------------------------------------------------------------------------------------- */
function endWords(input, isState) {
  const kind = input[3] && input[2] !== "user" ? `${input[2]} “${input[3]}”` : "input";
  return isState ? (kind === "input" ? "input that is written" : "state, " + kind) : kind;
}

function inputCells({input, isState}, used) {
  const words = () => [make(
    "span", {class: "statement"}, named(input[0], used), " ", make("span", {class: "dim"}, endWords(input, isState)))];
  return [
    make("div", {class: "cell"}, words(), make("span", {class: "type"}, model.types[input[1]].text)),
    make("div", {class: "cell"}, words()), null
  ];
}

function outputCost(output) {
  if (!output || !model.plan) return null;
  const copied = sum(output.copies || [], step => step.bytes);
  if (copied) return badge({form: "copy", text: "copies " + bytes(copied)});
  return isMutation(output) ? badge({form: "good", text: "in place"}) : null;
}

function outputCells({output, left}, used) {
  const word = make("span", {class: "operator"}, "return ");
  const right = output && [
    word, named(output[0] || "None", used, 18),
    isMutation(output) && [make("span", {class: "dim"}, " as the new "), make("b", {class: "good"}, output[3])]
  ];
  return [
    left ?
      make("div", {class: "cell"},
        make("span", {class: "statement"}, word.cloneNode(true), named(left[0] || "None", used))) :
      note(output && isMutation(output) ? `${output[3]} is left written; the signature does not say so` : "", "first"),
    make("div", {class: "cell"}, make("span", {class: "statement"}, right)), outputCost(output)
  ];
}

function cellsOf(row, depth, used) {
  if (row.form === "input") return inputCells(row, used);
  if (row.form === "output") return outputCells(row, used);
  if (row.form !== "node") return [note(row.text, "first"), note(row.right || row.text, "right"), null];
  const {traced, functional} = row;
  return [
    traced ? nodeCell(traced, depth, null, used) : note(cause(functional), "left"),
    functional ? nodeCell(functional, depth, traced, used) : note(absence(traced), "right", depth),
    functional && badge(functional.cost)
  ];
}

function rowLine({row, depth}, y, used) {
  const [left, right, cost] = cellsOf(row, depth, used);
  return make("div", {class: "row", role: "row", "aria-rowindex": y + 1, style: `top:${y * LINE}px`},
    make("span", {class: "number"}, row.traced ? String(row.traced.place) : ""), laneCell(y), left, make("i"), right,
    cost || make("i"));
}

function sectionLine({section, depth}, y) {
  const all = section.alike && !section.isSpread ? section.alike : [section], of = key => sum(all, one => one[key]);
  const last = all[all.length - 1].path, title = all.length > 1 ? section.path + " … " + last : section.path;
  const about = [section.name, section.like && "like " + section.like.path].filter(Boolean).join(", ");
  return make("div", {class: "row", role: "row", style: `top:${y * LINE}px`}, make("span"), laneCell(y),
    make("div", {
      class: "section" + (section === state.selected ? " selected" : ""),
      role: "rowheader",
      "data-section": section.number,
      "aria-expanded": String(section.isOpen)
    },
      make("span", {class: "mark", style: `padding-left:${depth * 10}px`}, section.isOpen ? "▾" : "▸"),
      make("b", {}, title), all.length > 1 && make("span", {class: "times"}, "× " + all.length),
      make("span", {class: "dim"}, about),
      make("span", {class: "sums"}, of("writes") > 0 && make("span", {class: "writes"}, plural(of("writes"), "write")),
        of("copied") > 0 && badge({form: "copy", text: "copies " + bytes(of("copied"))}),
        `${count(of("before"))} → ${count(of("after"))} nodes`)));
}

/* --- Lanes ------------------------------------------------------------------------------------ */
const laneWidth = () => innerWidth < 1120 ? 20 : 28;
const GAP = 5, MOST_SPANS = 12, MOST_MARKS = 24;

/* The place of a mark in its box is its place in the memory. */
function markOf(mark, x, width, size) {
  const spans =
    mark.spans.length <= MOST_SPANS ? mark.spans : [[mark.spans[0][0], mark.spans[mark.spans.length - 1][1]]];
  return spans.map(([low, high]) => make("i", {
    class: "mark " + mark.form,
    style:
      `left:${(x + width * low / size).toFixed(1)}px;width:${Math.max(3, width * (high - low) / size).toFixed(1)}px`
  }));
}

function laneParts(lane, y) {
  const width = laneWidth(), x = lane.column * (width + GAP), marks = lane.at.get(y) || [],
        size = lane.memory.size || 1;
  const top = y === lane.first ? LINE / 2 : 0, bottom = y === lane.last ? LINE / 2 : 0;
  const every = Math.ceil(marks.length / MOST_MARKS), parts = [];
  if (lane.first !== lane.last)
    parts.push(make("i", {class: "line", style: `left:${x + width / 2 - 1}px;top:${top}px;bottom:${bottom}px`}));
  if (marks.length)
    parts.push(make("i", {
      class: "box",
      style: `left:${x}px;width:${width}px`,
      title: `memory of ${lane.memory.name}, ${bytes(lane.memory.size)}`
    }));
  marks.forEach((mark, k) => {
    if (k % every === 0) parts.push(...markOf(mark, x, width, size));
  });
  if (marks.some(mark => mark.form === "state"))
    parts.push(
      make("span", {class: "label", style: `left:${x}px;width:${width}px`}, lane.memory.label.split(".").pop()));
  return parts;
}

function laneCell(y) {
  return make("span", {class: "lanes"},
    state.lanes.filter(lane => lane.first <= y && y <= lane.last).map(lane => laneParts(lane, y)));
}

/* --- Links ------------------------------------------------------------------------------------ */
const LINK_COLOURS = {
  back: "writing",
  value: "writing",
  read: "viewing",
  copy: "copy"
};

function link(from, to, colour, isLit, left, right) {
  const a = (from.row.y + 0.5) * LINE, b = (to.row.y + 0.5) * LINE, middle = (left + right) / 2;
  const stroke = `var(--${colour})`, curve = `M${left} ${a}C${middle} ${a} ${middle} ${b} ${right} ${b}`;
  const path =
    svg("path", {d: curve, fill: "none", stroke, "stroke-width": isLit ? 2.4 : 1.2, opacity: isLit ? 1 : 0.65});
  return isLit ?
    [
      path, svg("circle", {cx: left, cy: a, r: 3, fill: stroke}), svg("circle", {cx: right, cy: b, r: 3, fill: stroke})
    ] :
    [path];
}

function drawLinks(first, end) {
  const sample = byId("rows").querySelector(".row > .cell"), lit = state.hovered || state.selected, seen = new Set(),
        parts = [];
  if (!sample) return byId("links").replaceChildren();
  const box = byId("space").getBoundingClientRect(), cells = sample.parentElement.children;
  const left = cells[2].getBoundingClientRect().right - box.left,
        right = cells[4].getBoundingClientRect().left - box.left;
  for (let y = first; y < end; y++) {
    const row = layout.shown[y].row;
    if (!row || row.form !== "node") continue;
    for (const f of [row.functional, ...(row.traced ? row.traced.became : [])]) {
      if (!f || !f.from || seen.has(f) || f.row.y < 0 || f.from.row.y < 0) continue;
      seen.add(f);
      parts.push(...link(f.from, f, LINK_COLOURS[f.kind] || "faint", lit === f || lit === f.from, left, right));
    }
  }
  if (lit && lit.side === "functional" && lit.through && lit.through !== lit.from && lit.through.row.y >= 0 &&
    lit.row.y >= 0)
    parts.push(...link(lit.through, lit, "viewing", true, left, right));
  byId("links").setAttribute("width", box.width);
  byId("links").setAttribute("height", layout.shown.length * LINE);
  byId("links").replaceChildren(...parts);
}

/* --- The map ---------------------------------------------------------------------------------- */
/* Its marks are drawn once, the part that is seen each time. */
const map = {
  marks: null,
  key: ""
};
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function mapMarks(width, height, scale) {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d"),
        tall = Math.max(2, Math.min(LINE * scale, 5));
  canvas.width = width;
  canvas.height = height;
  const colours = {write: colour("writing"), copy: colour("copy"), hit: colour("accent")};
  const put = (form, x, y, wide) => {
    pen.fillStyle = colours[form];
    pen.fillRect(x, y, wide, tall);
  };
  layout.shown.forEach(({row}, k) => {
    const y = k * LINE * scale;
    if (!row) return;
    if (row.traced && row.traced.kind === "write") put("write", 1, y, 5);
    if (row.functional && row.functional.kind === "copy") put("copy", 8, y, 5);
    if (state.hits.has(row.traced) || state.hits.has(row.functional)) put("hit", 6, y, 2);
  });
  return canvas;
}

function drawMap() {
  const canvas = byId("map"), scroll = byId("scroll"), width = 14, height = canvas.clientHeight;
  const scale = height / Math.max(layout.shown.length * LINE, scroll.clientHeight, 1), pen = canvas.getContext("2d");
  const key = [height, state.query, document.documentElement.dataset.theme].join();
  if (!height) return;
  if (map.of !== layout.shown || map.key !== key)
    Object.assign(map, {of: layout.shown, key, marks: mapMarks(width, height, scale)});
  canvas.width = width;
  canvas.height = height;
  pen.fillStyle = colour("line");
  pen.fillRect(0, scroll.scrollTop * scale, width, scroll.clientHeight * scale);
  pen.drawImage(map.marks, 0, 0);
}

/* --- All of it -------------------------------------------------------------------------------- */
/* Lights all that belongs to the node under the pointer, or else to the selected node. */
function light() {
  const node = state.hovered || state.selected;
  state.partners = new Set();
  state.readers = new Set();
  if (!node || node.path) return;
  if (node.side === "traced") node.became.forEach(f => state.partners.add(f));
  else
    [node.from, node.through].forEach(one => one && state.partners.add(one));
  for (const e of node.events)
    if (e.writes) seenBy(e).nodes.forEach(reader => state.readers.add(reader));
}

const usedNames = () => new Set(((state.hovered || state.selected || {}).results || []).map(result => result.name));

/* Shows where the pointer is. It replaces no cell, because a replaced cell would lose a click. */
function relight() {
  const used = usedNames();
  light();
  for (const cell of byId("rows").querySelectorAll(".cell[id]"))
    cell.className = classesOf(nodeOf(cell.id.slice("node-".length)));
  for (const name of byId("rows").querySelectorAll(".name")) name.classList.toggle("used", used.has(name.dataset.name));
  drawLinks(state.first, state.end);
}

const MOST_PRINTED = 4000;

function draw(isPrint) {
  const scroll = byId("scroll"), lines = layout.shown, used = usedNames();
  const first = isPrint ? 0 : Math.max(0, Math.floor(scroll.scrollTop / LINE) - AROUND);
  const end = Math.min(
    lines.length, isPrint ? MOST_PRINTED : Math.ceil((scroll.scrollTop + scroll.clientHeight) / LINE) + AROUND);
  light();
  Object.assign(state, {first, end});
  state.lanes = layout.lanes.filter(lane => lane.first < end && lane.last >= first);
  document.documentElement.style.setProperty(
    "--lanes", layout.columns ? layout.columns * (laneWidth() + GAP) + 4 + "px" : "0px");
  byId("space").style.height = (isPrint ? end : lines.length) * LINE + 8 + "px";
  const drawn = [];
  for (let y = first; y < end; y++)
    drawn.push(lines[y].section ? sectionLine(lines[y], y) : rowLine(lines[y], y, used));
  byId("rows").replaceChildren(...drawn);
  drawLinks(first, end);
  drawMap();
}
