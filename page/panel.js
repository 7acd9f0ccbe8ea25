/* panel.js - the head of the page, and the panel at its side: an overview, or all about one node. */

/* --- Pieces ----------------------------------------------------------------------------------- */
const goTo = (node, text) => make("a", {"data-go": idOf(node), tabindex: 0}, text || shorten(nameOf(node)));
const dim = text => make("span", {class: "dim"}, text);
const block = (title, ...children) => make("div", {class: "block"}, make("h3", {}, title), ...children);
const paragraph = (...children) => make("p", {}, ...children);

/* A list of nodes, cut with a count. */
function nodeList(nodes, empty, most = 8) {
  const items =
    nodes.slice(0, most).map(n => make("li", {}, goTo(n), " ", dim(n.operator), " ", n.cost && badge(n.cost)));
  if (nodes.length > most) items.push(make("li", {class: "dim"}, `and ${nodes.length - most} more`));
  return make("ul", {}, items.length ? items : make("li", {class: "dim"}, empty));
}

/* --- Memory ----------------------------------------------------------------------------------- */
/* The bytes of a window, in words. */
function extent(type, memory) {
  const spans = type.spans;
  if (!spans.length) return ", no elements";
  const low = spans[0][0], high = spans[spans.length - 1][1];
  if (spans.length === 1 && low === 0 && high === memory.size) return ", all of it";
  const between = `bytes ${count(low)} to ${count(high - 1)} of ${count(memory.size)}`;
  return spans.length === 1 && type.exact ?
    ", " + between :
    `, ${type.exact ? count(spans.length) + " pieces" : "parts"} between ${between}`;
}

const PICTURE = {
  width: 326,
  names: 138,
  line: 19,
  most: 14
};
const FORMS = {
  read: ["reads", "reading"],
  view: ["views", "viewing"],
  write: ["writes", "writing"],
  update: ["writes", "writing"]
};

function pictureSpan(event, [low, high], y, size) {
  const scale = (PICTURE.width - PICTURE.names) / size, x = PICTURE.names + low * scale,
        width = Math.max(1.5, (high - low) * scale);
  const [top, tall] = event.kind === "view" ? [y + 6, 4] : [y, 16];
  return svg("rect", {x, y: top, width, height: tall, rx: 2, class: "span " + (event.writes ? "write" : event.kind)});
}

function pictureLine(event, k, isCurrent, size) {
  const y = 16 + k * PICTURE.line, [word, colour] = FORMS[event.kind];
  const name = svg("text", {x: 2, y: y + 12});
  name.append(svg("tspan", {fill: `var(--${colour})`}, word), " " + shorten(nameOf(event.node), 13));
  const group = svg("g", {"data-go": idOf(event.node), class: isCurrent ? "current" : ""});
  group.append(svg("rect", {x: -2, y: y - 1.5, width: PICTURE.width + 4, height: PICTURE.line, rx: 4, class: "back"}),
    name, svg("rect", {x: PICTURE.names, y, width: PICTURE.width - PICTURE.names, height: 16, rx: 3, class: "track"}),
    ...event.type.spans.map(span => pictureSpan(event, span, y, size)));
  return group;
}

/* One line for each event: time runs downwards, bytes from left to right. */
function picture(memory, node) {
  const events = memory.events.filter(e => FORMS[e.kind]), at = Math.max(0, events.findIndex(e => e.node === node));
  const first = Math.max(0, Math.min(events.length - PICTURE.most, at - 5)),
        seen = events.slice(first, first + PICTURE.most);
  const height = 20 + seen.length * PICTURE.line;
  const image = svg("svg", {
    viewBox: `0 0 ${PICTURE.width} ${height}`,
    class: "memory",
    role: "img",
    "aria-label": "memory of " + memory.name
  });
  image.append(svg("text", {x: PICTURE.names, y: 10}, "byte 0"),
    svg("text", {x: PICTURE.width, y: 10, "text-anchor": "end"}, count(memory.size)),
    ...seen.map((event, k) => pictureLine(event, k, event.node === node, memory.size || 1)));
  return [image, events.length > seen.length && paragraph(dim(`and ${events.length - seen.length} more`))];
}

function memoryBlock(node) {
  const event = writeOf(node) || viewOf(node) || node.events.find(e => e.memory.isWritten);
  if (!event) return null;
  const memory = event.memory,
        made = memory.maker ?
    ["Made by ", goTo(memory.maker), "."] :
    [memory.input ? `It is ${endWords(memory.input, false)}.` : "It is an input of the body."];
  return block(`Memory of ${memory.name}, ${bytes(memory.size)}`, picture(memory, node),
    paragraph(dim("Time runs downwards. "), ...made));
}

/* --- Nodes ------------------------------------------------------------------------------------ */
const title =
  (words, node) => [make("div", {class: "kind"}, words, make("button", {"data-close": "", "aria-label": "close"}, "✕")),
    make("h2", {class: node.kind}, nameOf(node), " ", make("span", {class: "operator"}, node.operator)),
    make("p", {class: "mono dim"}, node.results.slice(0, 4).map(r => r.type.text).join(", "))];

function framesOf(node) {
  const text = node.source < 0 ? "" : model.sources[node.source][2];
  const frames = [...text.matchAll(/File "([^"]*)", line (\d+), in (\S+)(?:\n\s*(.*))?/g)].reverse().slice(0, 6);
  if (!frames.length)
    return text ? [make("div", {class: "frame"}, text)] : [paragraph(dim("No source line was recorded."))];
  return frames.map(([, path, line, name, code]) => make("div", {class: "frame"},
                      dim(`${path.split("/").slice(-3).join("/")}:${line} ${name}`), code ? "\n" + code : ""));
}

function originBlock(node) {
  const module = moduleOf(node);
  return block("Where it is from",
    module && paragraph(make("code", {}, module.path || "(the model itself)"), " ", dim(module.name)), framesOf(node));
}

function writtenBlock(event) {
  const seen = seenBy(event), list = nodeList(seen.nodes, ""), ends = [];
  if (seen.isOutput) ends.push("an output of the program");
  if (seen.isState) ends.push(`the caller: ${event.memory.label} stays written`);
  if (!seen.nodes.length) list.replaceChildren();
  list.append(...ends.map(text => make("li", {}, text)));
  if (!list.children.length) list.append(make("li", {class: "dim"}, "nobody"));
  return block("Who sees the write", list);
}

function becameBlock(node) {
  const none = node.kind === "view" ? "nothing: who reads it reads its base" :
    node.kind === "write"           ? "nothing to compute: the value that is written takes the place of the old one" :
                                      "nothing";
  const items = node.became.slice(0, 12).map(
    f => make("li", {}, goTo(f), " ", dim(f.operator), " ", badge(f.cost), make("br"), dim(f.reason[1])));
  return block("Became", make("ul", {}, items.length ? items : make("li", {class: "dim"}, none)));
}

function tracedPanel(node) {
  const written = node.events.filter(e => e.writes), view = viewOf(node);
  return [
    title(`traced program, node ${node.place}`, node),
    written.map(e => make("p", {class: "lead"}, make("b", {}, "Writes"),
                  ` into the memory of ${e.memory.name}${extent(e.type, e.memory)}.`)),
    !written.length && view &&
      make("p", {class: "lead"}, "A ", make("b", {}, "window"),
        ` on the memory of ${view.memory.name}${extent(view.type, view.memory)}. It has no memory of its own.`),
    memoryBlock(node),
    written.length ? writtenBlock(written[0]) :
                     node.kind === "view" && block("Read by", nodeList(node.users, "nobody, or outputs")),
    becameBlock(node), originBlock(node)
  ];
}

/* --- What a run does -------------------------------------------------------------------------- */
function stepWords(step) {
  if (step.kind === "copy") return `It copies ${bytes(step.bytes)}: ${step.why}. What helps: ${step.remedy}.`;
  if (step.bytes) return `It writes ${bytes(step.bytes)} into its base.`;
  const words = step.kind === "update" || step.in_state ? "computed in place" : "computed";
  const others =
    step.kind === "group" && step.nodes.length > 1 ? `, in one pass with ${step.nodes.length - 1} more` : "";
  return `It is ${words}${others}. The step reads ${bytes(step.reads || 0)}` +
    (step.writes === undefined ? "." : ` and writes ${bytes(step.writes)}.`);
}

/* The pieces of a join are one sentence. */
function stepsWords(steps) {
  const isPiece = step => step.kind === "update" && step.bytes && step.rule === "join";
  const pieces = steps.filter(isPiece), words = steps.filter(step => !isPiece(step)).map(stepWords);
  if (pieces.length)
    words.push(`It moves ${bytes(pieces.reduce((sum, step) => sum + step.bytes, 0))} into what it is joined to` +
      (pieces.length > 1 ? `, in ${pieces.length} pieces.` : "."));
  return words;
}

function runBlock(f) {
  if (!model.plan) return null;
  if (f.steps.length) return block("In a run", stepsWords(f.steps).map(words => paragraph(words)));
  return f.graph === 0 ? block("In a run",
                           paragraph("Nothing: it is read where it lies, or is part of another step. ",
                             make("b", {}, "0 B"), " are copied.")) :
                         null;
}

function whyBlock(f) {
  const output = f.output >= 0 ? model.document.functional[f.graph].outputs[f.output] : null, rows = [];
  const add = (words, node) =>
    rows.push(make("tr", {}, make("th", {}, words), make("td", {}, goTo(node), " ", dim(node.operator))));
  if (f.from) add({view_read: "the view", write_back: "the write"}[f.reason[0]] || "from", f.from);
  if (f.through && f.through !== f.from) add("through", f.through);
  if (f.reader && f.reader !== f.from) add("needed by", f.reader);
  if (output)
    rows.push(make("tr", {}, make("th", {}, "needed by"),
      make("td", {}, `output ${f.output}`, output[3] && ", the new " + output[3])));
  return block("Why it is there", make("table", {}, rows));
}

const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + ".";

function functionalPanel(f) {
  return [
    title(`functional form, node ${f.place}`, f), make("p", {class: "lead"}, sentence(f.reason[1])), runBlock(f),
    whyBlock(f), block("Used by", nodeList(f.users, "outputs")), f.from && memoryBlock(f.from), originBlock(f.from || f)
  ];
}

function sectionPanel(section) {
  return [
    make("div", {class: "kind"}, "module", make("button", {"data-close": "", "aria-label": "close"}, "✕")),
    make("h2", {}, section.path),
    paragraph(`${section.name ? section.name + ": " : ""}${section.before} nodes before, ${section.after} after, ${
      plural(section.writes, "write")}.`),
    section.like && paragraph(`Like ${section.like.path}: the same operators and sizes, in the same order.`)
  ];
}

/* --- Overview --------------------------------------------------------------------------------- */
/* Copies and moves by reason. Nodes with one operator, line and number of bytes are one entry. */
function copyGroups() {
  const reasons = new Map();
  for (const step of model.steps) {
    if (!step.bytes || !step.nodes.length) continue;
    const isCopy = step.kind === "copy", node = step.nodes[0];
    const why = isCopy     ? step.why.replace(/base %\S+/, "the base").replace(/%\S+/, "another value") :
      step.rule === "join" ? "parts are joined into one memory" :
                             "the program's own writes";
    const group = reasons.get(why) || {why, isCopy, remedy: step.remedy, bytes: 0, nodes: new Map()};
    const one = group.nodes.get(node) || {node, step, bytes: 0};
    one.bytes += step.bytes;
    group.bytes += step.bytes;
    group.nodes.set(node, one);
    reasons.set(why, group);
  }
  for (const group of reasons.values()) group.entries = entriesOf([...group.nodes.values()]);
  return [...reasons.values()].sort((a, b) => b.isCopy - a.isCopy || b.bytes - a.bytes);
}

function entriesOf(list) {
  const key =
    ({node, step, bytes: size}) => [node.operator, placeOf(node) || node.module, size, step.output].join("\n");
  return [...groupBy(list, key).values()]
    .map(same => ({nodes: same.map(one => one.node), bytes: sum(same, one => one.bytes), step: same[0].step}))
    .sort((a, b) => b.bytes - a.bytes);
}

/* The output that a copy is made for, or the node that needs it. */
function userOf(node, step) {
  const output = step.output >= 0 && model.document.functional[0].outputs[step.output];
  if (output) return isMutation(output) ? "the new " + output[3] : "output " + step.output;
  return node.reader && node.reader !== node.from ? "for " + nameOf(node.reader) : "";
}

function copyEntry({nodes, bytes: size, step}) {
  const node = nodes[0], paths = [...new Set(nodes.map(n => moduleOf(n)).filter(m => m && m.path).map(m => m.path))];
  const where = paths.length > 1 ? paths[0] + " … " + paths[paths.length - 1] : paths[0];
  return make("div", {class: "entry", "data-go": idOf(node), tabindex: 0}, make("span", {class: "bytes"}, bytes(size)),
    make("a", {}, shorten(nameOf(node))), " ", dim(node.operator),
    nodes.length > 1 && make("span", {class: "times"}, "× " + nodes.length), make("br"),
    dim([userOf(node, step), placeOf(node), where].filter(Boolean).join(" · ")));
}

const MOST_ENTRIES = 6;

function copiesBlock() {
  const plan = model.plan, moving = model.functional.filter(f => f.kind === "read" || f.kind === "back").length;
  if (!plan)
    return block("What a run copies", paragraph(dim("The engine has no plan: " + model.document.no_plan + ".")));
  const head = model.copies.length ?
    make("p", {class: "lead"}, make("b", {class: "bad"}, bytes(model.copied)),
      ` in ${plural(model.copies.length, "copy")}.`) :
    make("p", {class: "lead"}, make("b", {class: "good"}, "Nothing."),
      moving ?
        ` ${
          plural(moving, "node")} of the functional form only move elements. A run reads all of them where they lie.` :
        "");
  const groups = copyGroups().map(group => {
    const more = group.entries.length - MOST_ENTRIES;
    return [
      paragraph(
        make("b", {class: group.isCopy ? "bad" : "moving"}, group.isCopy ? "copies " : "moves ", bytes(group.bytes)),
        ": " + group.why + ".", group.remedy && dim(` What helps: ${group.remedy}.`)),
      group.entries.slice(0, MOST_ENTRIES).map(copyEntry), more > 0 && paragraph(dim(`and ${more} more`))
    ];
  });
  return block("What a run copies", head, groups);
}

const STRIP = {
  width: 150,
  height: 18
};

/* A memory in time, which runs from left to right. Marks of one place are drawn once. */
function strip(memory) {
  const image = svg("svg", {class: "strip", width: STRIP.width, height: STRIP.height}), seen = new Set(),
        size = memory.size || 1;
  image.append(svg("rect", {width: STRIP.width, height: STRIP.height, rx: 3, class: "track"}));
  for (const e of memory.events) {
    const spans = e.type.spans,
          x = FORMS[e.kind] && Math.floor((STRIP.width - 4) * e.node.number / model.traced.length),
          key = x + e.kind + e.type.text;
    if (!FORMS[e.kind] || !spans.length || seen.has(key)) continue;
    seen.add(key);
    const low = spans[0][0], high = spans[spans.length - 1][1], inner = STRIP.height - 2;
    image.append(svg("rect", {
      x,
      y: 1 + inner * low / size,
      width: e.writes ? 4 : 2,
      height: Math.max(2, inner * (high - low) / size),
      fill: `var(--${FORMS[e.kind][1]})`
    }));
  }
  return image;
}

function memoriesBlock(words, memories) {
  if (!memories.length) return null;
  const rows = memories.slice(0, 10).map(
    memory => make("tr", {"data-go": idOf(memory.events.find(e => e.writes).node), tabindex: 0},
      make("td", {class: "mono", title: memory.label}, tail(memory.label, 17)), make("td", {}, strip(memory)),
      make("td", {class: "bytes"}, bytes(memory.size))));
  return block(words,
    make("table", {class: "memories"}, make("tr", {}, ["memory", "in time", "bytes"].map(head => make("th", {}, head))),
      rows),
    memories.length > 10 && paragraph(dim(`and ${memories.length - 10} more`)));
}

const KEYS = [
  ["↑ ↓", "rows"], ["← →", "sides"], ["Enter", "to the partner"], ["w", "next write"], ["v", "next view"],
  ["c", "next copy"], ["/", "search"], ["f", "fold all"], ["Esc", "back here"]
];

function overview() {
  const written = model.memories.filter(m => m.isWritten), plan = model.plan;
  return [
    copiesBlock(),
    memoriesBlock("State that is written" + (plan ? ", " + inPlaceWords() : ""), written.filter(m => m.input)),
    memoriesBlock("Other memory that is written", written.filter(m => !m.input)),
    !written.length && block("Writes", paragraph("The program writes nothing.")),
    plan &&
      block("Memory traffic of a run",
        paragraph(
          `${bytes(plan.moved)} read and written, ${bytes(plan.moved_without)} if each value had memory of its own. ` +
          `${bytes(plan.arena)} of memory between inputs and outputs.`)),
    block("Keys", paragraph(KEYS.map(([key, words]) => [make("kbd", {}, key), ` ${words}  `])))
  ];
}

function showPanel() {
  const one = state.selected;
  const content = !one    ? overview() :
    one.path              ? sectionPanel(one) :
    one.side === "traced" ? tracedPanel(one) :
                            functionalPanel(one);
  byId("panel").replaceChildren(make("div", {class: "columns"}, content));
  byId("panel").scrollTop = 0;
}

/* --- The head --------------------------------------------------------------------------------- */
function fact(value, words, form, key) {
  return make(
    "button", {class: "fact " + form, "data-key": key || null}, make("b", {}, value), make("span", {}, words));
}

function facts() {
  const plan = model.plan, of = kind => model.traced.filter(n => n.kind === kind).length,
        arrow = make("span", {class: "to"}, "→");
  const d = model.document, list = [
    fact([count(of("write")), arrow, "0"], "writes", "", "w"),
    fact([count(of("view")), arrow.cloneNode(true), "0"], "views", "", "v"),
    fact([count(model.traced.length), arrow.cloneNode(true), count(model.functional.length)], "nodes", "")
  ];
  if (plan && plan.finals)
    list.push(fact(`${plan.finals_in_place} of ${plan.finals}`, "states kept in place",
      plan.finals_in_place === plan.finals ? "good" : "warn"));
  if (plan)
    list.push(fact(bytes(model.copied), "copied by a run" + (model.copies.length ? `, in ${model.copies.length}` : ""),
      model.copied ? "bad" : "good", "c"));
  if (d.equal !== null)
    list.push(
      fact("✓ equal", d.equal ? `at ${plural(d.equal, "choice")} of sizes` : "for all values, by hashes", "good"));
  return list;
}

function showHead() {
  const d = model.document, writes = model.traced.filter(n => n.kind === "write").length,
        views = model.traced.filter(n => n.kind === "view").length;
  const states = d.functional[0].outputs.filter(isMutation).length;
  byId("top").replaceChildren(make("div", {}, make("h1", {}, d.title),
                                make("div", {class: "dim"},
                                  "fnz" + (d.torch ? ", from torch " + d.torch.split("+")[0] : "") +
                                    (d.symbolic ? ", bytes at recorded sizes" : ""))),
    make("div", {class: "facts"}, facts()),
    make("div", {class: "tools"}, make("span", {id: "hits", role: "status"}),
      make(
        "input", {id: "find", type: "search", placeholder: "name, operator, file:line, type", "aria-label": "Search"}),
      make("button", {id: "fold", title: "fold or unfold all modules (f)"}, "Fold"),
      make("button", {id: "theme", title: "light or dark", "aria-label": "light or dark"}, "◐")));
  byId("heads").replaceChildren(
    make("div", {class: "lanes-head"}, layout.columns ? ["memory,", make("br"), "in time\u00a0↓"] : ""),
    make("div", {class: "before"}, make("b", {}, "Traced"),
      dim(`${plural(model.traced.length, "operator")}, ${plural(views, "view")}, ${plural(writes, "write")}`)),
    make("div", {class: "after"}, make("b", {}, "Functional"),
      dim(`${plural(model.functional.length, "operator")}, no views, no writes${
        states ? "; " + plural(states, "state output") : ""}`)),
    make("div", {class: "costs"}, model.plan ? "in a run" : ""));
}

const LEGEND = ["write", "read", "view", "made", "state"];

function showStatus(node) {
  const module = node && moduleOf(node);
  const words =
    node ? [module && (module.path || "(model)"), placeOf(node), typeOf(node)].filter(Boolean).join(" · ") : "";
  byId("status").replaceChildren(make("span", {class: "where"}, words),
    ...LEGEND.map(form => make("span", {class: "legend"}, make("i", {class: "mark " + form}),
                    form === "state" ? "state in, out" : form)));
}
