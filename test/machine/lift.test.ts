import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Elf, Section } from '../../src/cubin/elf.ts';
import { functionsOf, targetName } from '../../src/cubin/functions.ts';
import { describe as describeAttribute, EIATTR } from '../../src/cubin/info.ts';
import { readCubin } from '../../src/cubin/read.ts';
import type { Program } from '../../src/ir/program.ts';
import { baseTarget } from '../../src/ir/target.ts';
import { KernelJudge } from '../../src/judge/judge.ts';
import { type Lifted, liftKernel } from '../../src/lift/lift.ts';
import { decode, type Instruction } from '../../src/machine/decode.ts';
import { encode } from '../../src/machine/encode.ts';
import type { Machine } from '../../src/machine/forms.ts';
import { instructionText } from '../../src/machine/text.ts';
import { mostShared, paramBase, readPtx } from '../../src/read.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { makePlan } from '../../src/spec/node.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { fitLaunch, loadLaunch } from '../../src/spec/node-launch.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { passNames, plain, shipped } from '../support/specs.ts';

/*
 * Machine code lifted to Ori. The cubins come from ptxas (test/machine-code/build.sh); launches expect what the same sources gave on the
 * host.
 */

const CODE = join(ROOT, 'test', 'machine-code');
const KERNELS = join(ROOT, 'test', 'kernels');

interface Subject {
  readonly name: string;
  readonly elf: Elf;
  readonly machine: Machine;
  readonly plan: Plan;
  readonly program: Program;
}

const subjects = new Map<string, Promise<Subject>>();
/** A cubin of test/machine-code with the PTX that it was made of; many tests look at one, and none changes it. */
function subjectOf(file: string): Promise<Subject> {
  const subject = subjects.get(file) ?? readSubject(file);
  subjects.set(file, subject);
  return subject;
}
async function readSubject(file: string): Promise<Subject> {
  const name = file.split('.')[0];
  const elf = readCubin(new Uint8Array(readFileSync(join(CODE, file))));
  const target = targetName(elf);
  const { plan } = await makePlan({ ...plain, sm: baseTarget(target) }, passNames, shipped);
  const machine = await loadMachine(target);
  if (plan === null || machine === null) throw new Error(`no plan or no machine code for ${target}`);
  const own = readdirSync(CODE).includes(`${name}.ptx`) ? join(CODE, `${name}.ptx`) : null;
  const sm = target === 'sm_100' || target === 'sm_120' ? 'sm_90' : target;
  const ptx = own ?? join(KERNELS, name, `${name}.${sm}.ptx`);
  return { name, elf, machine, plan, program: readPtx(readFileSync(ptx, 'utf8'), plan, ptx).program };
}

const lift = (s: Subject, kernel: string, elf = s.elf): Lifted =>
  liftKernel(elf, s.machine, s.plan.isa, s.program, kernel, paramBase(s.plan));

const cubins = readdirSync(CODE).filter((f) => f.endsWith('.cubin'));

describe('launches give what they expect from machine code', () => {
  const ofKernels = cubins.filter((f) => readdirSync(KERNELS).includes(f.split('.')[0]));
  test('there is code of every family, and of more than one level', () => {
    expect(new Set(ofKernels.map((f) => f.split('.')[1]))).toEqual(
      new Set(['sm_75', 'sm_80', 'sm_90', 'sm_100', 'sm_120']),
    );
    expect(new Set(ofKernels.map((f) => f.split('.')[2]))).toEqual(new Set(['O0', 'O3']));
  });
  test.each(ofKernels)('%s', async (file) => {
    const s = await subjectOf(file);
    const launches = readdirSync(join(KERNELS, s.name)).filter((f) => /^launch.*\.yaml$/.test(f));
    expect(launches.length).toBeGreaterThan(0);
    for (const name of launches) {
      const launch = await loadLaunch(join(KERNELS, s.name, name));
      await fitLaunch(launch, s.program, mostShared(s.plan));
      const lifted = lift(s, launch.kernel);
      expect(lifted.gaps).toEqual([]);
      const r = runLaunch(lifted.program, s.plan.isa, launch, paramBase(s.plan));
      expect({ name, status: r.status, error: r.error, mismatches: r.mismatches }).toEqual({
        name,
        status: 'ok',
        error: null,
        mismatches: [],
      });
    }
  });
});

const judge = (s: Subject, kernel: string, elf = s.elf) => {
  const lifted = lift(s, kernel, elf);
  expect(lifted.gaps).toEqual([]);
  return new KernelJudge(s.program, lifted.program, kernel, paramBase(s.plan), {
    machine: true,
    constantsAt: lifted.constantsAt,
  }).against(lifted.program);
};

/** A cubin with one instruction changed: the first of a kernel whose text fits. */
function changed(s: Subject, kernel: string, text: RegExp, change: (i: Instruction) => Instruction): Elf {
  let isDone = false;
  const sections = s.elf.sections.map((section) => {
    if (section.name !== `.text.${kernel}` || section.content.kind !== 'code') return section;
    const words = section.content.words.slice();
    for (let k = 0; k < words.length && !isDone; k += 4) {
      const i = decode(s.machine, [words[k], words[k + 1], words[k + 2], words[k + 3]]);
      if (i === null || !text.test(instructionText(s.machine, i, 4 * k))) continue;
      words.set(encode(change(i)), k);
      isDone = true;
    }
    return { ...section, content: { kind: 'code' as const, words } };
  });
  expect(isDone, `${kernel} has an instruction like ${text}`).toBe(true);
  return { ...s.elf, sections };
}

/** The same instruction with another value of a field: of the modifier with a name, or of what begins at a bit. */
function having(field: string | number, value: string | number): (i: Instruction) => Instruction {
  return (i) => {
    const k = i.form.fields.findIndex((f) =>
      typeof field === 'string' ? f.name === field : f.place[0].at === field,
    );
    const bits = typeof value === 'number' ? value : (i.form.fields[k]?.names?.indexOf(value) ?? -1);
    if (k < 0 || bits < 0) throw new Error(`${i.form.name} has no ${field} ${value}`);
    return { ...i, values: i.values.with(k, bits) };
  };
}

const guarded =
  (not: boolean) =>
  (i: Instruction): Instruction => ({ ...i, guardNot: not });

/** Nothing instead of an instruction. */
const nothing =
  (machine: Machine) =>
  (i: Instruction): Instruction => ({
    ...decode(machine, [0x7918, 0, 0, 0xfc000])!,
    control: i.control,
  });

/** Kernels of test/machine-code/warpgroup.ptx. */
const WARPGROUP = 'warpgroup.sm_90a.O3.cubin';
const PRODUCTS = [
  ...['halves', 'columns', 'fromRegisters', 'smallFloats', 'tensor', 'bytes', 'bits', 'chosen', 'pipeline'],
];

/** Kernels of test/machine-code/matrices.ptx. */
const MATRICES = [
  ...['halves', 'halfSums', 'brain', 'tensor', 'bytes', 'fewBytes', 'nibbles', 'bits', 'fewBits', 'doubles'],
  ...['loadParts', 'loadTransposed', 'transposed', 'opaque'],
];

describe('the judge compares PTX and machine code', () => {
  test.each([
    ['max-of-absolute.sm_90.O0.cubin', 'maxOfAbsolute'],
    ['carry-chain.sm_80.O3.cubin', 'add256'],
    ['warp-redux.sm_80.O3.cubin', 'redux'],
    ['reduce-shared.sm_90.O3.cubin', 'reduceSum'],
    ['double-math.sm_100.O3.cubin', 'doubleMath'],
    ['half2-math.sm_120.O3.cubin', 'halfScalar'],
    ['atomics-int.sm_75.O3.cubin', 'atomicsShared'],
    ['unusual-conversions.sm_90.O3.cubin', 'unusualConversions'],
    ['unusual-conversions.sm_100.O3.cubin', 'unusualConversions'],
    ['unusual-conversions.sm_120.O3.cubin', 'unusualConversions'],
    ['arrivals.sm_80.O3.cubin', 'arrivals'],
    ['arrivals.sm_90.O3.cubin', 'arrivals'],
    ['parted-lanes.sm_75.O3.cubin', 'partedLanes'],
    ['half-constants.sm_90.O3.cubin', 'halfConstants'],
    ...['matrices.sm_80.O3.cubin', 'matrices.sm_90.O3.cubin'].flatMap((file) =>
      MATRICES.map((kernel): [string, string] => [file, kernel]),
    ),
    ['matrices-ada.sm_89.O3.cubin', 'smallFloats'],
    ['matrices-hopper.sm_90.O3.cubin', 'storeParts'],
    ['matrices-hopper.sm_90.O3.cubin', 'largeDoubles'],
    ...PRODUCTS.map((kernel): [string, string] => [WARPGROUP, kernel]),
    ...cubins
      .filter((file) => file.startsWith('driver-functions.'))
      .flatMap((file) => ['printed', 'asserted', 'allocated'].map((k): [string, string] => [file, k])),
  ])('%s: %s is equal', async (file, kernel) => {
    expect(judge(await subjectOf(file), kernel)).toMatchObject({ same: true, differences: [] });
  });

  test('where a size has to be a multiple, it is one', async () => {
    const r = judge(await subjectOf('wide-rows.sm_80.O3.cubin'), 'wideRows');
    expect(r).toMatchObject({ same: true, differences: [] });
    // Of the worlds, those whose size is no multiple tell something as well.
    expect(r.worlds).toBeGreaterThan(50);
  });

  // ptxas fuses one product of a difference of two in some copies of a loop body, and the other product in the rest.
  describe('products that each copy of a loop body fuses otherwise', () => {
    test('are equal within their tolerance', async () => {
      const r = judge(await subjectOf('uneven-fusion.sm_80.O3.cubin'), 'uneven_fusion');
      expect(r).toMatchObject({ same: true, differences: [], approximate: true });
    });
    test('are different with one sign wrong', async () => {
      const s = await subjectOf('uneven-fusion.sm_80.O3.cubin');
      const wrong = changed(s, 'uneven_fusion', /FADD R\d+, -R/, (i) => ({
        ...i,
        values: i.values.map((v, k) => (i.form.fields[k]?.place[0].at === 72 ? 0 : v)),
      }));
      expect(judge(s, 'uneven_fusion', wrong).same).toBe(false);
    });
  });

  // What ptxas 13.0.88 gets wrong; the right values follow from the PTX ISA alone: max(max(x, -x), y), a difference of shifts, a shift
  // of 16 bits by 65536, and an instruction that does not run.
  test.each([
    ['max-of-absolute.sm_90.O3.cubin', 'maxOfAbsolute'],
    ['peak-of-absolutes.sm_90.O3.cubin', 'peakOfAbsolutes'],
    ['shift-difference.sm_80.O3.cubin', 'shiftDifference'],
    ['narrow-shift.sm_80.O0.cubin', 'narrowShift'],
    ['guarded-set.sm_90.O0.cubin', 'guardedSet'],
  ])('%s: %s is different', async (file, kernel) => {
    const r = judge(await subjectOf(file), kernel);
    expect(r.same).toBe(false);
    expect(r.witness?.address).toBeGreaterThan(0);
  });

  // One bit or a few of right code, as a faulty code generator would set them.
  test.each<[string, string, string, RegExp, (i: Instruction) => Instruction]>([
    ['a carry is lost', 'carry-chain.sm_80.O3.cubin', 'add256', /^IADD3\.X/, having(87, 7)],
    ['a sum is a difference', 'carry-chain.sm_80.O3.cubin', 'add256', /^IADD3 R15, P1/, having(63, 1)],
    ['another comparison', 'divmod.sm_90.O3.cubin', 'divVariable', /^ISETP\.NE/, having('cmp', 'EQ')],
    [
      'signed for unsigned',
      'divmod.sm_90.O3.cubin',
      'divVariable',
      /^ISETP\.GE\.U32\.AND P5, PT, R18/,
      having('type', ''),
    ],
    ['a guard the other way round', 'divmod.sm_90.O3.cubin', 'divVariable', /^@!P3 IADD3/, guarded(false)],
    ['bytes for zeros', 'arrivals.sm_80.O3.cubin', 'arrivals', /^LDGSTS\.E\.128 .*!PT$/, having(90, 0)],
    ['a byte more', 'arrivals.sm_90.O3.cubin', 'arrivals', /^LDGSTS\.E\.64\.ZFILL/, having(32, 4)],
    [
      'another sign',
      'unusual-conversions.sm_90.O3.cubin',
      'unusualConversions',
      /^FMNMX.*XORSIGN/,
      having(82, 0),
    ],
    ['another clamp', 'unusual-conversions.sm_90.O3.cubin', 'unusualConversions', /^I2IP\.S8/, having(76, 0)],
    [
      'another format',
      'unusual-conversions.sm_90.O3.cubin',
      'unusualConversions',
      /^F2FP\.SATFINITE\.E4M3/,
      having(76, 0),
    ],
    ['another reduction', 'warp-redux.sm_80.O3.cubin', 'redux', /REDUX\.SUM/, having('op', 'XOR')],
    ['a store of half a word', 'warp-redux.sm_80.O3.cubin', 'redux', /STG\.E desc/, having('size', 'U16')],
    ['the wrong offset', 'reduce-shared.sm_90.O3.cubin', 'reduceSum', /LDS R2/, having(40, 4)],
    [
      'the wrong rounding',
      'double-math.sm_100.O3.cubin',
      'doubleMath',
      /^DADD R10, \|R14\|/,
      having('round', 'RP'),
    ],
    ['halves for brain floats', 'matrices.sm_80.O3.cubin', 'brain', /^HMMA/, having('in', '')],
    ['brain floats for halves', 'matrices.sm_80.O3.cubin', 'halves', /^HMMA/, having('in', 'BF16')],
    [
      'small floats of another kind',
      'matrices-ada.sm_89.O3.cubin',
      'smallFloats',
      /^QMMA/,
      having('ta', 'E5M2'),
    ],
    ['another first factor', 'matrices.sm_80.O3.cubin', 'halves', /^HMMA/, having(24, 9)],
    ['another second factor', 'matrices.sm_80.O3.cubin', 'tensor', /^HMMA/, having(32, 13)],
    ['nothing added', 'matrices.sm_80.O3.cubin', 'halfSums', /^HMMA/, having(64, 255)],
    ['bytes without a sign', 'matrices.sm_80.O3.cubin', 'fewBytes', /^IMMA/, having('tb', 'U8')],
    ['a sum that wraps', 'matrices.sm_80.O3.cubin', 'bytes', /^IMMA/, having('SAT', 0)],
    ['nibbles with a sign', 'matrices.sm_80.O3.cubin', 'nibbles', /^IMMA/, having('tb', 'S4')],
    ['bits that differ', 'matrices.sm_80.O3.cubin', 'bits', /^BMMA/, having('bool', 'XOR')],
    ['the factors the other way round', 'matrices.sm_80.O3.cubin', 'doubles', /^DMMA/, having(24, 4)],
    ['parts as they stand', 'matrices.sm_80.O3.cubin', 'loadTransposed', /^LDSM/, having('shape', 'M88')],
    ['fewer parts', 'matrices.sm_80.O3.cubin', 'loadParts', /^LDSM/, having('count', '2')],
    ['a product left out', 'matrices.sm_80.O3.cubin', 'opaque', /^HMMA.*R18/, having(32, 16)],
    [
      'parts stored as they stand',
      'matrices-hopper.sm_90.O3.cubin',
      'storeParts',
      /^STSM/,
      having('shape', 'M88'),
    ],
    [
      'a smaller product',
      'matrices-hopper.sm_90.O3.cubin',
      'largeDoubles',
      /^DMMA/,
      having('shape', '16x8x8'),
    ],
  ])('%s', async (_, file, kernel, text, change) => {
    const s = await subjectOf(file);
    expect(judge(s, kernel, changed(s, kernel, text, change)).same).toBe(false);
  });

  // Calls of functions that the driver provides.
  test.each<[string, string, RegExp, 'nothing' | ((i: Instruction) => Instruction)]>([
    ['an argument that is not stored', 'printed', /^STL \[R1\+0x0\]/, 'nothing'],
    ['another string', 'printed', /^IMAD\.U32 R16, RZ, RZ, c\[0x4\]/, having(40, 6)],
    ['another format', 'printed', /^MOV R5|^IMAD\.U32 R4, RZ, RZ, c\[0x4\]/, having(40, 8)],
    ['no call', 'printed', /^CALL/, 'nothing'],
    ['another function', 'allocated', /^MOV R0, 0x0/, having(32, 8)],
    ['a value in a register that a call takes', 'printed', /^FFMA R27/, having(16, 8)],
    ['a result that is not kept', 'allocated', /^IMAD\.U32 R16, RZ, RZ, R4/, having(64, 6)],
    ['another test', 'asserted', /^ISETP\.GE/, having('cmp', 'GT')],
    ['another line', 'asserted', /^IMAD\.U32 R8, RZ, RZ, 0x12/, having(32, 0x13)],
    ['no end', 'asserted', /^CALL/, 'nothing'],
    ['a return to another place', 'allocated', /^MOV R9, 0x100/, having(32, 0x110)],
  ])('a function of the driver: %s', async (_, kernel, text, change) => {
    const s = await subjectOf('driver-functions.sm_80.O3.cubin');
    const fault = changed(s, kernel, text, change === 'nothing' ? nothing(s.machine) : change);
    expect(judge(s, kernel, fault).same).toBe(false);
  });

  // Products of a warpgroup: what a code generator may get wrong of their descriptors, their order and themselves.
  test.each<[string, string, RegExp, 'nothing' | ((i: Instruction) => Instruction)]>([
    ['the next step of a row for this one', 'halves', /^UIADD3\.64 UR12, UPT, UPT, UR4, 0x4/, having(32, 2)],
    ['the step of one factor alone', 'halves', /^UIADD3\.64 UR14, UPT, UPT, UR6, 0x4/, having(32, 6)],
    ['a factor at another place', 'halves', /^UIADD3 UR6.*0x200/, having(32, 0x240)],
    ['one factor for the other', 'halves', /^HGMMA.*UR4.*none/, having(24, 6)],
    ['other parts along the rows', 'columns', /^ULOP3\.LUT .*0x400000/, having(32, 0x200000)],
    ['other parts across the rows', 'columns', /^UMOV UR5, 0x80000020/, having(32, 0x80000040)],
    ['another swizzle', 'halves', /^UMOV UR5, 0x40000040/, having(32, 0x80000040)],
    ['no swizzle', 'fromRegisters', /^UMOV UR7, 0xc0000010/, having(32, 0x10)],
    ['a first factor as it stands', 'columns', /^HGMMA/, having('ta', '')],
    ['a second factor as it stands', 'columns', /^HGMMA/, having('tb', '')],
    ['a second factor across', 'halves', /^HGMMA/, having('tb', 'tnspB')],
    ['a first factor without its sign', 'columns', /^HGMMA/, having('na', '')],
    ['a second factor without its sign', 'fromRegisters', /^HGMMA/, having('nb', '')],
    ['other registers of a factor', 'fromRegisters', /^HGMMA/, having(24, 25)],
    ['the sums of others', 'chosen', /^HGMMA/, having(90, 1)],
    ['old sums always', 'chosen', /^HGMMA/, having(87, 0)],
    ['old sums never', 'bits', /^BGMMA/, having(90, 1)],
    ['fewer columns', 'halves', /^HGMMA/, having('shape', '64x8x16')],
    ['brain floats for halves', 'halves', /^HGMMA/, having('from', 'BF16')],
    ['halves for brain floats', 'columns', /^HGMMA/, having('from', '')],
    ['another small float first', 'smallFloats', /^QGMMA/, having('ta', 'E5M2')],
    ['another small float second', 'smallFloats', /^QGMMA/, having('tb', 'E4M3')],
    ['bytes without a sign', 'bytes', /^IGMMA/, having('ta', 'U8')],
    ['bytes with a sign', 'bytes', /^IGMMA/, having('tb', 'S8')],
    ['sums that wrap', 'bytes', /^IGMMA/, having('SAT', 0)],
    ['no product', 'halves', /^HGMMA/, 'nothing'],
    ['no arrival', 'halves', /^WARPGROUP\.ARRIVE/, 'nothing'],
    ['no arrival before a factor in registers', 'fromRegisters', /^WARPGROUP\.ARRIVE/, 'nothing'],
    ['no wait', 'halves', /^WARPGROUP\.DEPBAR/, 'nothing'],
    ['a wait that leaves a group', 'halves', /^WARPGROUP\.DEPBAR/, having(72, 1)],
    ['a wait that leaves two groups', 'pipeline', /^WARPGROUP\.DEPBAR.*0x1/, having(72, 2)],
    ['no wait in a loop', 'pipeline', /^WARPGROUP\.DEPBAR.*0x1/, 'nothing'],
    ['no wait behind a loop', 'pipeline', /^WARPGROUP\.DEPBAR.*0x0/, 'nothing'],
    ['a group that nothing closes', 'halves', /^HGMMA.*gsb0/, having(84, 7)],
    ['a barrier left out', 'halves', /^BAR\.SYNC/, 'nothing'],
  ])('a product of a warpgroup: %s', async (_, kernel, text, change) => {
    const s = await subjectOf(WARPGROUP);
    const fault = changed(s, kernel, text, change === 'nothing' ? nothing(s.machine) : change);
    expect(judge(s, kernel, fault).same).toBe(false);
  });
});

test('indirect jumps across much code cost memory in proportion to it', async () => {
  const s = await subjectOf('jump-table.sm_90.O0.cubin');
  const fn = functionsOf(s.elf).find((f) => f.name === 'jumpTable')!;
  const old = fn.attributes.find((a) => describeAttribute(a).code === EIATTR.branches)!;
  const [from] = describeAttribute(old).numbers;
  // The jump again so many times, behind so many words that do nothing: each leads to the first word and to the last.
  const [jumps, words] = [12, 130_000];
  const first = fn.words.length / 4;
  const place = (k: number) => 16 * (first + words + k);
  const code = new Uint32Array(4 * (first + words + jumps));
  code.set(fn.words);
  for (let k = 0; k < words; k++) code.set([0x7918, 0, 0, 0xfc000], 4 * (first + k));
  for (let k = 0; k < jumps; k++)
    code.set(fn.words.subarray(from / 4, from / 4 + 4), 4 * (first + words + k));
  const all = Array.from({ length: jumps }, (_, k) => place(k));
  const table = [from, 0, jumps, ...all, ...all.flatMap((at) => [at, 0, 2, 0, place(jumps - 1)])];
  const sections = s.elf.sections.map((x, k): Section => {
    if (k === fn.section) return { ...x, content: { kind: 'code', words: code } };
    if (x.content.kind !== 'attributes') return x;
    const attributes = x.content.attributes.map((a) =>
      a === old ? { ...a, bytes: new Uint8Array(Uint32Array.from(table).buffer) } : a,
    );
    return { ...x, content: { kind: 'attributes', attributes } };
  });
  const { gaps, program } = lift(s, 'jumpTable', { ...s.elf, sections });
  expect(gaps.map((g) => g.why)).toContainEqual(expect.stringMatching(/^indirect jumps lead to more than/));
  const entries = program.functions.flatMap((f) => f.tables).reduce((n, t) => n + t.length, 0);
  expect([entries > words, entries <= 2 ** 20]).toEqual([true, true]);
});

test('an instruction without a meaning is a gap, with its place', async () => {
  const s = await subjectOf('warp-redux.sm_80.O3.cubin');
  const elf = changed(s, 'redux', /^S2R/, (i) => ({
    ...i,
    values: i.values.map((v, k) => (i.form.fields[k].names ? 96 : v)),
  }));
  const { gaps } = lift(s, 'redux', elf);
  expect(gaps).toHaveLength(1);
  expect(gaps[0].why).toMatch(/special register SR_HWTASKID/);
  expect(gaps[0].word.text).toMatch(/^S2R R\d+, SR_HWTASKID$/);
});

test('a relocation of no word of a constant bank is refused', async () => {
  const s = await subjectOf('function-pointers.sm_80.O3.cubin');
  const kernel = s.program.functions.find((f) => f.kind === 'entry')!.name;
  const banks = functionsOf(s.elf).flatMap((f) => f.constants.map((c) => c.section));
  const sections = s.elf.sections.map((x): Section => {
    if (x.content.kind !== 'relocations' || !banks.includes(x.info)) return x;
    const [first, ...more] = x.content.relocations;
    return { ...x, content: { ...x.content, relocations: [{ ...first, offset: 2 ** 31 }, ...more] } };
  });
  expect(sections.filter((x, k) => x !== s.elf.sections[k]).length).toBeGreaterThan(0);
  expect(() => lift(s, kernel, { ...s.elf, sections })).toThrow(
    /relocates 0x80000000, which is not a word of constant bank \d/,
  );
});
