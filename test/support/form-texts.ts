import { bitsOf, countOf, type InstructionForm, type OperandForm, sizesOf } from '../../src/ptx/forms.ts';
import type { Numbers } from './forms.ts';

/*
 * PTX instructions drawn from the table of forms. Each is run twice in one kernel: once with separate registers for all operands, and once
 * with destinations that are also sources or the guard. Both runs must give the same results.
 */

/** A register operand: the bits of its type, and whether it is a destination. */
interface Slot {
  readonly bits: number;
  readonly result: boolean;
}

/** An instruction with its operands; `$0`, `$1`, ... stand for registers. */
export interface FormText {
  /** Opcode with modifiers. */
  readonly name: string;
  readonly text: string;
  readonly slots: readonly Slot[];
  /** Requires all lanes of a warp, so the whole warp executes it or none does. */
  readonly together: boolean;
}

/** Opcodes that require all lanes. */
const MEET: ReadonlySet<string> = new Set(['sync', 'aligned', 'barrier', 'bar', 'collective']);

/** Opcodes whose last operand is the member mask; here it contains all lanes. */
const MASKED: ReadonlySet<string> = new Set(['shfl', 'vote', 'match', 'redux', 'elect']);

/** Draws an instruction of a form; null if it has an operand of an unsupported kind. */
export function drawForm(opcode: string, form: InstructionForm, n: Numbers): FormText | null {
  const pick = <T>(list: readonly T[]): T => list[n.below(list.length)];
  const words: string[] = [];
  for (const leading of [true, false])
    for (const g of form.groups)
      if (g.leading === leading && (g.required || n.below(3) === 0)) words.push(pick(g.words));
  const types = form.types.map(pick);
  const slots: Slot[] = [];
  const slot = (bits: number, result: boolean): string => `$${slots.push({ bits, result }) - 1}`;
  const one = (o: OperandForm): string | null => {
    const type = typeof o.type === 'string' ? o.type : o.type < 0 ? '' : types[o.type];
    if (o.range !== null && !o.result) {
      const { range } = o;
      if (range.kind === 'one') return String(pick(range.of));
      if (range.kind === 'multiple') return String(range.of);
      const steps = (range.high - range.low) / range.step;
      return String(range.low + range.step * BigInt(n.below(Number(steps > 1000n ? 1000n : steps) + 1)));
    }
    if (o.kind === 'constant') return String(n.below(256));
    if (o.kind === 'memory') return o.handle === '' && o.parts.length === 0 ? `[${slot(64, false)}]` : null;
    if (!['value', 'packed', 'moved', 'chosen'].includes(o.kind)) return null;
    const bits = type === 'pred' ? 1 : bitsOf(type);
    if (![1, 16, 32, 64].includes(bits)) return null;
    const own = slot(bits, o.result);
    return o.pair === 'must' || (o.pair === 'may' && n.below(2) === 0) ? `${own}|${slot(1, o.result)}` : own;
  };
  const operands: string[] = [];
  for (const o of form.operands) {
    if (o.optional && n.below(2) === 0) break;
    const parts = Number(/^v(\d)$/.exec(words.find((w) => /^v\d$/.test(w)) ?? '')?.[1] ?? 1);
    if (o.kind !== 'vector' && (o.vector === 0 || parts === 1)) {
      const text = one(o);
      if (text === null) return null;
      operands.push(text);
      continue;
    }
    const count = o.kind === 'vector' ? countOf(o.count!, sizesOf(words)) : parts;
    const items = Array.from({ length: count }, () => one({ ...o, kind: 'value' }));
    if (o.indexed || count < 1 || items.includes(null)) return null;
    operands.push(`{${items.join(', ')}}`);
  }
  if (MASKED.has(opcode)) {
    if (slots.length > 1 && operands.at(-1) === `$${slots.length - 1}`) slots.pop();
    operands[operands.length - 1] = '0xffffffff';
  }
  const name = [opcode, ...words, ...types].join('.');
  const together = [opcode, ...words].some((w) => MEET.has(w));
  return { name, text: `${name} ${operands.join(', ')};`, slots, together };
}

const file = (bits: number): string => (bits === 1 ? 'p' : bits === 16 ? 'h' : bits === 32 ? 'r' : 'd');

/** Input and output bytes of a thread. */
export const IN = 256;
export const OUT = 128;

/**
 * The kernel that runs an instruction once. Unchanged destinations are stored too.
 *
 * @param shares for each result, the slot whose register it shares; -1 for the guard's, null for none
 * @param apart if true, results have registers of their own, initialised like those that they would share
 */
export function kernelOf(
  form: FormText,
  shares: ReadonlyMap<number, number>,
  guard: '' | '@' | '@!',
  apart: boolean,
): string {
  const { slots } = form;
  const name = (k: number): string => (k < 0 ? '%g' : `%${file(slots[k].bits)}${k}`);
  const home = (k: number): string => name(!apart && shares.has(k) ? shares.get(k)! : k);
  const lines: string[] = [];
  slots.forEach(({ bits }, k) => {
    const from = shares.get(k);
    if (from !== undefined && !apart) return;
    if (from !== undefined) lines.push(`mov.${bits === 1 ? 'pred' : `b${bits}`} ${name(k)}, ${name(from)};`);
    else if (bits === 1) lines.push(`ld.global.b32 %t, [%in+${16 * k}]; setp.lt.s32 ${name(k)}, %t, 0;`);
    else if (form.text.includes(`[$${k}]`)) lines.push(`add.s64 ${name(k)}, %area, ${16 * k};`);
    else lines.push(`ld.global.b${bits} ${name(k)}, [%in+${16 * k}];`);
  });
  // Copies follow what they copy.
  lines.sort((a, b) => Number(a.startsWith('mov')) - Number(b.startsWith('mov')));
  lines.push(
    `${guard === '' ? '' : `${guard}%g `}${form.text.replace(/\$(\d+)/g, (_, k) => home(Number(k)))}`,
  );
  slots.forEach(({ bits, result }, k) => {
    if (!result) return;
    if (bits === 1) lines.push(`selp.b32 %t, 1, 0, ${home(k)}; st.global.b32 [%out+${8 * k}], %t;`);
    else lines.push(`st.global.b${bits} [%out+${8 * k}], ${home(k)};`);
  });
  const declared = slots.map(({ bits }, k) => `.reg .${bits === 1 ? 'pred' : `b${bits}`} ${name(k)};`);
  const together = form.together ? 'mov.u32 %t, %tid.x; and.b32 %t, %t, 32; setp.ne.u32 %g, %t, 0;' : '';
  return `.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 parea) {
.reg .b64 %in, %out, %area; .reg .b32 %t, %i; .reg .pred %g;
${declared.join(' ')}
ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %area, [parea];
mov.u32 %i, %tid.x; mad.wide.u32 %in, %i, ${IN}, %in; mad.wide.u32 %out, %i, ${OUT}, %out; mad.wide.u32 %area, %i, ${IN}, %area;
ld.global.b32 %t, [%in+${IN - 4}]; setp.lt.s32 %g, %t, 0; ${together}
${lines.join('\n')}
ret; }
`;
}

/** What a result may share: a source of its size or, for a predicate, the guard. */
export function drawShares(form: FormText, guarded: boolean, n: Numbers): Map<number, number> {
  const out = new Map<number, number>();
  const { slots } = form;
  const taken = new Set<number>();
  slots.forEach(({ bits, result }, k) => {
    if (!result) return;
    const with_ = slots.flatMap((s, i) => (!s.result && s.bits === bits && !taken.has(i) ? [i] : []));
    if (bits === 1 && guarded && !taken.has(-1)) with_.push(-1, -1);
    if (with_.length === 0 || n.below(4) === 0) return;
    const from = with_[n.below(with_.length)];
    taken.add(from);
    out.set(k, from);
  });
  return out;
}
