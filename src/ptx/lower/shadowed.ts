import type { Isa, SpelledRow } from '../../ir/opcode.ts';
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
      if (!found.has(form.row) && isTaken(form, isa))
        found.set(form.row, { row: form.row, form: [opcode, ...form.mods].join('.') });
  return [...found.values()];
}

function isTaken({ opcode, mods, operands }: ReadForm, isa: Isa): boolean {
  const i: PtxInstr = {
    kind: 'instr',
    span: NOWHERE,
    opcode,
    mods,
    guard: null,
    operands: operands.map(({ part }, k) => ({ kind: 'reg', name: `%x${k}`, neg: false, not: false, part })),
  };
  if (formOf(isa, i) !== undefined) return true;
  const handler = handlerOf(i);
  if (handler === undefined) return false;
  const f = new FnLower({ ...EMPTY_MODULE, jumps: { targets: 0 }, isa, locs: [] }, true);
  f.push();
  for (const [k, { width }] of operands.entries())
    f.declareRegs({ ...REGISTER, type: width === 1 ? 'pred' : `b${width}`, name: `%x${k}` });
  f.begin(i, 0);
  try {
    handler(f, i);
    return true;
  } catch (e) {
    if (!(e instanceof Unsupported)) throw e;
    return false;
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
