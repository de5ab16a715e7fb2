import { describe, expect, it } from 'vitest';
import { hasMod, Mod, modOf, type Opcode, OpFlag, slotWidth, withMods } from '../../src/ir/opcode.ts';
import { Kind } from '../../src/ir/operand.ts';
import { buildIsa, type OpcodeSpec } from '../../src/isa/build.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();
const op = (name: string): Opcode => isa.byName.get(name)!;

function build(spec: Partial<OpcodeSpec>) {
  const data = {
    kind: 'isa',
    opcodes: { OP: { title: 't', form: '', props: [], unit: 'alu', means: '', ...spec } },
  };
  const { isa: one, diagnostics } = buildIsa([{ file: 'my.yaml', data }]);
  return {
    op: one.opcodes[0],
    messages: diagnostics.map((d) => [d.message, ...(d.notes ?? [])].join(' | ')),
    isa: one,
  };
}

describe('the class that an opcode is counted under', () => {
  it('follows from unit and properties, unless its row states it', () => {
    expect(build({ unit: 'fp64' }).op.class).toBe('float');
    expect(build({ unit: 'fp64', class: 'integer' }).op.class).toBe('integer');
    expect(build({ unit: 'alu', form: 'd:p = a:r32', means: 'd = a == 0' }).op.class).toBe('predicate');
    expect(build({ unit: 'lsu' }).op.class).toBe('memory');
    expect(build({ unit: 'lsu', props: ['convergent'] }).op.class).toBe('warp');
    expect(build({ unit: 'lsu', props: ['control'] }).op.class).toBe('control');
  });

  it.each([
    ['FLO', 'integer'],
    ['IMAD', 'integer'],
    ['MUFU', 'float'],
    ['FRND', 'convert'],
    ['PRMT', 'move'],
  ])('%s: %s', (name, of) => expect(op(name).class).toBe(of));
});

describe('one content, one instruction set', () => {
  it('gives the same opcodes for equal documents, and others for different ones', () => {
    const one = build({ means: 'd = 0', form: 'd:r32 = a:r32' });
    const again = build({ means: 'd = 0', form: 'd:r32 = a:r32' });
    expect(again.isa).toBe(one.isa);
    expect(again.op).toBe(one.op);
    const other = build({ means: 'd = 1', form: 'd:r32 = a:r32' });
    expect(other.isa.hash).not.toBe(one.isa.hash);
    expect(other.op).not.toBe(one.op);
  });
  it('reports faults each time', () => {
    expect(build({ form: 'd:nothing' }).messages.length).toBe(1);
    expect(build({ form: 'd:nothing' }).messages.length).toBe(1);
  });
});

describe('the shipped instruction set', () => {
  it('numbers opcodes densely and gives each a meaning or a primitive, not both', () => {
    isa.opcodes.forEach((o, i) => {
      expect(o.id).toBe(i);
      expect([o.name, o.means === null, o.primitive === null].filter((x) => x === true).length, o.name).toBe(
        1,
      );
    });
  });
  it('has every slot well formed', () => {
    for (const o of isa.opcodes)
      for (const s of [...o.dsts, ...o.srcs]) {
        expect(s.kinds, `${o.name} ${s.name}`).toBeGreaterThan(0);
        if (s.bank === 'r')
          expect(
            s.width > 0 || s.widthFrom !== null || s.name === 'd' || s.name === 'args',
            `${o.name} ${s.name}`,
          ).toBe(true);
      }
  });
  it('reads forms with sources only, destinations only, and nothing', () => {
    expect([op('STG').dsts.length, op('STG').srcs.length]).toEqual([0, 2]);
    expect([op('S2R').dsts.length, op('S2R').srcs.length]).toEqual([1, 0]);
    expect([op('EXIT').dsts.length, op('EXIT').srcs.length]).toEqual([0, 0]);
  });
  it('takes widths of slots from modifiers', () => {
    const f2f = op('F2F');
    const mods = withMods(f2f, 0, 'dt=F64', 'st=F16');
    expect([slotWidth(f2f, mods, f2f.dsts[0]), slotWidth(f2f, mods, f2f.srcs[0])]).toEqual([64, 32]);
    expect(slotWidth(op('IADD3'), withMods(op('IADD3'), 0, '64'), op('IADD3').dsts[0])).toBe(64);
    expect(slotWidth(op('LDG'), withMods(op('LDG'), 0, 'B128'), op('LDG').dsts[0])).toBe(128);
  });
  it('keeps the first value a default, whatever its name', () => {
    expect(modOf(op('SHL'), 0, 'size')).toBe('B32');
    expect(modOf(op('LDG'), 0, 'vec')).toBe('V1');
    expect(modOf(op('IDP'), 0, 'part')).toBe('4A');
  });
  it('finds modifiers by name, or by group where a name stands in two', () => {
    const f2f = op('F2F');
    expect(() => withMods(f2f, 0, 'F32')).toThrow("no modifier '.F32'");
    expect(hasMod(f2f, withMods(f2f, 0, 'st=F64'), 'st=F64')).toBe(true);
    expect(hasMod(f2f, 0, 'st=F64')).toBe(false);
    expect(modOf(op('FADD'), withMods(op('FADD'), 0, 'FTZ', 'RZ'), 'rnd')).toBe('RZ');
    expect(hasMod(op('FADD'), withMods(op('FADD'), 0, 'FTZ'), 'FTZ')).toBe(true);
  });
  it('packs every combination of modifiers without overlap', () => {
    for (const o of isa.opcodes) {
      let seen = 0;
      for (const g of o.groups) {
        expect(seen & (g.mask << g.shift), o.name).toBe(0);
        seen |= g.mask << g.shift;
        expect(g.mask, `${o.name} ${g.name}`).toBeGreaterThanOrEqual(g.values.length - 1);
      }
    }
  });
  it('knows what optional sources hold', () => {
    expect(op('IADDX').srcs[2].default?.lo).toBe(0);
    expect(op('LDGSTS').srcs[2].default?.lo).toBe(-1);
    expect(op('ISETP').srcs[2].default).toBe(null);
  });
  it('hashes what it says', () => {
    expect(isa.hash).toBe(testIsa().hash);
    expect(build({ title: 'a' }).isa.hash).not.toBe(build({ title: 'b' }).isa.hash);
  });
});

describe('one opcode', () => {
  it('reads slots', () => {
    const { op: o, messages } = build({
      form: 'd:r(type), p:p? = a:x(type)/-|, b:r32/~, c:p?/!, t:addr, l:label|sym, n:imm, rest:any*',
      default: { c: false },
      modifiers: { type: { U8: 'u8', S64: 's64' }, 'mode!': ['X', 'Y', 'Z'], ftz: 'FTZ?' },
      props: ['pure', 'commutative'],
    });
    expect(messages).toEqual([]);
    expect(o.srcs.map((s) => s.mods)).toEqual([Mod.Neg | Mod.Abs, Mod.Not, Mod.Not, 0, 0, 0, 0]);
    expect(o.srcs[0].kinds).toBe((1 << Kind.Reg) | (1 << Kind.Imm) | (1 << Kind.CBank));
    expect(o.srcs[4].kinds).toBe((1 << Kind.Label) | (1 << Kind.Sym));
    expect([o.dsts[0].optional, o.dsts[1].optional, o.srcs[6].variadic]).toEqual([false, true, true]);
    expect([o.dsts[0].bank, o.dsts[1].bank, o.srcs[3].bank]).toEqual(['r', 'p', 'none']);
    expect(o.flags).toBe(OpFlag.Pure | OpFlag.Commutative);
    expect(o.groups.map((g) => [g.name, g.required, g.shift, g.mask])).toEqual([
      ['type', false, 0, 1],
      ['mode', true, 1, 3],
      ['ftz', false, 3, 1],
    ]);
    expect(o.groups[0].values).toEqual([
      { name: 'U8', width: 32, type: 'u8' },
      { name: 'S64', width: 64, type: 's64' },
    ]);
    expect(modOf(o, 0, 'ftz')).toBe('NONE');
    expect(o.srcs[2].default?.lo).toBe(0);
  });
  it.each([
    [{ form: 'd:r32 = a:q32' }, "operand a has unknown type 'q32' | did you mean"],
    [{ form: 'd:r(size) = a:r32' }, "takes its width from 'size', which is not a modifier group"],
    [{ form: 'd r32' }, "operand 'd r32' is not of the form name:type"],
    [{ props: ['comutative'] }, "unknown property 'comutative' | did you mean 'commutative'?"],
    [{ modifiers: { t: { A: 's33' } } }, "unknown type 's33' of modifier A | did you mean"],
    [
      {
        modifiers: Object.fromEntries(
          [...'abcdefgh'].map((k) => [k, [...'0123456789ABCDEFG'].map((c) => k + c)]),
        ),
      },
      'modifiers need 40 bits',
    ],
  ])('%j is a fault', (spec, message) => {
    const { messages } = build(spec as Partial<OpcodeSpec>);
    expect(messages.length).toBe(1);
    expect(messages[0]).toContain(message);
  });
  it('is a fault when defined twice', () => {
    const data = { kind: 'isa', opcodes: { NOP: { title: 't', form: '', props: [], unit: 'alu' } } };
    const { diagnostics } = buildIsa([
      { file: 'a.yaml', data },
      { file: 'b.yaml', data },
    ]);
    expect(diagnostics.map((d) => `${d.file}: ${d.message}`)).toEqual(['b.yaml: NOP: is defined twice']);
  });
});

describe('rows about lanes', () => {
  const faults = (lanes: unknown, special?: unknown): string[] =>
    buildIsa([
      {
        file: 'x.yaml',
        data: {
          kind: 'isa',
          opcodes: {
            X: {
              title: 'x',
              form: 'd:r32 = mask:x32',
              modifiers: { sr: ['ONE', 'TWO'] },
              props: [],
              unit: 'alu',
              primitive: 'special',
              lanes,
              special,
            },
          },
        },
      },
    ]).diagnostics.map((d) => [d.message, ...(d.notes ?? [])].join(' | '));

  it('name results, modifiers, sources and registers that exist', () => {
    expect(
      faults({ ONE: 'warp(mask)', 'd TWO': 'varying', '*': 'operands' }, { ONE: { lanes: 'block' } }),
    ).toEqual([]);
    expect(faults({ OEN: 'warp' })).toEqual([
      "X: lanes: 'OEN' is neither a result nor a modifier | did you mean 'ONE'?",
    ]);
    expect(faults('warp(maks)')).toEqual(["X: lanes: there is no source 'maks' | did you mean 'mask'?"]);
    expect(faults('warp', { TOW: { lanes: 'block' } })).toEqual([
      "X: special: there is no register 'TOW' | did you mean 'TWO'?",
    ]);
  });

  it('say something of every special register', () => {
    const s2r = testIsa().byName.get('S2R')!;
    expect(s2r.groups[0].values.filter((_, i) => s2r.special[i] === null).map((v) => v.name)).toEqual([]);
  });
});
