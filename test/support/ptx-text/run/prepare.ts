import { type Computation, keyOf, Modifiers, Unsupported } from '../table/case.ts';
import { TABLE } from '../table/index.ts';
import type { Instruction, PtxFunction, Variable } from '../text/syntax.ts';
import { SyntaxFault } from '../text/tokens.ts';
import { bitsOfNumber, numberOf, type Type } from '../values/types.ts';
import { type Code, type Item, placed } from './code.ts';
import { EFFECTS, type Effect } from './effects.ts';
import type { Lane, Step } from './lane.ts';
import type { Machine } from './machine.ts';
import { Operands, type Read, type Write } from './operands.ts';

/** Prepares a function for execution. `early` receives the code before its instructions are prepared, so that recursive calls find it. */
export function prepared(machine: Machine, fn: PtxFunction, early: (code: Code) => void): Code {
  const { body } = fn;
  if (body === null) throw new Unsupported(`a call of ${fn.name}, which is not defined`);
  const inFrame = (v: { kind: string }): v is Variable =>
    v.kind === 'variable' && ['local', 'param'].includes((v as Variable).space);
  const params = fn.kind === 'entry' ? [] : [...fn.results, ...fn.params];
  const { offsets, end } = placed([...params, ...body.variables].filter(inFrame));
  const kernelParams = placed(fn.kind === 'entry' ? fn.params.filter(inFrame) : []).offsets;
  const code: Code = { fn, registers: body.registers, items: [], frameBytes: end, offsets };
  early(code);
  const items = body.instructions.map((ins) => {
    const o = new Operands(
      machine,
      ins,
      (v) => offsets.get(v),
      (v) => kernelParams.get(v),
    );
    return item(o, step(machine, o));
  });
  code.items = items;
  return code;
}

function item(o: Operands, step: Step): Item {
  const { guard, line, opcode } = o.ins;
  const r = guard === null ? null : o.register(guard.name);
  if (guard !== null && r?.type.kind !== 'predicate')
    throw new SyntaxFault(line, `'${guard.name}' is no predicate`);
  return { guard: r?.slot ?? -1, negated: guard?.negated ?? false, step, line, opcode };
}

function step(machine: Machine, o: Operands): Step {
  const { opcode, modifiers } = o.ins;
  const effect: Effect | undefined = EFFECTS[opcode];
  if (effect !== undefined) {
    const m = new Modifiers(opcode, modifiers, o.count - 1);
    const made = effect(m, o);
    m.finish();
    return made;
  }
  const video = opcode.startsWith('v');
  const selectors = video
    ? o.ins.operands.map((x) => (x.kind === 'name' ? (x.minus ? '-' : '') + x.selector : ''))
    : [];
  const m = new Modifiers(opcode, modifiers, o.count - 1, selectors);
  const key = keyOf(m);
  const of = machine.table[key];
  if (of === undefined) throw new Unsupported(TABLE[key] === undefined ? opcode : `${key} in this table`);
  const computation = of(m);
  m.finish();
  return pure(machine, video ? withoutSelectors(o) : o, computation);
}

/** The operands of a video instruction without their selectors, which its case has already read. */
function withoutSelectors(o: Operands): Operands {
  const operands = o.ins.operands.map((x) => (x.kind === 'name' ? { ...x, selector: '' } : x));
  const ins: Instruction = { ...o.ins, operands };
  return o.with(ins);
}

/** The destinations of the results: the first operand, which for `d|p` has two parts, and CC.CF. */
function destinations(o: Operands, results: readonly Type[]): (Write | null)[] {
  const first = o.at(0);
  const places = first.kind === 'pair' ? [first.first, first.second] : [first];
  let k = 0;
  return results.map((t) => {
    if (t.kind === 'carry')
      return (lane: Lane, bits: bigint) => {
        lane.carry = bits;
      };
    const place = places[k++];
    return place === undefined ? null : o.writer(place, t);
  });
}

function pure(machine: Machine, o: Operands, c: Computation): Step {
  const writes = destinations(o, c.results);
  let k = 1;
  const reads: Read[] = c.operands.map((t) => (t.kind === 'carry' ? (lane) => lane.carry : o.read(k++, t)));
  if (k !== o.count) throw new SyntaxFault(o.ins.line, `${o.ins.opcode} with ${o.count} operands`);
  const { operands, results } = c;
  return (lane) => {
    const values = reads.map((read, i) => numberOf(operands[i], read(lane)));
    const out = c.of(values, machine.choices);
    if (c.approximate === true) machine.approximate = true;
    if (typeof out === 'bigint') writes[0]?.(lane, bitsOfNumber(results[0], out));
    else for (let i = 0; i < results.length; i++) writes[i]?.(lane, bitsOfNumber(results[i], out[i]));
    return undefined;
  };
}
