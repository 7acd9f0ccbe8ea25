"use strict";
/* data.js - reads the document into nodes, memories and costs, which all other files use.
 *
 * docs/view.md describes the document. A node knows the nodes that it uses and its users. A traced node
 * also knows the functional nodes that it became, and its effects on memories. A functional node knows
 * its origin, and the steps of a run that compute it. */

const byId = id => document.getElementById(id);

/* An element with children. A text is always a text, whatever a program calls its values. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

/* The same in a picture. */
function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* --- Words ------------------------------------------------------------------------------------ */
function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let k = 0;
  for (; n >= 1000 && k < units.length - 1; k++) n /= 1000;
  return (k === 0 || n >= 10 ? Math.round(n) : n.toFixed(1)) + "\u00a0" + units[k];
}
const count = n => n.toLocaleString("en").replace(/,/g, "\u202f");
const plural = (n, word) => count(n) + " " +
  (n === 1               ? word :
      word.endsWith("y") ? word.slice(0, -1) + "ies" :
                           word + "s");
const tail = (text, most) => text.length > most ? "…" + text.slice(1 - most) : text;
const shorten = (text, most = 26) =>
  text.length > most ? text.slice(0, Math.floor(most / 3)) + "…" + text.slice(-Math.ceil(most * 0.6)) : text;

/* --- Types and their bytes -------------------------------------------------------------------- */
/* A span is [first byte, byte behind the last]. Spans of a type are sorted and do not meet. */
function readType([text, size, exact, ...ends]) {
  const spans = [];
  for (let k = 0; k < ends.length; k += 2) spans.push([ends[k], ends[k + 1]]);
  return {text, size, exact: !!exact, spans, end: spans.length ? spans[spans.length - 1][1] : 0};
}

function meet(a, b) {
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i][0] < b[j][1] && b[j][0] < a[i][1]) return true;
    if (a[i][1] < b[j][1]) i++;
    else
      j++;
  }
  return false;
}

/* The part of `a` that is not in `b`. */
function without(a, b) {
  let left = a;
  for (const [low, high] of b)
    left = left.flatMap(([x, y]) => [[x, Math.min(y, low)], [Math.max(x, high), y]].filter(s => s[0] < s[1]));
  return left;
}

/* --- Nodes ------------------------------------------------------------------------------------ */
const model = {
  traced: [],
  functional: [],
  memories: [],
  places: []
};

function readNode(side, graph, number, place, row) {
  const [statement, operator, values, source, module, uses, reason, from, through, reader, output] = row;
  const results = [];
  for (let k = 0; k < values.length; k += 2) results.push({name: values[k], type: model.types[values[k + 1]]});
  return {
    side,
    graph,
    number,
    place,
    statement,
    operator: model.operators[operator],
    results,
    source,
    module,
    uses,
    users: [],
    became: [],
    events: [],
    steps: [],
    reason,
    from,
    through,
    reader,
    output,
    kind: "",
    y: -1
  };
}

function readProgram(side, graphs) {
  const nodes = model[side];
  for (const [g, graph] of graphs.entries()) {
    graph.first = nodes.length;
    graph.makers = new Map();
    for (const row of graph.nodes) nodes.push(readNode(side, g, nodes.length, nodes.length - graph.first, row));
    graph.end = nodes.length;
    for (let n = graph.first; n < graph.end; n++)
      for (const result of nodes[n].results) graph.makers.set(result.name, nodes[n]);
  }
  for (const node of nodes) {
    node.uses = (node.uses.length > 1 ? [...new Set(node.uses)] : node.uses).map(n => nodes[n]);
    for (const used of node.uses) used.users.push(node);
  }
}

function linkOrigins() {
  for (const f of model.functional) {
    for (const key of ["from", "through", "reader"]) f[key] = f[key] < 0 ? null : model.traced[f[key]];
    f.reason = model.reasons[f.reason];
    if (!f.from) continue;
    f.from.became.push(f);
    if (f.module < 0) f.module = f.from.module;
    if (f.source < 0) f.source = f.from.source;
  }
}

/* --- Memories --------------------------------------------------------------------------------- */
function readMemory(row) {
  const graph = model.document.traced[row.graph];
  const input = row.node < 0 ? graph.inputs.find(i => i[0] === row.name) : null;
  const memory = {
    name: row.name,
    maker: row.node < 0 ? null : model.traced[row.node],
    graph: row.graph,
    events: [],
    size: model.types[row.type].end,
    input,
    isWritten: false
  };
  memory.label = input && input[3] ? input[3] : row.name.slice(1);
  for (let k = 0; k < row.events.length; k += 3) {
    const kind = model.document.events[row.events[k + 1]];
    const event = {memory, node: model.traced[row.events[k]], kind, type: model.types[row.events[k + 2]]};
    event.writes = kind === "write" || kind === "update";
    memory.events.push(event);
    memory.size = Math.max(memory.size, event.type.end);
    memory.isWritten = memory.isWritten || event.writes;
    if (kind !== "output" && event.node) event.node.events.push(event);
  }
  return memory;
}

/* Nodes that read bytes which an event has written, before others overwrite all of them. */
function seenBy(written) {
  const events = written.memory.events, nodes = new Set();
  let left = written.type.spans, isOutput = false;
  for (let k = events.indexOf(written) + 1; k < events.length && left.length; k++) {
    const e = events[k], reads = e.kind === "read" || e.kind === "update";
    if (reads && meet(left, e.type.spans)) nodes.add(e.node);
    if (e.kind === "output" && meet(left, e.type.spans)) isOutput = true;
    if (e.kind === "write" && e.type.exact) left = without(left, e.type.spans);
  }
  nodes.delete(written.node);
  return {
    nodes: [...nodes],
    isOutput,
    isState: left.length > 0 && !!written.memory.input && written.memory.graph === 0
  };
}

const writeOf = node => node.events.find(e => e.writes);
const viewOf = node => node.events.find(e => e.kind === "view");

/* --- What a run does -------------------------------------------------------------------------- */
function readPlan(plan) {
  const graphs = model.document.functional, all = plan.steps.map(step => [0, step]);
  for (const body of plan.bodies || []) {
    const g = graphs.findIndex(graph => graph.name === body.graph);
    if (body.run && g > 0) all.push(...body.steps.map(step => [g, step]));
  }
  const makers = graphs.map(graph => byName(graph.makers));
  for (const [g, step] of all) {
    const names = step.results || (step.result === undefined ? [] : [step.result]);
    step.nodes = names.map(name => makers[g].get(name)).filter(Boolean);
    for (const node of step.nodes) node.steps.push(step);
    if (!names.length && step.kind === "copy" && g === 0) noteEnd(plan, step, makers[g]);
  }
  model.steps = all.map(pair => pair[1]);
  model.copies = model.steps.filter(step => step.kind === "copy");
  model.copied = sum(model.copies, step => step.bytes);
}

/* Plans have names as they are, statements as the text form writes them: %"a b" for "a b". */
function byName(makers) {
  const plain = new Map();
  for (const [name, node] of makers) plain.set(plainName(name), node);
  return plain;
}
const plainName = name => /^%["']/.test(name) ? unquote(name.slice(1)) : name.slice(1);
const ESCAPES = {
  n: "\n",
  t: "\t",
  r: "\r"
};
const unquote = text => text.slice(1, -1).replace(
  /\\(x..|.)/g, (all, c) => c.length > 1 ? String.fromCharCode(parseInt(c.slice(1), 16)) : ESCAPES[c] || c);

/* A copy behind the last node: of an output, or of a final value into its state. */
function noteEnd(plan, step, makers) {
  const graph = model.document.functional[0], buffer = plan.buffers[step.to];
  const input = buffer.kind === "state" ? graph.inputs[buffer.of] : null;
  const isOf = output => input && (output[3] === input[3] || "%" + output[3] === input[0]);
  step.output = buffer.kind === "out" ? buffer.of : graph.outputs.findIndex(isOf);
  step.nodes = [makers.get(step.value)].filter(Boolean);
  const output = graph.outputs[step.output];
  if (output) (output.copies = output.copies || []).push(step);
}

const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

const isInState = (f, step) =>
  !!step.in_state && f.results.some(result => step.in_state.includes(plainName(result.name)));

/* The entry of a node in the right column: {form, text, bytes}; null for an ordinary step. */
function costOf(f) {
  if (!model.plan) return null;
  if (!f.steps.length)
    return f.graph === 0 && f.results.some(result => result.type.size) ? {form: "none", text: "0\u00a0B", bytes: 0} :
                                                                         null;
  const copied = sum(f.steps, s => s.kind === "copy" ? s.bytes : 0);
  const moved = sum(f.steps, s => s.kind === "update" && s.bytes || 0);
  const group = f.steps.find(s => s.kind === "group");
  if (copied) return {form: "copy", text: "copies " + bytes(copied), bytes: copied};
  if (f.steps.some(s => isInState(f, s) || (s.kind === "update" && !s.bytes)))
    return {form: "good", text: "in place", bytes: 0};
  if (moved) return {form: "move", text: "moves " + bytes(moved), bytes: moved};
  if (!group || group.nodes.length === 1) return null;
  return {form: "none", text: group.nodes[0] === f ? "fused, " + group.nodes.length : "fused", bytes: 0};
}

/* --- Which colour a node has ------------------------------------------------------------------ */
function nameKinds() {
  for (const node of model.traced) node.kind = writeOf(node) ? "write" : viewOf(node) ? "view" : "";
  for (const f of model.functional) {
    f.cost = costOf(f);
    const name = f.reason[0], wrote = f.from && f.from.kind === "write";
    f.kind = f.cost && f.cost.form === "copy"                   ? "copy" :
      name === "write_back"                                     ? "back" :
      name === "view_read" || name === "copy" || name === "own" ? "read" :
      wrote                                                     ? "value" :
                                                                  "";
  }
}

/* "model.py:7", and "" where nothing was recorded. */
function placeOf(node) {
  const [path, line, text] = node.source < 0 ? ["", 0, ""] : model.sources[node.source];
  return path ? path.split("/").pop() + (line ? ":" + line : "") : text.split("\n")[0];
}
const nameOf = node => node && node.results.length ? node.results[0].name : node ? node.operator : "";
const typeOf = node => node.results.length ? node.results[0].type.text : "";
const shortType = text => text.replace(/ stride\([^)]*\)/, "");
const moduleOf = node => node.module < 0 ? null : model.modules[node.module];

function readDocument() {
  const d = JSON.parse(byId("document").textContent);
  Object.assign(model, {
    document: d,
    operators: d.operators,
    sources: d.sources,
    reasons: d.reasons,
    plan: d.plan,
    types: d.types.map(readType),
    modules: d.modules.map(([path, name]) => ({path, name})),
    steps: []
  });
  model.types[-1] = readType(["", 0, 1]);
  model.classes = new Map(model.modules.map(m => [m.path, m.name]));
  readProgram("traced", d.traced);
  readProgram("functional", d.functional);
  linkOrigins();
  model.memories = d.memories.map(readMemory);
  if (d.plan) readPlan(d.plan);
  nameKinds();
}
