import { describe, expect, it } from 'vitest';
import { type Condition, conditionOf } from '../../src/analysis/values/condition.ts';
import { instructionGraph, type LinearForm, linearForm } from '../../src/analysis/values/linear.ts';
import { Mod, type Opcode, OpFlag, slotWidth, srcSlot } from '../../src/ir/opcode.ts';
import { immOf, Kind, makeReg, type Operand, RegFile, reg } from '../../src/ir/operand.ts';
import { type Instr, instr } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { extend } from '../../src/isa/polynomial.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { testIsa } from '../support/isa.ts';
import { generator } from '../support/random-loops.ts';

const isa = testIsa();

const INTERESTING = [
  0n,
  1n,
  2n,
  3n,
  31n,
  32n,
  63n,
  64n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  1n << 63n,
  -1n,
];

/** Every combination of modifier values, or a sample where there are many. */
function modifiers(op: Opcode, below: (n: number) => number): number[] {
  const all = op.groups.reduce((n, g) => n * g.values.length, 1);
  const pick = (at: (g: number) => number): number =>
    op.groups.reduce((mods, g, i) => mods | (at(i) << g.shift), 0) >>> 0;
  if (all > 60) return Array.from({ length: 60 }, () => pick((i) => below(op.groups[i].values.length)));
  return Array.from({ length: all }, (_, n) =>
    pick((i) => {
      const { length } = op.groups[i].values;
      const v = n % length;
      n = Math.floor(n / length);
      return v;
    }),
  );
}

/** An instruction on registers and constants, and a value of each source. */
function drawn(op: Opcode, mods: number, below: (n: number) => number): { ins: Instr; values: bigint[] } {
  const values: bigint[] = [];
  const src = op.srcs.map((_, i): Operand => {
    const slot = srcSlot(op, i)!;
    const width = slotWidth(op, mods, slot);
    const random = (BigInt(below(2 ** 32)) << 32n) | BigInt(below(2 ** 32));
    let v = BigInt.asUintN(width, below(2) === 0 ? random : INTERESTING[below(INTERESTING.length)]);
    if (slot.name === 'lut') v &= 0xffn;
    const choices = [0, Mod.Neg, Mod.Not, Mod.Abs].filter((m) => (m & ~slot.mods) === 0);
    const withMod = (o: Operand): Operand => ({ ...o, mods: choices[below(choices.length)] });
    if ((slot.kinds & (1 << Kind.Reg)) === 0 || below(3) === 0) {
      if ((slot.kinds & (1 << Kind.Reg)) === 0) v &= 63n;
      values.push(v);
      return withMod(immOf(v, width));
    }
    values.push(v);
    const file = width === 1 ? RegFile.P : width === 64 ? RegFile.RD : RegFile.R;
    return withMod(reg(makeReg(i, file)));
  });
  return {
    ins: instr(
      op,
      mods,
      op.dsts.map(() => makeReg(60, RegFile.R)),
      src,
    ),
    values,
  };
}

/** Value of a form where register i has the value of source i. */
function sumOf(f: LinearForm, values: readonly bigint[]): bigint {
  let sum = f.constant;
  for (const t of f.terms) sum += t.coefficient * extend(values[t.operand.reg >>> 3], t.bits, t.signed);
  return BigInt.asUintN(f.width, sum);
}

function truthOf(c: Condition, values: readonly bigint[]): boolean {
  switch (c.kind) {
    case 'known':
      return c.value;
    case 'predicate':
      return values[c.reg >>> 3] === 1n;
    case 'not':
      return !truthOf(c.of, values);
    case 'and':
      return truthOf(c.a, values) && truthOf(c.b, values);
    case 'or':
      return truthOf(c.a, values) || truthOf(c.b, values);
    case 'compare': {
      const [a, b] = [c.a, c.b].map((f) => extend(sumOf(f, values), f.width, c.test === 'slt'));
      return c.test === 'eq' ? a === b : a < b;
    }
  }
}

describe('conditions', () => {
  it('are what the reference gives, for every opcode with a predicate result', () => {
    const told = new Map<string, Set<string>>();
    for (const op of isa.opcodes) {
      if (op.means === null || (op.flags & OpFlag.Pure) === 0) continue;
      // By name, so that another opcode in the table changes nothing for this one.
      const below = generator([...op.name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) | 0, 20261128));
      for (const mods of modifiers(op, below))
        for (let n = 0; n < 40; n++) {
          const { ins, values } = drawn(op, mods, below);
          for (let k = 0; k < op.dsts.length; k++) {
            const c = slotWidth(op, mods, op.dsts[k]) === 1 ? conditionOf(ins, k) : null;
            if (c === null) continue;
            told.set(op.name, (told.get(op.name) ?? new Set()).add(c.kind));
            const expected = evalBig(
              op,
              mods,
              values,
              ins.src.map((o) => o.mods),
            )[k];
            expect([op.name, mods, truthOf(c, values)]).toEqual([op.name, mods, expected === 1n]);
          }
        }
    }
    for (const kind of ['and', 'compare', 'known', 'not', 'or']) expect(told.get('ISETP')).toContain(kind);
    for (const kind of ['and', 'known', 'not', 'or']) expect(told.get('PLOP3')).toContain(kind);
  });
});

describe('linear forms', () => {
  it('have the value that the reference gives, for every opcode, modifier and kind of operand', () => {
    const below = generator(20261123);
    const linear = new Set<string>();
    for (const op of isa.opcodes) {
      if (op.means === null || (op.flags & OpFlag.Pure) === 0) continue;
      for (const mods of modifiers(op, below))
        for (let n = 0; n < 60; n++) {
          const { ins, values } = drawn(op, mods, below);
          for (let k = 0; k < op.dsts.length; k++) {
            const form = linearForm(ins, k);
            if (form === null) continue;
            if (form.terms.length > 0) linear.add(op.name);
            const expected = evalBig(
              op,
              mods,
              values,
              ins.src.map((o) => o.mods),
            )[k];
            expect([op.name, mods, sumOf(form, values)]).toEqual([op.name, mods, expected]);
          }
        }
    }
    for (const name of ['IADD3', 'IADDX', 'IMAD', 'IMAD_WIDE', 'LEA', 'SHL', 'MOV', 'I2I', 'PAIR', 'UNPAIR'])
      expect(linear).toContain(name);
    for (const name of ['SHR', 'IMNMX', 'FADD', 'PRMT', 'POPC', 'IDIV']) expect(linear).not.toContain(name);
  });

  /** `4*R1 + 0x10`, coefficients as signed numbers. */
  const show = (text: string, k = 0): string | null => {
    const form = linearForm(parseFn(`BB0:\n${text}\nEXIT`, isa).blocks[0].ins[0], k);
    if (form === null) return null;
    const terms = form.terms.map(
      (t) =>
        `${BigInt.asIntN(form.width, t.coefficient)}*${t.bits === form.width ? '' : t.signed ? `s${t.bits}:` : `u${t.bits}:`}${t.operand.kind === Kind.Reg ? t.operand.reg >>> 3 : t.operand.sym || 'c'}`,
    );
    return [...terms, String(BigInt.asIntN(form.width, form.constant))].join(' + ');
  };

  it.each([
    ['IADD3 R1, R2, -R3, 7', '1*2 + -1*3 + 7'],
    ['IADD3 R1, R2, R2, R2', '3*2 + 0'],
    ['IADD3 R1, R2, -R2, 5', '5'],
    ['IMAD R1, R2, 12, R3', '12*2 + 1*3 + 0'],
    ['IMAD R1, R2, R4, R3', null],
    ['IMAD.HI R1, R2, 12, R3', null],
    ['IMAD_WIDE RD1, R2, 4, RD3', '4*s32:2 + 1*3 + 0'],
    ['IMAD_WIDE.U32 RD1, R2, 4, RD3', '4*u32:2 + 1*3 + 0'],
    ['LEA.64 RD1, RD2, RD3, 3', '8*2 + 1*3 + 0'],
    ['SHL R1, R2, 5', '32*2 + 0'],
    ['SHL R1, R2, 32', '0'],
    ['SHL R1, R2, R3', null],
    ['MOV R1, c[0x0][0x160]', '1*c + 0'],
    ['MOV.64 RD1, &buffer', '1*buffer + 0'],
    ['I2I.S64.S32 RD1, R2', '1*s32:2 + 0'],
    ['I2I.U64.U32 RD1, R2', '1*u32:2 + 0'],
    ['I2I.U32.U64 R1, RD2', '1*2 + 0'],
    ['I2I.S32.S8 R1, R2', '1*s8:2 + 0'],
    ['I2I.S8.S32.SAT R1, R2', null],
    ['PAIR RD1, R2, R3', '4294967296*u32:3 + 1*u32:2 + 0'],
    ['UNPAIR R1, R4, RD2', '1*2 + 0'],
    ['SEL R1, R2, R3, P4', null],
    ['SEL R1, 12, 4, P4', '8*u1:4 + 4'],
  ])('%s is %s', (text, expected) => {
    const got = show(text);
    const sorted = (s: string | null): string | null => s?.split(' + ').sort().join(' + ') ?? null;
    expect(sorted(got)).toBe(sorted(expected));
  });

  it('constants of instructions share one graph', () => {
    const [a, b] = parseFn('BB0:\nIMAD R1, R2, 5, R3\nIMAD R1, R2, 77, R3\nEXIT', isa).blocks[0].ins;
    expect(instructionGraph(a)).toBe(instructionGraph(b));
  });
});
