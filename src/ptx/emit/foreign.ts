import { fillPlaces, flightOf, type OperandPlace, tiesOf, writtenPart } from '../../ir/foreign-text.ts';
import { Kind, NO_REG, type Operand, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { Writer } from './writer.ts';

/** By operand size: the letter of its temporaries, and the type of moves to and from them. */
const TEMP: Readonly<Record<string, readonly [letter: string, type: string]>> = {
  p: ['p', 'pred'],
  '8': ['b', 'b8'],
  '16': ['h', 'b16'],
  '32': ['t', 'b32'],
  '64': ['w', 'b64'],
  '128': ['q', 'b128'],
};

/** Is this a size for which PTX has registers and Ori has not? */
const isNarrow = (size: string): boolean => size === '8' || size === '16';

/**
 * Writes a foreign instruction, which Ori carries unchanged. PTX has separate registers for halves and bytes, so such operands are moved to
 * and from temporaries; so are operands that are read and written (tied) if they are in different registers now.
 * @throws Unsupported if the text of the instruction does not match its operands, or if copies of tied operands form a cycle
 */
export function writeForeign(w: Writer, i: Instr): void {
  const [how, ...src] = i.src;
  if (how?.kind !== Kind.Text) throw new Unsupported(`${i.op.name} does not say what it is in PTX`);
  const after: string[] = [];
  const temp = (size: string): readonly [string, string] => {
    const known = TEMP[size];
    if (known === undefined) throw new Unsupported(`${i.op.name} names a register of size '${size}'`);
    return [w.temp(known[0]), known[1]];
  };
  const sourceOf = (p: OperandPlace): Operand => {
    const o = src[p.src];
    if (o === undefined) throw new Unsupported(`${i.op.name} names source ${p.src} and has ${src.length}`);
    return o;
  };
  const read = (p: OperandPlace): string => {
    const o = sourceOf(p);
    if (o.kind === Kind.Sym)
      return w.value(o, p.size === '32' ? 32 : 64, p.size === 'sym' ? 'sym' : 'reg', 0);
    const name = w.name(o.reg);
    if (!isNarrow(p.size)) return name;
    const [part] = temp(p.size);
    w.line(`cvt.u${p.size}.u32 ${part}, ${name}`);
    return part;
  };
  const written = new Map<number, string>();
  const result = (p: OperandPlace): string => {
    const known = written.get(p.dst);
    if (known !== undefined) return known;
    if (p.dst >= i.dst.length)
      throw new Unsupported(`${i.op.name} names result ${p.dst} and has ${i.dst.length}`);
    const d = i.dst[p.dst];
    const same = p.src < 0 ? d !== NO_REG : sourceOf(p).reg === d && sourceOf(p).kind === Kind.Reg;
    let name: string;
    if (same && !isNarrow(p.size)) name = w.name(d);
    else {
      const [t, type] = temp(p.size);
      name = t;
      if (p.src >= 0)
        w.line(
          isNarrow(p.size)
            ? `cvt.u${p.size}.u32 ${t}, ${read({ ...p, size: '32' })}`
            : `mov.${type} ${t}, ${read(p)}`,
        );
      if (d !== NO_REG)
        after.push(
          isNarrow(p.size) ? `cvt.u32.u${p.size} ${w.name(d)}, ${t}` : `mov.${type} ${w.name(d)}, ${t}`,
        );
    }
    written.set(p.dst, name);
    return name;
  };
  // A tied operand that the instruction does not write needs only a copy, where its register may be accessed.
  const flight = flightOf(i);
  const moves = tiesOf(i)
    .filter((t) => t.unwritten && i.dst[t.dst] !== NO_REG && i.dst[t.dst] !== i.src[t.src].reg)
    .map((t) => ({ to: i.dst[t.dst], from: i.src[t.src].reg }));
  if (moves.some((m, k) => moves.slice(k + 1).some((later) => later.from === m.to)))
    throw new Unsupported(`${i.op.name} exchanges registers`);
  for (const m of moves) {
    const text = `mov.b${regWidth(m.to)} ${w.name(m.to)}, ${w.name(m.from)}`;
    if (flight === 'ORDERS') w.line(text);
    else after.push(text);
  }
  const line = fillPlaces(writtenPart(how.sym), (p) => (p.dst < 0 ? read(p) : result(p)));
  let guard = i.guard === NO_REG ? '' : w.name(i.guard);
  // The lines behind have the same guard, which the instruction itself may overwrite.
  if (guard !== '' && after.length > 0 && i.dst.includes(i.guard)) {
    const kept = w.temp('p');
    w.line(`mov.pred ${kept}, ${guard}`);
    guard = kept;
  }
  const at = guard === '' ? '' : `@${i.guardNot ? '!' : ''}${guard} `;
  w.line(at + line);
  for (const text of after) w.line(at + text);
}
