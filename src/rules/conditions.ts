import { match, P } from 'ts-pattern';
import { counted } from '../ir/counts.ts';
import { didYouMean } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import type { KnobValue } from '../ir/pass.ts';
import { type Expr, parseExpression } from '../isa/lang/parse.ts';

/**
 * Structural conditions: conditions not on values but on use counts, on the position of an instruction, or on the target. They restrict
 * where a rule fires and have no bearing on whether it is correct, so proofs ignore them.
 */

/** Optimization level, target and knobs: constant during one run of a phase. */
export interface Setting {
  readonly level: number;
  /** Number of the target: 80 for sm_80. */
  readonly sm: number;
  knob(name: string): KnobValue;
}

/** The properties of a match that a structural condition can test. */
export interface Situation extends Setting {
  /** Number of operands in the whole function that read the variable's register; Infinity if it is a constant. */
  uses(v: number): number;
  /** Whether the variable's register is read only as an input of truth tables. */
  inTables(v: number): boolean;
  /** Whether the variable is a register. */
  isRegister(v: number): boolean;
  /** Whether the operand carries no negation, complement or absolute value. */
  isPlain(v: number): boolean;
  /** Whether the variable's register stands as the second source in the instruction of the line that reads it. */
  isSecond(v: number): boolean;
  /** Whether the line that defines the variable is in the root's block. */
  sameBlock(v: number): boolean;
  /** Whether the root accesses local memory. */
  isLocal(): boolean;
  /** Loop depth of the line that defines the variable (of the root for -1). */
  depth(v: number): number;
}

/** The functions of structural conditions, with the kinds of their arguments. */
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
const LEVEL_OR_SM = new Set(['level', 'sm']);

/**
 * The conjuncts of a condition: the expressions joined by its outermost `&&`.
 * @throws TextError if it cannot be parsed
 */
export const partsOf = (when: string): Expr[] =>
  conjuncts(parseExpression(when.trim().replaceAll('\n', ' ')));

/** Does the text of a condition mention level, target or a knob? Few do; the others need not be parsed to find out. */
export const mayReadSetting = (when: string): boolean => /\b(?:level|sm|knob)\b/.test(when);

/** The conjuncts of `a && b && c`. */
const conjuncts = (e: Expr): Expr[] =>
  e.k === 'binary' && e.op === '&&' ? [...conjuncts(e.a), ...conjuncts(e.b)] : [e];

/** The direct subexpressions. A plain switch, since it runs for every condition of every rule that is compiled. */
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

const isLevelOrSm = (e: Expr): boolean => e.k === 'name' && LEVEL_OR_SM.has(e.name);

/** Does any part of the expression read a property of a `Situation`? */
export const isStructural = (e: Expr): boolean =>
  isLevelOrSm(e) || (e.k === 'call' && Object.hasOwn(FUNCTIONS, e.fn)) || inside(e).some(isStructural);

/** Does the expression read only level, target and knobs, so that its value is the same for a whole run of a phase? */
export function isStatic(e: Expr): boolean {
  if (e.k === 'name') return isLevelOrSm(e);
  if (e.k === 'call') return e.fn === 'knob';
  return inside(e).every(isStatic);
}

/** Does a condition read the level or the target? */
export const readsLevelOrSm = (e: Expr): boolean => isLevelOrSm(e) || inside(e).some(readsLevelOrSm);

/** The fault of a structural condition, as message and notes; null if there is none. */
export function structuralFault(
  e: Expr,
  vars: ReadonlyMap<string, number>,
): { message: string; notes: string[] } | null {
  return match(e)
    .with({ k: 'int' }, () => null)
    .with({ k: 'name' }, ({ name }) =>
      LEVEL_OR_SM.has(name)
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
        return { message: `${fn} takes ${counted(takes.length, 'argument')}`, notes: [] };
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

/** Names of the knobs that a condition reads. */
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
