import { Kind } from '../ir/operand.ts';
import type { Fn, Program, Variable } from '../ir/program.ts';
import { type Decide, MOST_WORK, type Refute, type RegionVerdict, validate } from './validate.ts';
import { unlimited, type WorkBudget } from './work-budget.ts';

/** Verdicts for the regions of one function that a step changed. */
export interface FunctionVerdict {
  readonly fn: string;
  readonly regions: readonly RegionVerdict[];
}

/**
 * Validates a step from one program to the next: every function that it changed, and what functions share.
 *
 * @param decider makes a decision procedure for each function, used where the normal forms of two values differ; null for none
 * @param refute see `validate`
 * @param budget the work budget for all functions
 */
export async function validateStep(
  before: Program,
  after: Program,
  decider: (() => Decide) | null,
  refute: Refute | null = null,
  budget: WorkBudget = unlimited(),
): Promise<readonly FunctionVerdict[]> {
  const out: FunctionVerdict[] = [];
  const shared = sharedFault(before, after);
  if (shared !== '') out.push({ fn: before.name, regions: [whole(shared)] });
  for (const fn of before.functions) {
    const other = after.functions.find((f) => f.name === fn.name);
    if (other === fn) continue;
    if (other === undefined) {
      if (isWanted(fn, after)) out.push({ fn: fn.name, regions: [whole('it was removed')] });
      continue;
    }
    const outside = outsideFault(fn, other);
    const regions =
      outside === ''
        ? await validate(
            { program: before, fn },
            { program: after, fn: other },
            decider?.() ?? null,
            refute,
            budget.part(MOST_WORK),
          )
        : [whole(outside)];
    out.push({ fn: fn.name, regions });
  }
  return out;
}

const whole = (why: string): RegionVerdict => ({ block: -1, name: '', changed: true, why });

/** True if a removed function may still be called. */
const isWanted = (fn: Fn, after: Program): boolean =>
  fn.kind === 'entry' ||
  fn.attrs.linkage !== '' ||
  after.aliases.some((x) => x.of === fn.name) ||
  isNamed(after, fn.name);

/** Describes a difference between the interfaces of both versions of a function; '' if there is none. */
function outsideFault(a: Fn, b: Fn): string {
  for (const x of a.variables) {
    const y = b.variables.find((v) => v.name === x.name);
    if (y !== undefined && textOf(x) !== textOf(y)) return `the variable ${x.name} changes`;
  }
  const text = (f: Fn): string =>
    JSON.stringify([f.kind, f.params, f.returns, f.attrs.directives, f.attrs.linkage, f.attrs.noreturn]);
  return text(a) === text(b) ? '' : 'its parameters or directives change';
}

/** Describes a difference between the variables or aliases of two programs that matters to the second; '' if there is none. */
function sharedFault(before: Program, after: Program): string {
  if (JSON.stringify(before.aliases) !== JSON.stringify(after.aliases)) return 'aliases of functions change';
  for (const x of before.variables) {
    const y = after.variables.find((v) => v.name === x.name);
    if (y === x) continue;
    if (y === undefined) {
      if (x.linkage !== '' || isNamed(after, x.name)) return `the variable ${x.name} was removed`;
    } else if (textOf(x) !== textOf(y)) return `the variable ${x.name} changes`;
  }
  return '';
}

const textOf = (x: Variable): string =>
  JSON.stringify({ ...x, init: x.init === null ? null : [...x.init].join() });

/** True if an instruction or an initial value refers to a variable or function. */
const isNamed = (program: Program, name: string): boolean =>
  program.variables.some((v) => v.relocs.some((r) => r.symbol === name)) ||
  program.functions.some((f) =>
    f.blocks.some((b) =>
      b.ins.some((x) => x.src.some((o) => o.sym === name && (o.kind === Kind.Sym || o.kind === Kind.Addr))),
    ),
  );
