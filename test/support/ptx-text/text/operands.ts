import { Unsupported } from '../table/case.ts';
import { constant, integerConstant, startsConstant } from './constants.ts';
import type { Reader } from './reader.ts';
import type { Operand } from './syntax.ts';

/*
 * Operands of instructions: PTX ISA, 6.
 */

/** Reads an operand. */
export function operand(r: Reader): Operand {
  const first = single(r);
  return r.take('|') ? { kind: 'pair', first, second: single(r) } : first;
}

function single(r: Reader): Operand {
  const t = r.peek();
  if (r.take('_')) return { kind: 'sink' };
  if (r.take('!')) return { kind: 'not', operand: single(r) };
  if (r.take('{')) return { kind: 'vector', elements: r.list('}', () => single(r)) };
  if (r.is('[')) return address(r);
  if (t.kind === 'mark' && t.text === '-' && r.peek(1).kind === 'word') {
    r.next();
    return name(r, true);
  }
  if (startsConstant(r)) return { kind: 'constant', constant: constant(r) };
  return name(r, false);
}

function name(r: Reader, minus: boolean): Operand {
  const text = r.word();
  const selector = r.peek().kind === 'dot' ? r.next().text.slice(1) : '';
  return { kind: 'name', name: text, offset: offset(r), selector, minus };
}

/** `+4` or `-4` after a name. */
function offset(r: Reader): bigint {
  if (r.is('[')) throw new Unsupported('an index behind a name');
  return r.is('+') || r.is('-') ? integerConstant(r) : 0n;
}

function address(r: Reader): Operand {
  r.expect('[');
  const t = r.peek();
  if (t.kind !== 'word' || t.text === 'WARP_SZ') {
    const n = integerConstant(r);
    r.expect(']');
    return { kind: 'address', name: null, offset: n };
  }
  const name = r.word();
  const n = offset(r);
  r.expect(']');
  return { kind: 'address', name, offset: n };
}

/** Reads an operand of a call: a parenthesized list (results or arguments) or a single operand. */
export function callOperand(r: Reader): Operand {
  return r.take('(') ? { kind: 'list', elements: r.list(')', () => single(r)) } : single(r);
}
