import { writtenPart } from '../../ir/foreign-text.ts';
import { isPredReg, Kind, NO_REG, regWidth } from '../../ir/operand.ts';
import { memoByText } from '../../ir/text-memo.ts';
import type { Decoded } from '../decode.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';
import { opnd, setPred } from './primitive.ts';

/** One register, symbol or constant of an operand of a foreign instruction. */
type Part =
  | { readonly kind: 'source'; readonly at: number; readonly not: boolean }
  | { readonly kind: 'result'; readonly at: number }
  | { readonly kind: 'constant'; readonly value: bigint }
  | { readonly kind: 'none' };

/** An operand of a foreign instruction: one part, or the parts of a vector, or an address with its byte offset. */
export interface ForeignOperand {
  readonly address: boolean;
  readonly offset: number;
  readonly parts: readonly Part[];
}

/** Splits a text at the commas outside of braces and brackets. */
function operandTexts(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') depth--;
    else if (i === text.length || (c === ',' && depth === 0)) {
      const one = text.slice(from, i).trim();
      if (one !== '') out.push(one);
      from = i + 1;
    }
  }
  return out;
}

function partIn(text: string): Part {
  const place = /^(!?)<([sd])(\d+)(?:=s\d+)?(?::\w+)?>$/.exec(text);
  if (place?.[2] === 's') return { kind: 'source', at: Number(place[3]), not: place[1] !== '' };
  if (place !== null) return { kind: 'result', at: Number(place[3]) };
  if (/^-?(0x[\da-fA-F]+|\d+)U?$/.test(text)) {
    const digits = text.replace(/U$/, '').replace(/^-/, '');
    return { kind: 'constant', value: text[0] === '-' ? -BigInt(digits) : BigInt(digits) };
  }
  if (/^0[fFdD][\da-fA-F]+$/.test(text)) return { kind: 'constant', value: BigInt(`0x${text.slice(2)}`) };
  return { kind: 'none' };
}

/** Parses the operands in the text of a foreign instruction; memoized by text. */
export const foreignOperands = memoByText((text): readonly ForeignOperand[] => {
  const written = writtenPart(text);
  const space = written.indexOf(' ');
  if (space < 0) return [];
  return operandTexts(written.slice(space + 1)).map((o) => {
    const address = /^\[(.*?)(?:\+(-?\d+))?\]$/.exec(o);
    if (address !== null)
      return { address: true, offset: Number(address[2] ?? 0), parts: [partIn(address[1].trim())] };
    const items = o[0] === '{' ? operandTexts(o.slice(1, -1)) : [o];
    return { address: false, offset: 0, parts: items.map(partIn) };
  });
});

/** A foreign instruction being executed by the lanes `mask`, with access to its operands. */
export class ForeignCall {
  readonly m: Simulation;
  readonly w: Warp;
  readonly f: Frame;
  readonly d: Decoded;
  readonly mask: number;
  readonly opcode: string;
  readonly mods: readonly string[];
  readonly operands: readonly ForeignOperand[];

  constructor(m: Simulation, w: Warp, f: Frame, d: Decoded, mask: number, name: string) {
    this.m = m;
    this.w = w;
    this.f = f;
    this.d = d;
    this.mask = mask;
    const [opcode, ...mods] = name.split('.');
    this.opcode = opcode;
    this.mods = mods;
    this.operands = foreignOperands(d.ins.src[0].sym);
  }

  has(...mods: readonly string[]): boolean {
    return mods.every((x) => this.mods.includes(x));
  }

  /** The first of `mods` that is among the instruction's modifiers. */
  oneOf(mods: readonly string[]): string | undefined {
    return mods.find((x) => this.mods.includes(x));
  }

  /** True if the `k`-th operand exists and is not `_`. */
  given(k: number): boolean {
    const part = this.operands[k]?.parts[0];
    return part !== undefined && part.kind !== 'none';
  }

  /** Bits of part `part` of the `k`-th operand in a lane, as wide as its register. */
  value(k: number, lane: number, part = 0): bigint {
    const p = this.operands[k].parts[part];
    if (p.kind === 'constant') return p.value;
    if (p.kind === 'none') return 0n;
    const { dst, src } = this.d.ins;
    const at = p.kind === 'source' ? dst.length + 1 + p.at : p.at;
    const reg = p.kind === 'source' ? src[1 + p.at].reg : dst[p.at];
    const from = opnd(this.f, this.d, at);
    const i = this.f.regs.i32;
    const words = reg === NO_REG ? 2 : regWidth(reg) / 32;
    let v = 0n;
    for (let k2 = words - 1; k2 >= 0; k2--) v = (v << 32n) | BigInt(i[from + words * lane + k2] >>> 0);
    return v;
  }

  /** True if the `k`-th operand, a predicate or a number, is true in a lane. */
  truth(k: number, lane: number): boolean {
    const p = this.operands[k].parts[0];
    if (p.kind !== 'source') return p.kind === 'constant' && p.value !== 0n;
    const { dst, src } = this.d.ins;
    const o = src[1 + p.at];
    const holds =
      o.kind === Kind.Reg && isPredReg(o.reg)
        ? (((this.f.regs.p[opnd(this.f, this.d, dst.length + 1 + p.at)] >>> lane) & 1) !== 0) !==
          (o.mods !== 0)
        : this.value(k, lane) !== 0n;
    return holds !== p.not;
  }

  word(k: number, lane: number, part = 0): number {
    return Number(BigInt.asIntN(32, this.value(k, lane, part)));
  }

  /** Address in the `k`-th operand in a lane, offset included. */
  address(k: number, lane: number): number {
    return Number(this.value(k, lane)) + this.operands[k].offset;
  }

  /** Writes a result in a lane, truncated to the width of its register; a predicate takes the lowest bit. */
  give(k: number, lane: number, value: bigint, part = 0): void {
    const p = this.operands[k].parts[part];
    if (p?.kind !== 'result') return;
    const reg = this.d.ins.dst[p.at];
    if (reg === NO_REG) return;
    const to = opnd(this.f, this.d, p.at);
    const bits = regWidth(reg);
    if (bits === 1) return setPred(this.f, to, Number(value & 1n) << lane, 1 << lane);
    const words = bits / 32;
    for (let w = 0; w < words; w++)
      this.f.regs.i32[to + words * lane + w] = Number(BigInt.asIntN(32, value >> BigInt(32 * w)));
  }
}
