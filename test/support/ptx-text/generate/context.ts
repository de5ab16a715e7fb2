import { conversion } from './conversions.ts';
import { FORMS, type Form, instruction } from './forms.ts';
import type { Part } from './part.ts';
import type { Random } from './random.ts';
import { COUNTS, DECLARED, type Kind } from './registers.ts';

/** The state of the generator: the target, and what holds at the position of the next instruction. */
export interface Context {
  readonly random: Random;
  /** Number of the target, 90 for sm_90. */
  readonly sm: number;
  /** The active lanes: a register or literal that holds their mask; null if it was not computed. */
  readonly mask: string | null;
  /** Whether all threads of the block execute the position. */
  readonly together: boolean;
  readonly depth: number;
  /** Counters for labels and registers that are used once, and whether some threads may have ended. */
  readonly names: { label: number; mask: number; counter: number; log: number; ended: boolean };
  /** The device functions that calls refer to, added as they are generated. */
  readonly functions: string[];
  /** Weights of the kinds of forms. */
  readonly taste: Readonly<Record<string, number>>;
}

export const label = (c: Context): string => `L${c.names.label++}`;

/** Fraction of instructions with a guard. */
const GUARDED = 0.3;

/** A guard, or nothing. */
export function guard(c: Context): string {
  if (!c.random.chance(GUARDED)) return '';
  return `@${c.random.chance(0.4) ? '!' : ''}%p${c.random.register(COUNTS.p)} `;
}

/** A random element, by weight. */
export function weighted<T extends { readonly weight?: number }>(random: Random, list: readonly T[]): T {
  let at = random.next() * list.reduce((n, x) => n + (x.weight ?? 1), 0);
  return list.find((x) => (at -= x.weight ?? 1) < 0) ?? list[0];
}

const kinds = Object.keys(FORMS);

/** A computation with or without a guard, including its semicolon. */
export function computation(c: Context): string {
  const kind = weighted(
    c.random,
    [...kinds, 'convert'].map((name) => ({ name, weight: c.taste[name] ?? 1 })),
  ).name;
  if (kind === 'convert') return `${guard(c)}${conversion(c.random, c.sm)};`;
  const forms: readonly Form[] = FORMS[kind].filter((f) => (f.sm ?? 75) <= c.sm);
  if (forms.length === 0) return computation(c);
  return `${guard(c)}${instruction(c.random, weighted(c.random, forms))};`;
}

/** Number of 8-byte words of a lane's log, for results that are stored as soon as they are computed. */
export const LOG_SLOTS = 40;

/** A store of a register to the next word of the lane's log; none if the log is full. */
function logged(c: Context, name: string): string[] {
  if (c.names.log >= LOG_SLOTS) return [];
  const place = `[%log+${8 * c.names.log++}]`;
  const kind = name[1] as Kind;
  if (kind === 'p') return [`selp.u32 %t5, 1, 0, ${name}; st.global.u32 ${place}, %t5;`];
  return [`st.global.${DECLARED[kind].stored} ${place}, ${name};`];
}

/** An instruction, followed half of the time by stores of its results, before another instruction overwrites them. */
export function observed(c: Context, text: string): string[] {
  const written = /^(?:@\S+ )?\S+ (%[a-z]\d+)?[^,]*?(?:\|(%p\d+))?,/.exec(text);
  if (written === null || !c.random.chance(0.5)) return [text];
  return [text, ...written.slice(1).flatMap((name) => (name === undefined ? [] : logged(c, name)))];
}

/** Generates a piece of a kernel; null where the piece is not allowed. */
export interface Maker {
  readonly weight: number;
  readonly make: (c: Context, body: (c: Context, size: number) => readonly Part[]) => Part | null;
}
