import { conversion } from './conversions.ts';
import { FORMS, type Form, instruction } from './forms.ts';
import type { Part } from './part.ts';
import type { Random } from './random.ts';
import { COUNTS, DECLARED, type Kind } from './registers.ts';

/** What a kernel draws from: its target, and what holds where the next instruction stands. */
export interface Context {
  readonly random: Random;
  /** Number of the target, 90 for sm_90. */
  readonly sm: number;
  /** The lanes that are here: a register or a number that holds their mask; null where nobody computed it. */
  readonly mask: string | null;
  /** All threads of the block are here. */
  readonly together: boolean;
  readonly depth: number;
  /** Numbers for labels and registers that are used once, and whether some threads may have ended. */
  readonly names: { label: number; mask: number; counter: number; log: number; ended: boolean };
  /** Device functions that calls go to, added as they are drawn. */
  readonly functions: string[];
  /** Kinds of forms that are drawn, with how often. */
  readonly taste: Readonly<Record<string, number>>;
}

export const label = (c: Context): string => `L${c.names.label++}`;

/** How often an instruction has a guard. */
const GUARDED = 0.3;

/** A guard, or nothing. */
export function guard(c: Context): string {
  if (!c.random.chance(GUARDED)) return '';
  return `@${c.random.chance(0.4) ? '!' : ''}%p${c.random.register(COUNTS.p)} `;
}

/** Draws by weight. */
export function weighted<T extends { readonly weight?: number }>(random: Random, list: readonly T[]): T {
  let at = random.next() * list.reduce((n, x) => n + (x.weight ?? 1), 0);
  return list.find((x) => (at -= x.weight ?? 1) < 0) ?? list[0];
}

const kinds = Object.keys(FORMS);

/** An instruction that computes from its operands, with a guard or without one, and its semicolon. */
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

/** Words of 8 bytes that a lane has for results that are stored where they are made. */
export const LOG_SLOTS = 40;

/** A store of a register into the next place of the lane's log; none once the log is full. */
function logged(c: Context, name: string): string[] {
  if (c.names.log >= LOG_SLOTS) return [];
  const place = `[%log+${8 * c.names.log++}]`;
  const kind = name[1] as Kind;
  if (kind === 'p') return [`selp.u32 %t5, 1, 0, ${name}; st.global.u32 ${place}, %t5;`];
  return [`st.global.${DECLARED[kind].stored} ${place}, ${name};`];
}

/** An instruction, and half of the time stores of what it wrote, before something else is written there. */
export function observed(c: Context, text: string): string[] {
  const written = /^(?:@\S+ )?\S+ (%[a-z]\d+)?[^,]*?(?:\|(%p\d+))?,/.exec(text);
  if (written === null || !c.random.chance(0.5)) return [text];
  return [text, ...written.slice(1).flatMap((name) => (name === undefined ? [] : logged(c, name)))];
}

/** What makes a piece of a kernel; null where it may not stand. */
export interface Maker {
  readonly weight: number;
  readonly make: (c: Context, body: (c: Context, size: number) => readonly Part[]) => Part | null;
}
