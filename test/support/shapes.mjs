// Prints what has more than one map in V8, of the instruction set and of every snapshot of some runs. Needs
// --allow-natives-syntax; V8 makes the same of it each time with --single-threaded.
//   node --allow-natives-syntax --single-threaded shapes.mjs DIST FILE...
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { runInThisContext } from 'node:vm';

const [dist, ...files] = process.argv.slice(2);
const { loadShipped, optimize, planFromFiles, readPtx } = await import(pathToFileURL(`${dist}/index.js`));
const haveSameMap = runInThisContext('(a, b) => %HaveSameMap(a, b)');

/** Objects by kind: one for each map, with the place where it was first found. */
const kinds = new Map();
const seen = new WeakSet();
function note(kind, x, where) {
  // V8 14 gives lists of registers several maps, for reasons not investigated.
  if (Array.isArray(x) && Number.parseInt(process.versions.v8, 10) >= 14) return;
  const known = kinds.get(kind);
  if (known === undefined) kinds.set(kind, [{ x, where }]);
  else if (!known.some((k) => haveSameMap(k.x, x))) known.push({ x, where });
}

function isNew(x) {
  if (seen.has(x)) return false;
  seen.add(x);
  return true;
}

function look(program, where) {
  for (const fn of program.functions.filter(isNew)) {
    note('function', fn, where);
    note('attributes', fn.attrs, where);
    for (const list of ['params', 'returns', 'variables', 'tables', 'blocks']) note(list, fn[list], where);
    for (const p of [...fn.params, ...fn.returns]) note('parameter', p, where);
    for (const b of fn.blocks.filter(isNew)) {
      note('block', b, where);
      if (b.ins.length > 0) note('ins', b.ins, where);
      for (const x of b.ins.filter(isNew)) {
        const at = `${where}: ${x.op.name}`;
        note('instruction', x, at);
        for (const list of ['src', 'dst', 'otherwise']) note(list, x[list], at);
        for (const o of x.src) note('operand', o, at);
      }
    }
  }
}

const specs = await loadShipped();
const plan = await planFromFiles({ sm: 'sm_80', level: 3 }, specs);
for (const op of plan.isa.opcodes) {
  note('opcode', op, op.name);
  for (const s of [...op.dsts, ...op.srcs]) note('slot', s, op.name);
  for (const list of [op.dsts, op.srcs]) note('slots', list, op.name);
}
for (const phase of plan.phases) note('phase', phase, phase.id);
for (const file of files) {
  const { program } = readPtx(readFileSync(file, 'utf8'), plan, file);
  look(program, `${file}, lowered`);
  optimize(program, plan, { onPhase: (r) => look(r.program, `${file}, ${r.phase.id}`) });
}
const several = [...kinds].filter(([, list]) => list.length > 1);
const known = Object.fromEntries([...kinds].map(([kind, list]) => [kind, list.length]));
process.stdout.write(
  JSON.stringify({ known, several: several.map(([kind, list]) => [kind, list.map((k) => k.where)]) }),
);
