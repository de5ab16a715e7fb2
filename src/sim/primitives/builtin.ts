import { Kind, type Operand, regWidth } from '../../ir/operand.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { BufferMemory } from '../memory.ts';
import { formatPrintf } from '../printf.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame } from '../state.ts';
import { mod, opnd, type Primitive } from './primitive.ts';
import { hashOf, unknownCall } from './unknown-call.ts';

/** BPT: ends the kernel with an error, or does nothing at a breakpoint. */
export const trap: Primitive = (m, w, _f, d, mask) => {
  if (mod(d, 'op') !== 'TRAP') {
    // The position of a breakpoint is visible to a debugger.
    if (m.opts.open) for (let r = mask; r !== 0; r &= r - 1) m.show(w, lowest(r), BREAKPOINT);
    return;
  }
  if (m.opts.open) m.endLanes(w, mask, 'trap');
  else m.fault('trap', d, w, lowest(mask), 'trap');
};

/** Word that a thread shows at a breakpoint in an open world. */
const BREAKPOINT = 0x6b7270;

/** Maximum bytes of one malloc; a larger request gives a null pointer, as an exhausted heap does (8 MB by default). */
const MOST_HEAP = 8 << 20;

/** Maximum characters of a printed string. */
const MOST_TEXT = 4096;
/**
 * Characters of a string that cost no more than the instruction that prints it. In an open world, where strings at random addresses rarely
 * end, also the maximum that a conversion prints.
 */
const USUAL_TEXT = 256;
/** Log2 of the further characters that cost as much as one instruction. */
const CHARACTERS_LOG2 = 5;

/** Maximum number of messages that a launch keeps, and the number of characters after which no further message is kept. */
const MOST_MESSAGES = 10_000;
const MOST_PRINTED = 16 << 20;

/** Parameter sizes in bytes of the functions that the driver provides, and the size of their result (0: none). */
const PROVIDED: ReadonlyMap<string, { readonly params: readonly (4 | 8)[]; readonly result: 0 | 4 | 8 }> =
  new Map([
    ['vprintf', { params: [8, 8], result: 4 }],
    ['__assertfail', { params: [8, 8, 4, 8, 8], result: 0 }],
    ['malloc', { params: [8], result: 8 }],
    ['free', { params: [8], result: 0 }],
  ]);

/** Caches `fits` per call instruction. */
const fitting = new WeakMap<Decoded, boolean>();

/** True if a call passes the parameters of the driver's function of this name; a module may declare it with others. */
function fits(m: Simulation, f: Frame, d: Decoded, name: string): boolean {
  const known = fitting.get(d);
  if (known !== undefined) return known;
  const own = PROVIDED.get(name);
  const answer = own !== undefined && d.ins.dst.length === 0 && isDeclared() && hasArguments();
  fitting.set(d, answer);
  return answer;

  function isDeclared(): boolean {
    const declared = m.program.prototypes.find((p) => p.name === name);
    if (declared === undefined) return true;
    const { params, returns } = declared;
    return (
      params.length === own!.params.length &&
      own!.params.every((bytes, k) => params[k].size === bytes) &&
      returns.every((p) => p.size === own!.result)
    );
  }
  function hasArguments(): boolean {
    const given = d.ins.src.slice(2);
    const bytes = own!.result === 0 ? own!.params : [...own!.params, own!.result];
    return given.length >= own!.params.length && given.every((o, k) => holds(o, bytes[k]));
  }
  function holds(o: Operand, bytes: number | undefined): boolean {
    if (bytes === undefined) return false;
    if (o.kind === Kind.Sym) return (f.code.params.get(o.sym) ?? Infinity) + bytes <= f.code.paramBytes;
    return o.kind !== Kind.Reg || regWidth(o.reg) === 8 * bytes;
  }
}

/** Functions that the driver provides: vprintf, __assertfail, malloc, free. Any other ends the run with an error. */
export const builtin: Primitive = (m, w, f, d, mask) => {
  const name = d.ins.src[0].sym;
  m.changes++;
  if (!fits(m, f, d, name)) {
    if (m.opts.open) return unknownCall(m, w, f, d, mask);
    const why = PROVIDED.has(name)
      ? ` with other parameters than the driver's function has`
      : ', which is not defined in this module';
    m.fault(`call of '${name}'${why}`, d, w, lowest(mask));
  }
  const param = (k: number, l: number, bytes: 4 | 8): number => {
    const o = d.ins.src[2 + k];
    if (o.kind === Kind.Sym) {
      const at = l * f.code.paramBytes + (f.code.params.get(o.sym) ?? 0);
      return bytes === 4
        ? f.paramView.getUint32(at, true)
        : f.paramView.getUint32(at + 4, true) * 4294967296 + f.paramView.getUint32(at, true);
    }
    // An immediate has no width of its own.
    if (o !== undefined && o.kind === Kind.Imm)
      return bytes === 4 ? o.lo >>> 0 : (o.hi >>> 0) * 4294967296 + (o.lo >>> 0);
    const at = opnd(f, d, d.ins.dst.length + 2 + k);
    return bytes === 4
      ? f.regs.i32[at + l] >>> 0
      : (f.regs.i32[at + 2 * l + 1] >>> 0) * 4294967296 + (f.regs.i32[at + 2 * l] >>> 0);
  };
  const give = (args: number, l: number, lo: number, hi: number): void => {
    const o = d.ins.src[2 + args];
    if (o !== undefined && o.kind === Kind.Sym) {
      const at = l * f.code.paramBytes + (f.code.params.get(o.sym) ?? 0);
      f.paramView.setInt32(at, lo, true);
      if (hi !== -1) f.paramView.setInt32(at + 4, hi, true);
    }
  };
  // An open world is limited by instructions only, and a loop may print in every iteration.
  const work = (s: string): void => {
    if (m.opts.open && s.length > USUAL_TEXT) m.executed += (s.length - USUAL_TEXT) >> CHARACTERS_LOG2;
  };
  const text = (l: number, address: number, most = MOST_TEXT): string => {
    let s = '';
    for (let k = 0; k < most; k++) {
      const p = m.generic(w, l, address + k, 1, false);
      const c = p.view.getUint8(p.at);
      if (c === 0) break;
      s += String.fromCharCode(c);
    }
    work(s);
    return s;
  };
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    m.lane = l;
    switch (name) {
      case 'vprintf': {
        if (m.opts.open || (m.output.length < MOST_MESSAGES && m.printed < MOST_PRINTED)) {
          const args = param(1, l, 8);
          const at = (offset: number, size: 4 | 8): DataView => {
            const p = m.generic(w, l, args + offset, size, false);
            return new DataView(p.view.buffer, p.view.byteOffset + p.at, size);
          };
          const message = formatPrintf(text(l, param(0, l, 8)), at, (a) =>
            text(l, a, m.opts.open ? USUAL_TEXT : MOST_TEXT),
          );
          work(message);
          if (m.opts.open) m.show(w, l, hashOf(message));
          else {
            m.output.push(message);
            m.printed += message.length;
          }
        }
        give(2, l, 0, -1);
        break;
      }
      case '__assertfail':
        if (m.opts.open) {
          // The message, the file, the line, the function.
          for (const k of [0, 1, 3]) m.show(w, l, hashOf(text(l, param(k, l, 8))));
          m.show(w, l, param(2, l, 4));
          m.endLanes(w, 1 << l, 'trap');
        } else m.fault(`assertion failed: ${text(l, param(0, l, 8))}`, d, w, l, 'trap');
        break;
      case 'malloc': {
        const bytes = param(0, l, 8);
        let a = m.heap.next;
        if (m.global instanceof BufferMemory) {
          const fits = bytes <= MOST_HEAP;
          if (fits) m.hold(bytes);
          a = fits ? m.global.add('malloc', new Uint8Array(bytes)).base : 0;
        } else m.heap.next += Math.ceil((bytes + 16) / 16) * 16;
        give(1, l, a | 0, Math.floor(a / 4294967296));
        break;
      }
      case 'free':
        if (m.global instanceof BufferMemory) m.hold(-m.global.release(param(0, l, 8)));
        break;
    }
  }
};
