/** Parser for operands of instructions (PTX ISA 9.0, chapter 6). */
import type { PtxOperand } from './ast.ts';
import { constant, integer, WARP_SZ } from './const-expr.ts';
import type { Reader } from './reader.ts';
import * as t from './tokens.ts';

/** Special registers that are vectors: `%tid.x` is one name (PTX ISA 9.0, chapter 10). */
const VECTOR_SPECIALS: ReadonlySet<string> = new Set([
  '%tid',
  '%ntid',
  '%ctaid',
  '%nctaid',
  '%clusterid',
  '%nclusterid',
  '%cluster_ctaid',
  '%cluster_nctaid',
]);

/** Opcodes for which `array[3]` is the address of the element; for others it is the element. */
const TAKES_ADDRESS: ReadonlySet<string> = new Set(['mov', 'cvta']);

/** Maximum nesting of braces in an operand; PTX needs two levels. */
const DEEPEST = 8;

/** Parses the operands of an instruction, up to a token other than a comma. @throws BAIL after reporting a fault */
export function operands(r: Reader): readonly PtxOperand[] {
  const { lx, shared } = r;
  const base = shared.top;
  shared.push(operand(r, 0));
  while (lx.kind === t.COMMA) {
    lx.next();
    shared.push(operand(r, 0));
  }
  return shared.take(base);
}

function operand(r: Reader, depth: number): PtxOperand {
  const { lx } = r;
  const first = single(r, depth);
  if (lx.kind !== t.BAR) return first;
  lx.next();
  return { kind: 'pair', first, second: single(r, depth) };
}

function single(r: Reader, depth: number): PtxOperand {
  const { lx } = r;
  switch (lx.kind) {
    case t.IDENT:
      if (lx.value === WARP_SZ) break;
      return named(r);
    case t.LBRACKET:
      return address(r, depth);
    case t.LBRACE: {
      const start = lx.start;
      lx.next();
      const items = list(r, t.RBRACE, depth + 1);
      if (items.length === 0) r.failAt(start, lx.last - start, 'a vector has at least one element');
      return { kind: 'vector', items };
    }
    case t.LPAREN:
      if (r.opcode !== 'call' || depth > 0) break;
      lx.next();
      return { kind: 'list', items: list(r, t.RPAREN, depth + 1) };
    case t.BANG:
    case t.MINUS: {
      const sign = lx.kind;
      lx.next();
      return lx.kind === t.IDENT && lx.value !== WARP_SZ ? signed(r, sign) : immediate(r, sign);
    }
    case t.INT:
    case t.FLOAT:
    case t.PLUS:
    case t.TILDE:
      break;
    case t.DOT:
      if (/^\d/.test(lx.value)) break;
      return r.fail(`expected an operand, found ${r.found()}`);
    default:
      return r.fail(`expected an operand, found ${r.found()}`);
  }
  return immediate(r, 0);
}

function immediate(r: Reader, taken: number): PtxOperand {
  const c = constant(r, taken);
  if (c.float !== 0) return { kind: 'float', bits: c.value, width: c.float };
  return { kind: 'int', value: c.value, unsigned: c.unsigned };
}

/** Parses operands up to a closing mark, and the mark. */
function list(r: Reader, close: number, depth: number): readonly PtxOperand[] {
  const { lx, shared } = r;
  if (depth > DEEPEST) r.fail(`operands are nested deeper than ${DEEPEST}`);
  const base = shared.top;
  if (lx.kind !== close) {
    shared.push(operand(r, depth));
    while (lx.kind === t.COMMA) {
      lx.next();
      shared.push(operand(r, depth));
    }
    if (lx.kind !== close) r.fail(`expected ',' or '${String.fromCharCode(close)}', found ${r.found()}`);
  }
  lx.next();
  return shared.take(base);
}

/** Parses a register (`%r1`, `%tid.x`, `%r1.b0`), `_`, or a symbol with an optional offset or index. */
function named(r: Reader): PtxOperand {
  const { lx } = r;
  const { id, value: name } = lx;
  lx.next();
  switch (lx.kind) {
    case t.DOT: {
      const part = lx.id;
      const whole = r.shared.part(id, part, () =>
        VECTOR_SPECIALS.has(name) ? register(`${name}.${lx.value}`, '') : register(name, lx.value),
      );
      lx.next();
      if (lx.kind === t.DOT) r.fail(`expected ',' or ';', found ${r.found()}`);
      return whole;
    }
    case t.PLUS:
    case t.MINUS:
      return { kind: 'sym', name, offset: displacement(r, name) };
    case t.LBRACKET:
      return indexed(r, name);
  }
  return r.shared.name(id, name);
}

function register(name: string, part: string): PtxOperand {
  return { kind: 'reg', name, neg: false, not: false, part };
}

/** Parses the register of `-%r1`, `!%p1` or `-%r2.h0`, after the sign. */
function signed(r: Reader, sign: number): PtxOperand {
  const { lx } = r;
  const name = lx.value;
  let part = '';
  lx.next();
  if (lx.kind === t.DOT) {
    part = lx.value;
    lx.next();
  }
  return { kind: 'reg', name, neg: sign === t.MINUS, not: sign === t.BANG, part };
}

/** Parses `+8` or `+-16` after a base; there is no binary `-` (PTX ISA 9.0, 6.4.1). */
function displacement(r: Reader, base: string): bigint {
  const { lx } = r;
  if (lx.kind === t.MINUS) r.fail(`an offset cannot be subtracted from '${base}'`, [`write '${base}+-8'`]);
  lx.next();
  const c = integer(r);
  return c.unsigned ? BigInt.asIntN(64, c.value) : c.value;
}

/** Parses the index of `array[3]`: the element's address or, for most opcodes, the element (PTX ISA 9.0, 6.4.2). */
function indexed(r: Reader, name: string): PtxOperand {
  const { lx } = r;
  const size = r.elementSize(name);
  if (size === undefined)
    r.fail(`'${name}' cannot be indexed: no array of that name is declared before`, [
      `write '[${name}+offset]'`,
    ]);
  lx.next();
  if (lx.kind === t.IDENT && lx.value !== WARP_SZ)
    r.fail(`an index that is a register ('${lx.value}') is not supported`, [
      `compute the address of the element and write '[address]'`,
    ]);
  const offset = integer(r).value * BigInt(size);
  r.expect(t.RBRACKET);
  if (TAKES_ADDRESS.has(r.opcode)) return { kind: 'sym', name, offset };
  return { kind: 'addr', base: name, offset, extra: NOTHING };
}

/** Parses `[%rd1+8]`, `[sym]`, `[16]`, `[tex, sampler, {x, y}]`, `[map, {c0, c1}]` or `[%rd1].unified`. */
function address(r: Reader, depth: number): PtxOperand {
  const { lx } = r;
  lx.next();
  let base = '';
  let offset = 0n;
  if (lx.kind === t.IDENT && lx.value !== WARP_SZ) {
    base = lx.value;
    lx.next();
    if (lx.kind === t.PLUS || lx.kind === t.MINUS) offset = displacement(r, base);
  } else if (lx.kind !== t.RBRACKET) offset = integer(r).value;
  else r.fail("expected an address, found ']'");
  let extra = NOTHING;
  if (lx.kind === t.COMMA) {
    if (depth > 0) r.fail("expected ']', found ','");
    lx.next();
    extra = list(r, t.RBRACKET, depth + 1);
  } else {
    if (lx.kind !== t.RBRACKET) r.fail(`expected ',' or ']', found ${r.found()}`);
    lx.next();
  }
  if (lx.kind === t.DOT && lx.value === 'unified') {
    lx.next();
    return { kind: 'addr', base, offset, extra, unified: true };
  }
  return { kind: 'addr', base, offset, extra };
}

const NOTHING: readonly PtxOperand[] = [];
