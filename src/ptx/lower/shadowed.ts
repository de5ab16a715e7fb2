import type { Isa, LoweringRow, SpelledRow } from '../../ir/opcode.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, Span, VarDecl } from '../ast.ts';
import { formOf } from './by-form.ts';
import { FnLower, type ModuleScope } from './function.ts';
import { handlerOf } from './handlers.ts';
import { formsRead, opcodesRead, type ReadForm } from './table-rows.ts';

/**
 * A row of the table for both directions that lowering never uses for one of its forms: a row of `lowering` or a handler comes first.
 */
export interface ShadowedRow {
  readonly row: SpelledRow;
  /** The form, without operands. */
  readonly form: string;
  /** The row of `lowering` that has the form; null if a handler does. */
  readonly by: LoweringRow | null;
}

/**
 * Finds rows with `both` that are shadowed: rows of `lowering` and handlers take precedence, so that no instruction would ever become the
 * opcode of such a row.
 * @returns one form for each such row
 */
export function shadowedRows(isa: Isa): ShadowedRow[] {
  const found = new Map<SpelledRow, ShadowedRow>();
  for (const opcode of opcodesRead(isa.spelling))
    for (const form of formsRead(isa.spelling, opcode))
      if (!found.has(form.row)) {
        const by = takenBy(form, isa);
        if (by !== undefined)
          found.set(form.row, { row: form.row, form: [opcode, ...form.mods].join('.'), by });
      }
  return [...found.values()];
}

/** The row of `lowering` that lowers a form, null if a handler does, undefined if nothing else does. */
function takenBy({ opcode, mods, operands }: ReadForm, isa: Isa): LoweringRow | null | undefined {
  const i: PtxInstr = {
    kind: 'instr',
    span: NOWHERE,
    opcode,
    mods,
    guard: null,
    operands: operands.map(({ part }, k) => ({ kind: 'reg', name: `%x${k}`, neg: false, not: false, part })),
  };
  const form = formOf(isa, i);
  if (form !== undefined) return form.row;
  const handler = handlerOf(i);
  if (handler === undefined) return undefined;
  const f = new FnLower({ ...EMPTY_MODULE, jumps: { targets: 0 }, isa, locs: [] }, true);
  f.push();
  for (const [k, { width }] of operands.entries())
    f.declareRegs({ ...REGISTER, type: width === 1 ? 'pred' : `b${width}`, name: `%x${k}` });
  f.begin(i, 0);
  try {
    handler(f, i);
    return null;
  } catch (e) {
    if (!(e instanceof Unsupported)) throw e;
    return undefined;
  }
}

const NOWHERE: Span = { line: 0, column: 0, start: 0, end: 0 };

const REGISTER: Omit<VarDecl, 'type' | 'name'> = {
  kind: 'variable',
  span: NOWHERE,
  linkage: '',
  space: 'reg',
  vector: 1,
  align: 0,
  dims: [],
  init: null,
  attributes: [],
  ptr: null,
  count: 0,
};

/** A module with nothing in it, of the newest version and target. */
const EMPTY_MODULE: Omit<ModuleScope, 'isa' | 'locs' | 'jumps'> = {
  paramBase: 0,
  variables: new Map(),
  functions: new Map(),
  handles: new Set(),
  thread: [],
  home: {
    version: Number.POSITIVE_INFINITY,
    newer: false,
    sm: Number.POSITIVE_INFINITY,
    suffix: true,
    addressSize: 64,
  },
  flush: null,
};
