/* rows.js - both programs as rows, in sections for modules; and the lanes of memories beside them.
 *
 * Rows keep both orders, and partners share a row as far as that is possible. A section can be
 * folded; `shown` lists what is to be drawn, one line each. Nothing here is quadratic in nodes. */

const layout = {
  rows: [],
  sections: [],
  tree: [],
  shown: [],
  lanes: []
};

/* --- Partners --------------------------------------------------------------------------------- */
/* The functional node that a traced node is shown beside: one that computes, if there is one. */
function partnerOf(node) {
  const near = node.became.filter(f => f.graph === node.graph);
  return near.find(f => f.reason[0] === "computed") || near.find(f => f.reason[0] === "copy") || near[0] || null;
}

/* The heaviest part of all pairs (traced, functional) in which both numbers grow. Computing counts
 * most, since with equal weights it would move out of its row for the sake of views. */
const WEIGHTS = {
  view_read: 1,
  write_back: 2
};

function alignedPairs(first, end, size) {
  const best = new Float64Array(size + 2), last = new Array(size + 2).fill(null);  // a Fenwick tree of maxima
  let heaviest = null;
  for (let n = first.traced; n < end; n++) {
    const f = partnerOf(model.traced[n]);
    if (!f) continue;
    const at = f.number - first.functional + 1;
    let weight = 0, before = null;
    for (let k = at - 1; k > 0; k -= k & -k)
      if (best[k] > weight) [weight, before] = [best[k], last[k]];
    weight += WEIGHTS[f.reason[0]] || 8;
    const pair = {traced: model.traced[n], functional: f, before, weight};
    for (let k = at; k <= size; k += k & -k)
      if (weight > best[k]) [best[k], last[k]] = [weight, pair];
    if (!heaviest || weight > heaviest.weight) heaviest = pair;
  }
  const partners = new Map();
  for (let pair = heaviest; pair; pair = pair.before) partners.set(pair.traced, pair.functional);
  return partners;
}

/* --- Rows ------------------------------------------------------------------------------------- */
/* Each body has its own rows. A functional body without a traced one comes last. */
function makeRows() {
  const {traced, functional} = model.document, rows = layout.rows;
  for (let g = 0; g < Math.max(traced.length, functional.length); g++) {
    if (g) rows.push({form: "graph", text: "body " + ((traced[g] || functional[g]).name || g)});
    else
      inputRows(traced[0]);
    nodeRows(traced[g] || {first: 0, end: 0}, functional[g] || {first: 0, end: 0});
    outputRows(g, traced[g] || {outputs: []}, functional[g] || {outputs: []});
  }
  for (const row of rows)
    for (const node of [row.traced, row.functional])
      if (node) node.row = row;
}

function nodeRows(traced, functional) {
  const first = {traced: traced.first, functional: functional.first};
  const partners = alignedPairs(first, traced.end, functional.end - functional.first);
  let next = functional.first;
  const addTo = end => {
    for (; next < end; next++) layout.rows.push({form: "node", functional: model.functional[next]});
  };
  for (let n = traced.first; n < traced.end; n++) {
    const node = model.traced[n], partner = partners.get(node);
    if (partner) addTo(partner.number);
    layout.rows.push({form: "node", traced: node, functional: partner});
    if (partner) next = partner.number + 1;
  }
  addTo(functional.end);
}

const MOST_ENDS = 12;
const isMutation = output => output[2].endsWith("_mutation");

function inputRows(graph) {
  const written = new Set(model.document.functional[0].outputs.filter(isMutation).map(o => o[3]));
  const isState = i => written.has(i[3]) || written.has(i[0].slice(1));
  const isWeight = i => ["parameter", "buffer", "constant"].includes(i[2]);
  const weights = graph.inputs.filter(i => isWeight(i) && !isState(i)), states = graph.inputs.filter(isState);
  const size = sum(weights, i => model.types[i[1]].size);
  if (weights.length)
    layout.rows.push(
      {form: "note", text: `${plural(weights.length, "weight")} and constants, ${bytes(size)}, read only`});
  const users = graph.inputs.filter(i => !isWeight(i) && !isState(i));
  users.slice(0, MOST_ENDS).forEach(input => layout.rows.push({form: "input", input}));
  if (users.length > MOST_ENDS)
    layout.rows.push({form: "note", text: `and ${plural(users.length - MOST_ENDS, "more input")}`});
  if (states.length <= MOST_ENDS) states.forEach(input => layout.rows.push({form: "input", input, isState: true}));
  else
    layout.rows.push({form: "note", text: `${plural(states.length, "tensor")} of state come in, and are written`});
}

/* State outputs come first: the functional form returns what the traced one leaves written. */
function outputRows(g, traced, functional) {
  const states = functional.outputs.filter(isMutation);
  const plain = functional.outputs.filter(o => !isMutation(o)), theirs = traced.outputs.filter(o => !isMutation(o));
  const add = (output, left) =>
    layout.rows.push({form: "output", output, left, at: functional.outputs.indexOf(output)});
  if (states.length > MOST_ENDS)
    layout.rows.push({
      form: "note",
      text: `${plural(states.length, "tensor")} of state are left written`,
      right: plural(states.length, "state output") + `, ${inPlaceWords()}`
    });
  else
    states.forEach(o => add(o, null));
  for (let k = 0; k < Math.min(MOST_ENDS, Math.max(plain.length, theirs.length)); k++) add(plain[k], theirs[k]);
  if (plain.length > MOST_ENDS)
    layout.rows.push({form: "note", text: `and ${plural(plain.length - MOST_ENDS, "more output")}`});
}

const inPlaceWords = () => model.plan ? `${model.plan.finals_in_place} of ${model.plan.finals} in place` : "";

/* --- Sections --------------------------------------------------------------------------------- */
function pathOf(row) {
  if (row.within === undefined) {
    const module = row.form === "node" && moduleOf(row.traced || row.functional);
    row.within = module ? module.path : "";
  }
  return row.within;
}

/* The module below `prefix` that a row belongs to, "" for none. A member of a list, layers.0, is one
 * module if the list itself is never called. */
function childOf(row, prefix) {
  const path = pathOf(row), start = prefix ? prefix.length + 1 : 0;
  if (path.length <= start || (prefix && !path.startsWith(prefix + "."))) return "";
  const [first, second] = path.slice(start).split(".", 2), child = path.slice(0, start) + first;
  return second !== undefined && /^\d+$/.test(second) && !model.classes.has(child) ? child + "." + second : child;
}

const listOf = path => /^\d+$/.test(path.split(".").pop()) ? path.slice(0, path.lastIndexOf(".") + 1) || "." : "";

/* Runs of rows of one module. Rows of a parent between rows of a child belong to the child. */
function runsOf(rows, prefix) {
  const runs = [];
  for (let k = 0; k < rows.length;) {
    const path = childOf(rows[k], prefix);
    let end = k + 1;
    if (path)
      for (let m = end; m < rows.length && rows[m].form === "node"; m++) {
        const other = childOf(rows[m], prefix);
        if (other === path) end = m + 1;
        else if (other)
          break;
      }
    runs.push({path, rows: rows.slice(k, end)});
    k = end;
  }
  return runs;
}

const MOST_BETWEEN = 4;
const wordOf = row => row.traced ? row.traced.operator : "";

/* Rows between two members of a list belong to the first of them; as many with the same operators
 * behind the last one belong to that. */
function joinLists(runs) {
  const joined = [];
  let tail = [];
  for (let k = 0; k < runs.length; k++) {
    const run = runs[k], list = run.path && listOf(run.path);
    joined.push(run);
    if (!list) continue;
    let next = k + 1;
    while (next < runs.length && !runs[next].path && runs[next].rows[0].form === "node" && next - k <= MOST_BETWEEN)
      next++;
    const goesOn = next < runs.length && runs[next].path && listOf(runs[next].path) === list;
    const behind = runs.slice(k + 1, goesOn ? next : k + 1 + tail.length).map(r => r.rows[0]);
    if (goesOn) tail = behind;
    else if (behind.length < tail.length || behind.some((row, n) => wordOf(row) !== wordOf(tail[n])))
      continue;
    run.rows.push(...behind);
    k += behind.length;
  }
  return joined;
}

/* The tree of sections and rows. A module has a heading if it was called or is a member of a list,
 * and is neither small nor nearly the whole program. */
function sectionsOf(rows, prefix) {
  return joinLists(runsOf(rows, prefix)).flatMap(run => {
    if (!run.path) return run.rows;
    const inner = sectionsOf(run.rows, run.path);
    const hasHeading = (model.classes.has(run.path) || listOf(run.path)) && run.rows.length >= 4 &&
      run.rows.length <= 0.85 * layout.rows.length;
    if (!hasHeading) return inner;
    if (inner.length === 1 && inner[0].path) return inner;
    return [{path: run.path, name: model.classes.get(run.path) || "", rows: run.rows, inner, isOpen: true}];
  });
}

/* Equal texts have equal numbers. */
const numbers = new Map();
function numberOf(text) {
  const known = numbers.get(text);
  if (known === undefined) numbers.set(text, numbers.size + 1);
  return known || numbers.size;
}

/* Operator and sizes of a traced node. */
function shapeOf(node) {
  if (node.shape === undefined) node.shape = numberOf(node.operator + typeOf(node).replace(/ (stride|offset)\(.*/, ""));
  return node.shape;
}

/* Two sections are alike if their traced nodes have the same operators, sizes and inner modules. Only
 * two hashes of these are kept. */
function signatureOf(section) {
  let a = 0x9e3779b1, b = 0x85ebca6b;
  for (const row of section.rows) {
    if (!row.traced) continue;
    const path = pathOf(row), inner = numberOf(path.startsWith(section.path) ? path.slice(section.path.length) : "^");
    a = Math.imul(Math.imul(a ^ shapeOf(row.traced), 0x01000193) ^ inner, 0x01000193);
    b = Math.imul(Math.imul(b, 31) + shapeOf(row.traced), 31) + inner | 0;
  }
  return a + ":" + b + ":" + section.before;
}

function measure(section) {
  Object.assign(section, {before: 0, after: 0, writes: 0, copied: 0});
  for (const {traced, functional} of section.rows) {
    if (traced) section.before++;
    if (functional) section.after++;
    if (traced && traced.kind === "write") section.writes++;
    if (functional && functional.kind === "copy") section.copied += functional.cost.bytes;
  }
}

/* Marks neighbours that are alike; from three on they have one heading, `first.alike`. */
function findAlike(list, parent) {
  const sections = list.filter(one => one.path);
  for (const section of sections) {
    measure(section);
    Object.assign(section, {parent, signature: signatureOf(section), number: layout.sections.length});
    layout.sections.push(section);
    findAlike(section.inner, section);
  }
  for (let k = 0; k < list.length;) {
    let end = k + 1;
    while (list[k].path && end < list.length && list[end].path && list[end].signature === list[k].signature) end++;
    for (let m = k + 1; m < end; m++) Object.assign(list[m], {like: list[k], isOpen: false});
    if (end > k + 2) {
      list[k + 1].alike = list.slice(k + 1, end);
      for (let m = k + 2; m < end; m++) list[m].hiddenBy = list[k + 1];
    }
    k = end;
  }
}

const MANY_ROWS = 2500;

function makeSections() {
  layout.tree = sectionsOf(layout.rows, "");
  findAlike(layout.tree, null);
  if (layout.rows.length <= MANY_ROWS) return;
  for (const section of layout.sections) section.isOpen = false;  // but the first of each run of like ones
  for (const section of layout.sections)
    for (let s = section.like && !section.like.like ? section.like : null; s && !s.like; s = s.parent) s.isOpen = true;
}

/* --- What is shown ---------------------------------------------------------------------------- */
function refold() {
  const shown = layout.shown = [];
  for (const row of layout.rows) row.y = -1;
  const add = (list, depth) => {
    for (const one of list) {
      if (!one.path) shown.push({row: one, depth});
      else if (!one.hiddenBy || one.hiddenBy.isSpread) {
        shown.push({section: one, depth});
        if (one.isOpen) add(one.inner, depth + 1);
      }
    }
  };
  add(layout.tree, 0);
  shown.forEach((line, y) => {
    (line.row || line.section).y = y;
  });
  for (const {section} of shown)
    if (section) settle(section);
  placeLanes();
}

/* Rows that are folded away are where their section's heading is. */
function settle(section) {
  const all = section.alike && !section.isSpread ? section.alike : [section];
  for (const one of all)
    for (const row of one.rows)
      if (row.y < 0) row.at = section.y;
}
const lineOf = node => node.row.y >= 0 ? node.row.y : node.row.at;

function unfoldTo(node) {
  if (node.row.y >= 0) return;
  for (const section of layout.sections)
    if (section.rows.includes(node.row)) {
      section.isOpen = true;
      if (section.hiddenBy) section.hiddenBy.isSpread = true;
      if (section.alike) section.isSpread = true;
    }
  refold();
}

/* --- Lanes ------------------------------------------------------------------------------------ */
/* A memory that is written has a lane, from the first line that touches it to the last. */
const mostLanes = () => innerWidth < 1120 ? 4 : 6;

function laneOf(memory, ends) {
  const marks = memory.events.filter(e => e.kind !== "output")
                  .map(e => ({y: lineOf(e.node), form: e.writes ? "write" : e.kind, spans: e.type.spans}));
  if (memory.maker) marks.push({y: lineOf(memory.maker), form: "made", spans: [[0, memory.size]]});
  const own = marks.filter(mark => mark.y !== undefined);
  const all = own.concat((ends.get(memory) || []).map(y => ({y, form: "state", spans: [[0, memory.size]]})));
  const lane = {memory, marks: all, own};
  return own.some(mark => mark.form === "write") ? reach(lane) : null;
}

function reach(lane) {
  lane.first = lane.last = lane.marks[0].y;
  for (const {y} of lane.marks) {
    lane.first = Math.min(lane.first, y);
    lane.last = Math.max(lane.last, y);
  }
  return lane;
}

/* Lines where state comes in and goes out. */
function stateEnds() {
  const ends = new Map(), byName = new Map();
  for (const memory of model.memories)
    if (memory.input && memory.graph === 0) byName.set(memory.label, memory);
  layout.shown.forEach(({row}, y) => {
    const label = row &&
      (row.form === "input" && row.isState                              ? row.input[3] || row.input[0].slice(1) :
          row.form === "output" && row.output && isMutation(row.output) ? row.output[3] :
                                                                          null);
    const memory = label && byName.get(label);
    if (memory) ends.set(memory, [...(ends.get(memory) || []), y]);
  });
  return ends;
}

/* Most lanes that run beside each other. */
function depthOf(lanes) {
  const ends = lanes.map(lane => lane.last).sort((a, b) => a - b);
  let gone = 0, most = 0;
  lanes.forEach((lane, k) => {
    while (ends[gone] < lane.first) gone++;
    most = Math.max(most, k + 1 - gone);
  });
  return most;
}

const byStart = (a, b) => a.first - b.first || b.last - a.last;

/* If there are too many at once, lanes lose their ends. Lanes for which there is no room are left out. */
function placeLanes() {
  const ends = stateEnds(), free = [], most = mostLanes();
  const isSeen = lane => lane && !(lane.first === lane.last && layout.shown[lane.first].section);
  let lanes = model.memories.filter(m => m.isWritten).map(m => laneOf(m, ends)).filter(isSeen).sort(byStart);
  if (depthOf(lanes) > most) lanes = lanes.map(lane => reach({...lane, marks: lane.own})).filter(isSeen).sort(byStart);
  layout.lanes = [];
  for (const lane of lanes) {
    let k = free.findIndex(end => end < lane.first);
    if (k < 0 && free.length >= most) continue;
    if (k < 0) k = free.length;
    free[k] = lane.last;
    lane.column = k;
    lane.at = groupBy(lane.marks, mark => mark.y);
    layout.lanes.push(lane);
  }
  layout.leftOut = lanes.length - layout.lanes.length;
  layout.columns = free.length;
}

function groupBy(list, key) {
  const groups = new Map();
  for (const one of list) {
    const found = groups.get(key(one));
    if (found) found.push(one);
    else
      groups.set(key(one), [one]);
  }
  return groups;
}
