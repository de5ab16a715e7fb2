import { withDst, withSrc } from '../../ir/edit.ts';
import { flightOf, placeText, tiesOf, UNWRITTEN, vectorSources } from '../../ir/foreign-text.ts';
import { type ForeignForm, foreignForm, withMods } from '../../ir/opcode.ts';
import { type Operand, type Reg, reg, regWidth, sym, text } from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import { flightFault } from '../async-fault.ts';
import { printPtxOperand } from '../print.ts';
import type { FnLower } from './function.ts';

/**
 * Lowers an instruction to a foreign one, which carries its text unchanged, by the table `foreign` of the instruction set.
 *
 * @param unknown whether only the opcode is known, so that the catch-all row must be used
 * @returns the row that was used
 * @throws Unsupported if no row carries it, or Ori cannot name one of its operands
 */
export function lowerForeign(f: FnLower, i: PtxInstr, unknown = false): ForeignForm {
  const { isa } = f.module;
  const known = foreignForm(isa, [i.opcode, ...i.mods].join('.'));
  if (known === undefined) throw new Unsupported();
  if (known.op === null) throw new Unsupported(known.none);
  const form = unknown ? (isa.foreign.find((x) => x.unknown) ?? known) : known;
  if (form.op === null) throw new Unsupported(form.none);
  const results = form.results >= 0 ? form.results : i.operands[0]?.kind === 'addr' ? 0 : 1;
  if (form.results > i.operands.length) throw new Unsupported('an operand is missing');
  const words = new Words(f, i.opcode, form.unknown);
  const operands = i.operands.map((o, k) =>
    words.operand(o, k >= results ? 'read' : form.tied ? 'both' : 'written'),
  );
  const name = [i.opcode, ...i.mods].join('.');
  const how = operands.length === 0 ? name : `${name} ${operands.join(', ')}`;
  f.emitWith(form.op, form.mods, words.dst, [text(how), ...words.src]);
  return form;
}

type Blocks = readonly { readonly id: number; readonly name: string; readonly ins: Instr[] }[];

/**
 * Marks asynchronous loads as ordinary instructions if the source itself accesses registers in flight, as some public code does after
 * tcgen05.ld; this is then left to ptxas. Instructions with tied operands, which read and write registers in flight, are not changed.
 */
export function groundLoads(blocks: Blocks, tables: readonly (readonly number[])[]): void {
  if (flightFault({ blocks, tables }) === null) return;
  for (const b of blocks)
    b.ins.forEach((x, n) => {
      if (flightOf(x) === 'BEGINS' && tiesOf(x).length === 0)
        b.ins[n] = instr(
          x.op,
          withMods(x.op, x.mods, 'flight=NONE'),
          x.dst,
          x.src,
          x.loc,
          x.guard,
          x.guardNot,
        );
    });
}

/**
 * Adds all registers that are ever in flight as tied operands to each instruction that waits for them or orders accesses to them, so that
 * no pass moves an access to such a register across it.
 */
export function nameFlights(blocks: Blocks): void {
  const flying = new Set<Reg>();
  for (const b of blocks)
    for (const x of b.ins) {
      if (flightOf(x) !== 'BEGINS') continue;
      for (const r of x.dst) flying.add(r);
      for (const k of vectorSources(x)) flying.add(x.src[k].reg);
    }
  if (flying.size === 0) return;
  for (const b of blocks)
    b.ins.forEach((x, n) => {
      const flight = flightOf(x);
      if (flight !== 'ENDS' && flight !== 'ORDERS') return;
      const dst = [...x.dst];
      const src = x.src.slice(1);
      const places = [...flying].map((r) =>
        placeText({ dst: dst.push(r) - 1, src: src.push(reg(r)) - 1, size: String(regWidth(r)) }),
      );
      const how = text(x.src[0].sym + UNWRITTEN + places.join(', '));
      b.ins[n] = withSrc(withDst(x, dst), [how, ...src]);
    });
}

/** How an instruction accesses an operand. */
type Role = 'read' | 'written' | 'both';

/** Builds the text of one foreign instruction, with placeholders, and the operands for them. */
class Words {
  readonly dst: Reg[] = [];
  readonly src: Operand[] = [];
  private readonly f: FnLower;
  private readonly opcode: string;
  /** Whether every register must be taken to be read and written. */
  private readonly unknown: boolean;
  /** Placeholders of registers that are read and written. */
  private readonly tied = new Map<Reg, string>();

  constructor(f: FnLower, opcode: string, unknown: boolean) {
    this.f = f;
    this.opcode = opcode;
    this.unknown = unknown;
  }

  operand(o: PtxOperand, role: Role): string {
    switch (o.kind) {
      case 'reg': {
        // Only mov reads special registers.
        if (o.part === '' && role === 'read' && this.opcode === 'mov' && this.f.find(o.name) === undefined)
          return printPtxOperand(o);
        const sign = o.neg ? '-' : o.not ? '!' : '';
        return `${sign}${this.register(o.name, role)}${o.part === '' ? '' : `.${o.part}`}`;
      }
      case 'sym':
        if (this.f.find(o.name) === undefined) return this.symbol(o.name, o.offset);
        if (o.offset !== 0n) throw new Unsupported(`'${o.name}' with an offset`);
        return this.register(o.name, role);
      case 'addr': {
        const extra = o.extra.map((x) => `, ${this.operand(x, 'read')}`).join('');
        return `[${this.base(o.base, o.offset)}${extra}]${o.unified === true ? '.unified' : ''}`;
      }
      case 'vector':
        return `{${o.items.map((x) => this.operand(x, role)).join(', ')}}`;
      case 'pair':
        return `${this.operand(o.first, role)}|${this.operand(o.second, role)}`;
      case 'list':
        throw new Unsupported('a list of operands');
      default:
        return printPtxOperand(o);
    }
  }

  private base(name: string, offset: bigint): string {
    if (name === '') return String(offset);
    if (this.f.find(name) === undefined) return this.symbol(name, offset);
    return this.register(name, 'read') + (offset === 0n ? '' : `+${offset}`);
  }

  private register(name: string, role: Role): string {
    const d = this.f.find(name);
    if (d === undefined) throw new Unsupported(`register '${name}' is not declared`);
    const size = d.bits === 1 ? 'p' : String(d.bits);
    if (this.unknown || role === 'both') {
      let place = this.tied.get(d.reg);
      if (place === undefined) {
        place = placeText({ dst: this.dst.push(d.reg) - 1, src: this.src.push(reg(d.reg)) - 1, size });
        this.tied.set(d.reg, place);
      }
      return place;
    }
    if (role === 'read') return placeText({ dst: -1, src: this.src.push(reg(d.reg)) - 1, size });
    if (this.dst.includes(d.reg)) throw new Unsupported(`'${name}' occurs twice among its results`);
    return placeText({ dst: this.dst.push(d.reg) - 1, src: -1, size });
  }

  private symbol(name: string, offset: bigint): string {
    const s = this.f.symbol(name);
    const plain = offset === 0n ? name : `${name}+${offset}`;
    if (s === undefined) {
      // Textures, samplers and surfaces are not part of the program, so their names are kept.
      if (this.f.module.handles.has(name)) return plain;
      throw new Unsupported(`'${name}' is not declared`);
    }
    if (s.kind === 'entry-param') return plain;
    if (s.kind === 'call-param') throw new Unsupported(`address of parameter '${name}'`);
    if (BigInt.asIntN(32, offset) !== offset)
      throw new Unsupported(`offset ${offset} of '${name}' has more than 32 bits`);
    const at = this.src.push(sym(s.name, Number(offset))) - 1;
    return placeText({ dst: -1, src: at, size: 'sym' });
  }
}
