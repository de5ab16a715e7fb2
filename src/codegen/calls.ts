import { modOf, srcSlot } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../ir/operand.ts';
import {
  argumentRegisters,
  FIRST_ARGUMENT,
  RETURN_ADDRESS,
  wordsOfParam,
} from '../machine/calling-convention.ts';
import { type Arg, type Assembled, assemble, RZ } from './assemble.ts';
import { BANK, type Emitter } from './emitter.ts';
import { IMPLICIT, type Occurrence } from './machine-op.ts';
import { emit, number } from './operands.ts';

/*
 * Calls of functions that a module declares and does not define, such as those of the driver. Parameters are virtual registers; before the
 * call they are copied to the registers of the calling convention, most of which copies vanish.
 */

/** The register of the parameter variable that an access names. */
function paramOf(s: Emitter, o: Operand, bytes: number): number {
  const variable = s.fn.variables.find((v) => v.name === o.sym && v.space === 'param');
  const words = wordsOfParam(variable?.size ?? 0);
  if (words === 0 || o.reg !== NO_REG)
    throw s.unsupported('parameters that are arrays have no machine code yet');
  if (o.lo !== 0 || bytes !== variable!.size || s.ins.dst.length > 1 || s.ins.src.length > 2)
    throw s.unsupported('parts of parameters have no machine code yet');
  return s.param(o.sym, words);
}

const BYTES: Readonly<Record<string, number>> = { B32: 4, U8: 1, S8: 1, U16: 2, S16: 2, B64: 8 };
const bytesOf = (s: Emitter): number => BYTES[modOf(s.ins.op, s.ins.mods, 'type')] ?? 0;

/** STPRM: a value becomes an argument. */
export function storeParam(s: Emitter): void {
  const bytes = bytesOf(s);
  const v = paramOf(s, s.ins.src[0], bytes);
  give(s, v, bytes, s.ins.src[1]);
}

/** Copies a value to a virtual register. */
function give(s: Emitter, v: number, bytes: number, from: Operand): void {
  const slot = { ...srcSlot(s.ins.op, 1)!, widthFrom: null, width: bytes === 8 ? 64 : 32 };
  if (bytes === 8) {
    s.move(s.wordOf(v, 0), s.operand(from, slot, 'lo'));
    s.move(s.wordOf(v, 1), s.operand(from, slot, 'hi'));
  } else s.move(s.wordOf(v, 0), s.operand(from, slot));
}

/** LDPRM: a result becomes a value. */
export function loadParam(s: Emitter): void {
  const bytes = bytesOf(s);
  const v = paramOf(s, s.ins.src[0], bytes);
  const [d] = s.ins.dst;
  if (d === NO_REG) return;
  const to = s.of(d);
  if (bytes >= 4) for (let k = 0; k < bytes / 4; k++) s.move(s.wordOf(to, k), s.wordOf(v, k));
  else if (modOf(s.ins.op, s.ins.mods, 'type').startsWith('S'))
    emit(s, ['SGXT'], { d: s.register(to), a: s.register(v), b: number(8 * bytes) });
  else
    emit(s, ['LOP3', 'LUT'], {
      d: s.register(to),
      a: s.register(v),
      b: number(2 ** (8 * bytes) - 1),
      c: RZ,
      t: number(0xc0),
    });
}

/** CALL of a function that the module only declares. */
export function call(s: Emitter): void {
  if (s.ins.guard === NO_REG) return callPlainly(s);
  s.inBlocks(() => callPlainly(s));
}

function callPlainly(s: Emitter): void {
  const [target, , ...given] = s.ins.src;
  const prototype = target.kind === Kind.Sym ? s.around.prototype(target.sym) : null;
  if (prototype === null)
    throw s.unsupported('calls of functions that are not inlined have no machine code yet');
  const places = argumentRegisters(prototype);
  if (places === null || s.ins.dst.length > 0)
    throw s.unsupported('parameters that are arrays have no machine code yet');
  const occurrences: Occurrence[] = [];
  const convention = (place: number, words: number, isResult: boolean): number => {
    const v = s.placed(place, words);
    occurrences.push({ field: IMPLICIT, v, word: 0, words, isResult });
    return v;
  };
  prototype.params.forEach(({ size }, k) => {
    const words = wordsOfParam(size);
    const v = convention(places[k], words, false);
    const o = given[k];
    if (o === undefined) throw s.unsupported(`it has fewer arguments than '${prototype.name}'`);
    if (o.kind !== Kind.Sym) return give(s, v, size, o);
    const own = s.param(o.sym, words);
    for (let w = 0; w < words; w++) s.move(s.wordOf(v, w), s.wordOf(own, w));
  });
  const at = s.around.address(prototype.name);
  const entry = s.loaded(s.bank(BANK.addresses, at.offset, 2));
  const [here, after] = [s.newId(), s.newId()];
  s.cut(here, [here]);
  returnAddress(s, convention(RETURN_ADDRESS, 2, false), here, after);
  const [result] = prototype.returns;
  const words = wordsOfParam(result?.size ?? 0);
  const v = result === undefined ? -1 : convention(FIRST_ARGUMENT, words, true);
  const built = must(s, ['CALL', 'ABS', 'NOINC'], { a: entry, t: number(0) });
  s.push({ ...built, occurrences: [...built.occurrences, ...occurrences], call: prototype.name });
  s.cut(after, [after]);
  const to = given[prototype.params.length];
  if (v >= 0 && to !== undefined)
    for (let w = 0; w < words; w++) s.move(s.wordOf(s.param(to.sym, words), w), s.wordOf(v, w));
}

/** A distance that a register cannot stand for. */
const FAR = 0x7fff;

/** Computes the address of a block, in the block `here` that begins with it. */
function returnAddress(s: Emitter, v: number, here: number, after: number): void {
  const target: Arg = { kind: 'block', block: after, mods: 0 };
  // LEPC gives an address that it names, or before sm_90 its own.
  if (
    s.emit(
      ['LEPC'],
      new Map<string, Arg>([
        ['d', s.register(v)],
        ['t', target],
      ]),
    )
  )
    return;
  const own = s.make('R', 2);
  const carry = s.make('P', 1);
  emit(s, ['LEPC'], { d: s.register(own) });
  const low = must(s, ['IADD3'], {
    d: s.wordOf(v, 0),
    p: s.register(carry),
    a: s.wordOf(own, 0),
    // The distance takes its place; zero would be a register.
    b: number(FAR),
    c: RZ,
  });
  const field = low.form.operands.find((o) => o.name === 'b')!.atom!.field;
  s.push({ ...low, target: { field, block: after, from: here } });
  emit(s, ['IADD3', 'X'], { d: s.wordOf(v, 1), a: s.wordOf(own, 1), b: RZ, c: RZ, ci: s.register(carry) });
}

function must(s: Emitter, name: readonly string[], args: Readonly<Record<string, Arg>>): Assembled {
  const built = assemble(s.around.machine, name, new Map(Object.entries(args)));
  if (built === null) throw s.unsupported(`the target has no form of ${name.join('.')} for it`);
  return built;
}
