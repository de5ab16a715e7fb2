import { match, P } from 'ts-pattern';
import { didYouMean } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import type { KnobValue } from '../ir/pass.ts';
import { type Expr, parseExpression } from '../isa/lang/parse.ts';

/**
 * Conditions that do not concern values: how often a result is used, where an instruction stands, which target the
 * code is for. They only restrict where a rule fires, never whether it is correct, so proofs ignore them.
 */

/** What code is compiled for: constant during one run of a phase. */
export interface Setting {
  readonly level: number;
  /** Number of the target: 80 for sm_80. */
  readonly sm: number;
  knob(name: string): KnobValue;
}

/** What a structural condition may ask of a match. */
export interface Situation extends Setting {
  /** Number of operands in the whole function that read the variable's register; Infinity if it is a constant. */
  uses(v: number): number;
  /** Whether the variable's register is read by truth tables alone, of its width. */
  inTables(v: number): boolean;
  /** Whether the variable is a register. */
  isRegister(v: number): boolean;
  /** Whether the operand carries no negation, complement or absolute value. */
  isPlain(v: number): boolean;
  /** Whether the variable's register is the second source of the line that reads it, of the two that may be exchanged. */
  isSecond(v: number): boolean;
  /** Whether the line that defines the variable is in the root's block. */
  sameBlock(v: number): boolean;
  /** Whether the root accesses local memory. */
  isLocal(): boolean;
  /** Loop depth of the line that defines the variable (of the root for -1). */
  depth(v: number): number;
}

/** Function name -> its arguments: variables, or a knob's name. */
const FUNCTIONS: Readonly<Record<string, readonly ('variable' | 'knob')[]>> = {
  uses: ['variable'],
  intables: ['variable'],
  isreg: ['variable'],
  plain: ['variable'],
  second: ['variable'],
  sameblock: ['variable'],
  depth: ['variable'],
  rootdepth: [],
  rootlocal: [],
  knob: ['knob'],
};
const FIGURES = new Set(['level', 'sm']);

/**
 * The parts of a condition that are joined by `&&`.
 * @throws MeaningError if it cannot be parsed
 */
export const partsOf = (when: string): Expr[] =>
  conjuncts(parseExpression(when.trim().replaceAll('\n', ' ')));

/**
 * Can the text of a condition contain a part that is static or reads a knob? Few do, and the others are not parsed to
 * find out.
 */
export const mayReadSetting = (when: string): boolean => /\b(?:level|sm|knob)\b/.test(when);

/** The parts of `a && b && c`. */
const conjuncts = (e: Expr): Expr[] =>
  e.k === 'binary' && e.op === '&&' ? [...conjuncts(e.a), ...conjuncts(e.b)] : [e];

/** The direct subexpressions. A plain switch, since it runs for every condition of every rule that is read. */
function inside(e: Expr): readonly Expr[] {
  switch (e.k) {
    case 'int':
    case 'name':
      return [];
    case 'call':
      return e.args;
    case 'unary':
      return [e.a];
    case 'binary':
      return [e.a, e.b];
    case 'cond':
      return [e.c, e.a, e.b];
  }
}

/** Is the expression the level or the target? */
const isFigure = (e: Expr): boolean => e.k === 'name' && FIGURES.has(e.name);

/** Does any part ask about the situation? */
export const isStructural = (e: Expr): boolean =>
  isFigure(e) || (e.k === 'call' && Object.hasOwn(FUNCTIONS, e.fn)) || inside(e).some(isStructural);

/** Is the answer the same for a whole run of a phase, because only level, target and knobs are asked about? */
export function isStatic(e: Expr): boolean {
  if (e.k === 'name') return isFigure(e);
  if (e.k === 'call') return e.fn === 'knob';
  return inside(e).every(isStatic);
}

/** Does a condition ask for the level or the target? */
export const readsLevelOrSm = (e: Expr): boolean => isFigure(e) || inside(e).some(readsLevelOrSm);

/** The fault of a structural condition, or null. */
export function structuralFault(
  e: Expr,
  vars: ReadonlyMap<string, number>,
): { message: string; notes: string[] } | null {
  return match(e)
    .with({ k: 'int' }, () => null)
    .with({ k: 'name' }, ({ name }) =>
      FIGURES.has(name)
        ? null
        : {
            message: `'${name}' cannot be combined with use counts, places or targets`,
            notes: ["put conditions on constants into parts of their own, joined by '&&'"],
          },
    )
    .with({ k: 'call' }, ({ fn, args }) => {
      const takes = entryOf(FUNCTIONS, fn);
      if (takes === undefined)
        return { message: `unknown function '${fn}'`, notes: didYouMean(fn, Object.keys(FUNCTIONS)) };
      if (takes.length !== args.length)
        return { message: `${fn} takes ${takes.length} argument${takes.length === 1 ? '' : 's'}`, notes: [] };
      const arg = args[0];
      if (arg === undefined || (arg.k === 'name' && (takes[0] === 'knob' || vars.has(arg.name)))) return null;
      const word = arg.k === 'name' ? arg.name : 'this';
      return { message: `'${word}' is not a variable of the match`, notes: didYouMean(word, vars.keys()) };
    })
    .with({ k: P.union('unary', 'binary', 'cond') }, (x) => {
      for (const part of inside(x)) {
        const fault = structuralFault(part, vars);
        if (fault !== null) return fault;
      }
      return null;
    })
    .exhaustive();
}

/** Knobs that a condition reads. */
export const knobsOf = (e: Expr): string[] =>
  match(e)
    .with({ k: 'call', fn: 'knob', args: [{ k: 'name', name: P.select() }] }, (knob) => [knob])
    .otherwise(() => inside(e).flatMap(knobsOf));

/** Does a static condition hold? */
export const holdsIn = (e: Expr, s: Setting): boolean => holds(e, new Map(), s as Situation);

/** Does a structural condition hold? */
export const holds = (e: Expr, vars: ReadonlyMap<string, number>, s: Situation): boolean =>
  Number(value(e, vars, s)) !== 0;

function value(e: Expr, vars: ReadonlyMap<string, number>, s: Situation): number {
  switch (e.k) {
    case 'int':
      return Number(e.value);
    case 'name':
      return e.name === 'level' ? s.level : s.sm;
    case 'call': {
      const name = e.args[0]?.k === 'name' ? e.args[0].name : '';
      const v = vars.get(name) ?? -1;
      switch (e.fn) {
        case 'uses':
          return s.uses(v);
        case 'intables':
          return Number(s.inTables(v));
        case 'isreg':
          return Number(s.isRegister(v));
        case 'plain':
          return Number(s.isPlain(v));
        case 'second':
          return Number(s.isSecond(v));
        case 'sameblock':
          return Number(s.sameBlock(v));
        case 'depth':
          return s.depth(v);
        case 'rootdepth':
          return s.depth(-1);
        case 'rootlocal':
          return Number(s.isLocal());
        default: {
          const k = s.knob(name);
          return typeof k === 'number' ? k : Number(k !== null && k !== false);
        }
      }
    }
    case 'unary':
      return e.op === '!' ? Number(value(e.a, vars, s) === 0) : -value(e.a, vars, s);
    case 'cond':
      return value(value(e.c, vars, s) !== 0 ? e.a : e.b, vars, s);
    case 'binary': {
      const a = value(e.a, vars, s);
      const b = value(e.b, vars, s);
      return BINARY[e.op]?.(a, b) ?? Number.NaN;
    }
  }
}

const BINARY: Readonly<Record<string, (a: number, b: number) => number>> = {
  '||': (a, b) => Number(a !== 0 || b !== 0),
  '&&': (a, b) => Number(a !== 0 && b !== 0),
  '==': (a, b) => Number(a === b),
  '!=': (a, b) => Number(a !== b),
  '<': (a, b) => Number(a < b),
  '<=': (a, b) => Number(a <= b),
  '>': (a, b) => Number(a > b),
  '>=': (a, b) => Number(a >= b),
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
};
