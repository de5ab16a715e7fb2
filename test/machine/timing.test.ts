import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { cubinOf, ptxasVersion } from '../../src/cli/optimize/ptxas-run.ts';
import { membersOf } from '../../src/cubin/containers.ts';
import type { Elf } from '../../src/cubin/elf.ts';
import { targetName } from '../../src/cubin/functions.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { meaningOf, plainBanks } from '../../src/lift/lift.ts';
import { type Control, NO_BARRIER, parseControl, setControl } from '../../src/machine/control.ts';
import type { Machine } from '../../src/machine/forms.ts';
import { type Listed, type ListedFunction, listCode } from '../../src/machine/listing.ts';
import { parseInstruction } from '../../src/machine/parse.ts';
import type { MutableWord } from '../../src/machine/word.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';
import { type Accesses, accessesOf } from '../../src/timing/accesses.ts';
import { type Hazard, hazardsOf } from '../../src/timing/check.ts';
import { accessesIn } from '../../src/timing/code.ts';
import { command } from '../support/commands.ts';
import { testIsa } from '../support/isa.ts';
import { sampleOf } from '../support/size.ts';
import { testFolder } from '../support/specs.ts';

/*
 * The timing check: it finds nothing in ptxas' code, and finds every change of a control word that makes a neighbour too early. Which
 * changes matter is determined here by a separate walk through single blocks. `npm test` tries some of each kind in each function, and
 * ORRERY_TEST_SIZE=1, as by night, all of them.
 */

const folder = testFolder();

interface Code {
  readonly name: string;
  readonly machine: Machine;
  readonly listed: ListedFunction;
  readonly accesses: readonly (Accesses | null)[];
}

async function codesOf(name: string, elf: Elf): Promise<Code[]> {
  const machine = (await loadMachine(targetName(elf)))!;
  return listCode(elf, machine).map((listed) => ({
    name: `${name} ${listed.fn.name}`,
    machine,
    listed,
    accesses: accessesIn(listed, elf, machine, testIsa()),
  }));
}

const shipped = ['test/machine-code', 'test/cubins'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((f) => /\.(cubin|fatbin)$/.test(f))
    .map((f) => join(folder, f)),
);

const codesIn = async (file: string): Promise<Code[]> => {
  const members = membersOf(new Uint8Array(readFileSync(join(ROOT, file)))).filter((m) => m.kind === 'cubin');
  return (await Promise.all(members.map((m) => codesOf(file, readCubin(m.content()))))).flat();
};

const check = ({ listed, accesses, machine }: Code): Hazard[] =>
  hazardsOf(listed.fn, listed.code, accesses, machine);

const controlled = (c: Code, at: number, change: Partial<Control>): Code => ({
  ...c,
  listed: {
    ...c.listed,
    code: c.listed.code.map((w, k) => (k === at ? { ...w, control: { ...w.control, ...change } } : w)),
  },
});

/** A control word that is changed so that instruction `second` comes too early. */
interface Mutant {
  readonly what: string;
  readonly at: number;
  readonly change: Partial<Control>;
  readonly second: number;
}

/** Instructions that a walk looks ahead. */
const AHEAD = 24;

function mutantsOf({ listed: { code, fn }, accesses, machine }: Code): Mutant[] {
  const { timing } = machine;
  const out: Mutant[] = [];
  const labels = new Set(fn.labels.map((l) => l.offset));
  const targets = new Set<number>();
  for (const { instruction: i, address } of code) {
    const t = i?.form.operands.find((o) => o.name === 't')?.atom;
    if (t !== undefined) targets.add(address + 16 + i!.values[t.field] * t.scale);
  }
  code.forEach(({ instruction: i, control }, k) => {
    const own = accesses[k];
    if (i === null || own === null || own.guard >= 0 || i.form.pipe === 'control') return;
    let cycles = Math.max(control.stall, 1);
    const open = new Set(own.writes);
    const late = timing.late(i.form);
    let alone = true;
    for (let j = k + 1; j < Math.min(code.length, k + AHEAD); j++) {
      const other = code[j];
      const next = accesses[j];
      if (other.instruction === null || next === null) return;
      if (targets.has(other.address) || labels.has(other.address)) return;
      const { form } = other.instruction;
      const waits = (b: number): boolean => b !== NO_BARRIER && ((other.control.wait >> b) & 1) === 1;
      const reads = [...open].filter((r) => next.reads.has(r));
      if (!late && control.write === NO_BARRIER)
        for (const r of reads) {
          const file = r < 256 ? 'R' : r < 512 ? 'UR' : r < 520 ? 'P' : 'UP';
          const reader = r === next.guard ? 'guard' : timing.reader(form, next.seconds.has(r));
          const result = timing.result(i.form, own.writes.has(r - 1));
          const needed = timing.distance(`${result}.${file}`, reader);
          if (needed !== null && cycles >= needed && cycles - control.stall + 1 < needed)
            out.push({ what: 'stall', at: k, change: { stall: 1 }, second: j });
        }
      if (late && waits(control.write)) {
        if (reads.length > 0 && alone) {
          const wait = other.control.wait & ~(1 << control.write);
          out.push({ what: 'wait', at: j, change: { wait }, second: j });
          out.push({
            what: 'write barrier',
            at: k,
            change: { write: NO_BARRIER, read: NO_BARRIER },
            second: j,
          });
        }
        return;
      }
      const readBefore = [...own.reads].some((r) => r < 256 && next.writes.has(r));
      if (late && waits(control.read)) {
        if (readBefore && alone && !timing.late(form) && next.guard < 0 && control.write === NO_BARRIER)
          out.push({
            what: 'read barrier',
            at: j,
            change: { wait: other.control.wait & ~(1 << control.read) },
            second: j,
          });
        return;
      }
      // Another of the pipe may tell as well that this one is done.
      if (form.pipe === i.form.pipe && late) alone = false;
      if (form.pipe === 'control') return;
      for (const r of next.writes) open.delete(r);
      cycles += Math.max(other.control.stall, 1);
    }
  });
  return out;
}

/** Mutants of each kind that a run of the usual size tries in a function. */
const MOST = 4;

/** @returns by kind: how many mutants there were, and the ones that were not found */
function tryAll(codes: readonly Code[]) {
  const counts: Record<string, number> = {};
  const missed: string[] = [];
  for (const c of codes) {
    const all = mutantsOf(c);
    const kinds = [...new Set(all.map((m) => m.what))].map((what) => all.filter((m) => m.what === what));
    for (const m of kinds.flatMap((of) => sampleOf(of, MOST))) {
      counts[m.what] = (counts[m.what] ?? 0) + 1;
      if (!check(controlled(c, m.at, m.change)).some((h) => h.second === m.second))
        missed.push(
          `${c.name}: ${m.what} at ${(16 * m.at).toString(16)} for ${(16 * m.second).toString(16)}`,
        );
    }
  }
  return { counts, missed };
}

describe('machine code that ships', () => {
  it.each(shipped)('%s: nothing is too early', async (file) => {
    for (const c of await codesIn(file)) expect([c.name, check(c)]).toEqual([c.name, []]);
  });
  it.each(shipped)('%s: what raises a barrier for its result has no fixed latency', async (file) => {
    const fixed = (await codesIn(file)).flatMap(({ listed, machine }) =>
      listed.code.flatMap(({ instruction: i }) =>
        i === null || i.control.write === NO_BARRIER || machine.timing.late(i.form) ? [] : [i.form.row],
      ),
    );
    expect(fixed).toEqual([]);
  });
  it('is too early where a control word is changed', async () => {
    const { counts, missed } = tryAll((await Promise.all(shipped.map(codesIn))).flat());
    expect(missed).toEqual([]);
    for (const what of ['stall', 'wait', 'write barrier', 'read barrier'])
      expect([what, counts[what] > 0]).toEqual([what, true]);
  });
});

describe('machine code by hand', () => {
  /** Places and kinds of what is too early. Registers of the lines have been waited for before, or are never written. */
  const early = async (
    sm: string,
    ...lines: readonly string[]
  ): Promise<(readonly [string, number, number])[]> => {
    const machine = (await loadMachine(sm))!;
    const elf = readCubin(
      new Uint8Array(readFileSync(join(ROOT, 'test/machine-code/shift-difference.sm_80.O3.cubin'))),
    );
    const [{ listed }] = await codesOf('', elf);
    const code = lines.map((line, k): Listed => {
      const [, control, text] = /^(\[.*?\]) +(.*)$/.exec(line)!;
      const i = parseInstruction(machine, text, 16 * k, parseControl(control)!)!;
      return {
        address: 16 * k,
        word: [0, 0, 0, 0],
        control: i.control,
        instruction: i,
        relocations: [],
        places: {},
      };
    });
    const fn = { ...listed.fn, labels: [], attributes: [] };
    const banks = plainBanks(elf, fn, machine);
    const meanings = code.map(({ instruction: i }) =>
      accessesOf(i!, machine, meaningOf(testIsa(), machine, banks, i!)),
    );
    return hazardsOf(fn, code, meanings, machine).map((h) => [h.kind, h.first, h.second] as const);
  };
  const LOAD = 'LDG.E PT, R2, desc[UR4][R4.64+0x0], PT';
  const EXIT = '[B------:R-:W-:Y:S05]  EXIT PT';

  it('waits for what a load brings, also around a loop', async () => {
    const loop = (wait: string) => [
      `[B${wait}:R-:W-:-:S05]  IADD3 R6, PT, PT, R2, R7, RZ`,
      `[B------:R-:W0:Y:S02]  ${LOAD}`,
      '[B------:R-:W-:Y:S05]  @P0 BRA PT, 0x0',
      EXIT,
    ];
    expect(await early('sm_80', ...loop('0-----'))).toEqual([]);
    expect(await early('sm_80', ...loop('------'))).toEqual([['read before the result is there', 1, 0]]);
    expect(await early('sm_80', ...loop('-1----'))).toEqual([['read before the result is there', 1, 0]]);
  });
  it('takes a later result of the queue for the earlier ones, and no other queue', async () => {
    const two = (second: string) => [
      `[B------:R-:W-:Y:S02]  ${LOAD}`,
      `[B------:R-:W0:Y:S02]  ${second}`,
      '[B0-----:R-:W-:-:S05]  IADD3 R6, PT, PT, R2, R7, RZ',
      EXIT,
    ];
    expect(await early('sm_80', ...two('LDG.E PT, R3, desc[UR4][R4.64+0x8], PT'))).toEqual([]);
    expect(await early('sm_80', ...two('LDS R3, [R8+0x0]'))).toEqual([
      ['read before the result is there', 0, 2],
    ]);
  });
  it('takes a count of a barrier for that barrier alone', async () => {
    const counted = (barrier: number) => [
      `[B------:R-:W1:Y:S02]  ${LOAD}`,
      `[B------:R-:W-:Y:S04]  DEPBAR.LE SB${barrier}, 0x0, {}`,
      '[B------:R-:W-:-:S05]  IADD3 R6, PT, PT, R2, R7, RZ',
      EXIT,
    ];
    expect(await early('sm_80', ...counted(1))).toEqual([]);
    expect(await early('sm_80', ...counted(0))).toEqual([['read before the result is there', 0, 2]]);
  });
  it('keeps operands until they are read', async () => {
    const store = (read: string, wait: string) => [
      `[B------:R${read}:W-:Y:S02]  STG.E desc[UR4][R4.64+0x0], R2`,
      `[B${wait}:R-:W-:-:S05]  IADD3 R2, PT, PT, R6, R7, RZ`,
      EXIT,
    ];
    expect(await early('sm_90', ...store('0', '0-----'))).toEqual([]);
    expect(await early('sm_90', ...store('0', '------'))).toEqual([['written before it is read', 0, 1]]);
    expect(await early('sm_90', ...store('-', '0-----'))).toEqual([['written before it is read', 0, 1]]);
  });
  it('takes the answer of a generic atomic operation when its operands are read, its result later', async () => {
    const answered = (wait: string, reader: string) => [
      '[B------:R0:W5:Y:S01]  ATOM.E.MAX.S64.STRONG.GPU P0, R6, desc[UR8][R4.64+0x8], R8',
      `[B${wait}:R-:W-:-:S05]  ${reader}`,
      EXIT,
    ];
    const [guarded, sum] = ['@P0 IADD3 R2, PT, PT, R3, RZ, RZ', 'IADD3 R2, PT, PT, R6, RZ, RZ'];
    expect(await early('sm_90', ...answered('0-----', guarded))).toEqual([]);
    expect(await early('sm_90', ...answered('-----5', guarded))).toEqual([]);
    expect(await early('sm_90', ...answered('------', guarded))).toEqual([
      ['read before the result is there', 0, 1],
    ]);
    expect(await early('sm_90', ...answered('0-----', sum))).toEqual([
      ['read before the result is there', 0, 1],
    ]);
  });
  it('tells arithmetic of doubles from conversions, and high registers from low ones', async () => {
    const cycles = (stall: string, first: string, second: string) => [
      `[B------:R-:W-:-:S${stall}]  ${first}`,
      `[B------:R-:W-:-:S05]  ${second}`,
      EXIT,
    ];
    const early90 = async (...of: Parameters<typeof cycles>) =>
      (await early('sm_90', ...cycles(...of))).length;
    // Of ptxas 13.0.88, and on an H200: a product of doubles 6 or 7 cycles before its reader gave other results, a conversion none.
    const double = 'DMUL R2, R4, R6';
    expect(await early90('07', double, 'DFMA R8, R10, R2, R12')).toBe(1);
    expect(await early90('08', double, 'DFMA R8, R10, R2, R12')).toBe(0);
    expect(await early90('06', double, 'I2F.F64.S64 R8, R2')).toBe(0);
    // The low register of an addend is read with the factors, the high one two cycles later.
    const word = 'IMAD R2, R4, R5, R6';
    expect(await early90('03', word, 'IMAD.WIDE R8, PT, R10, R11, R2')).toBe(1);
    expect(await early90('02', word, 'IMAD.WIDE R8, PT, R10, R11, R1')).toBe(0);
    // So of a result: the low register may be read three cycles behind, the high one five.
    const wide = 'IMAD.WIDE R2, PT, R4, R5, R6';
    expect(await early90('03', wide, 'IADD3 R8, PT, PT, R2, RZ, RZ')).toBe(0);
    expect(await early90('04', wide, 'IADD3 R8, PT, PT, R3, RZ, RZ')).toBe(1);
  });
  it('counts cycles: a guard needs more than an operand', async () => {
    // Of alu to alu 4, as others have measured (Jia et al., Dissecting the NVIDIA Volta GPU Architecture, 2018); to a guard 13, mined.
    const cycles = (stall: string, second: string) => [
      `[B------:R-:W-:-:S${stall}]  ISETP.NE.AND P0, PT, R2, RZ, PT`,
      `[B------:R-:W-:-:S05]  ${second}`,
      EXIT,
    ];
    const select = 'SEL R6, R7, R8, P0';
    const guarded = '@P0 BRA PT, 0x0';
    expect(await early('sm_90', ...cycles('04', select))).toEqual([]);
    expect(await early('sm_90', ...cycles('03', select))).toEqual([
      ['read before the result is there', 0, 1],
    ]);
    expect(await early('sm_90', ...cycles('13', guarded))).toEqual([]);
    expect(await early('sm_90', ...cycles('12', guarded))).toEqual([
      ['read before the result is there', 0, 1],
    ]);
  });
});

const oracle = ptxasVersion()?.startsWith('13.0.88') === true;
const KERNELS = [
  'matmul-tiled',
  'histogram',
  'softmax',
  'mandelbrot',
  'double-math',
  'bitonic-sort',
  'nbody',
  'crc',
];

describe.skipIf(!oracle)('what ptxas 13.0.88 makes of kernels', () => {
  it.each(['sm_80', 'sm_90'])('is right, and no change of it is missed (%s)', async (sm) => {
    const codes: Code[] = [];
    for (const folder of readdirSync(join(ROOT, 'test/kernels'))) {
      if (!KERNELS.includes(folder)) continue;
      for (const f of readdirSync(join(ROOT, 'test/kernels', folder)).filter((x) => x.endsWith(`.${sm}.ptx`)))
        for (const level of ['-O1', '-O3']) {
          const text = readFileSync(join(ROOT, 'test/kernels', folder, f), 'utf8');
          const elf = cubinOf(text, [`-arch=${sm}`, level]);
          if (typeof elf !== 'string') codes.push(...(await codesOf(`${f} ${level}`, elf)));
        }
    }
    expect(codes.length).toBeGreaterThan(4);
    for (const c of codes) expect([c.name, check(c)]).toEqual([c.name, []]);
    expect(tryAll(codes).missed).toEqual([]);
  });
});

// ORRERY_TIMING_CUBINS='FILE...': the same over other code that ptxas made.
const others = process.env.ORRERY_TIMING_CUBINS?.split(/\s+/).filter(Boolean) ?? [];
describe.skipIf(others.length === 0)('other cubins', () => {
  it('are right, and no change of them is missed', { timeout: 3_600_000 }, async () => {
    const total: Record<string, number> = { functions: 0, instructions: 0 };
    for (const file of others) {
      const codes = await codesOf(file, readCubin(new Uint8Array(readFileSync(file))));
      for (const c of codes) {
        expect([c.name, check(c)]).toEqual([c.name, []]);
        total.instructions += c.listed.code.length;
      }
      total.functions += codes.length;
      const { counts, missed } = tryAll(codes.filter((c) => c.listed.code.length < 2000));
      expect(missed).toEqual([]);
      for (const [what, n] of Object.entries(counts)) total[what] = (total[what] ?? 0) + n;
    }
    console.log(JSON.stringify(total));
  });
});

describe('orrery disasm --hazards', () => {
  const orrery = (...args: string[]) =>
    command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
      cwd: ROOT,
      env: { ...process.env, NO_COLOR: '1' },
    });
  it('says that nothing is too early', async () => {
    const r = await orrery('disasm', 'test/machine-code/divmod.sm_90.O3.cubin', '--hazards');
    expect([r.code, r.out]).toEqual([
      0,
      expect.stringMatching(/nothing is too early: 2 functions, 288 instructions/),
    ]);
  });

  /** A cubin whose first instruction that needs it does not wait for its operand. */
  const impatient = async (): Promise<string> => {
    const bytes = new Uint8Array(
      readFileSync(join(ROOT, 'test/machine-code/max-of-absolute.sm_90.O0.cubin')),
    );
    const [code] = await codesOf('', readCubin(bytes));
    const m = mutantsOf(code).find((x) => x.what === 'stall')!;
    const { word, control } = code.listed.code[m.at];
    const view = new DataView(bytes.buffer);
    const wordAt = (at: number): boolean => word.every((w, k) => view.getUint32(at + 4 * k, true) === w);
    const at = Array.from({ length: bytes.length / 4 - 4 }, (_, k) => 4 * k).find(wordAt)!;
    const changed: MutableWord = [...word];
    setControl(changed, { ...control, ...m.change });
    changed.forEach((w, k) => {
      view.setUint32(at + 4 * k, w, true);
    });
    return folder.write('impatient.cubin', bytes);
  };
  it('shows what is, and verify calls it wrong', async () => {
    const file = await impatient();
    const r = await orrery('disasm', file, '--hazards');
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/R\d+ is read before the result is there: \d+ cycles after it, and \d+ are needed/);
    const schema = JSON.parse(
      readFileSync(join(ROOT, 'schemas/output/hazards.schema.json'), 'utf8'),
    ) as object;
    const printed: unknown = JSON.parse((await orrery('disasm', file, '--hazards', '--json')).out);
    expect(new Ajv().validate(schema, printed)).toBe(true);
    const json = printed as {
      members: { functions: { hazards: { kind: string; needed: number; cycles: number }[] }[] }[];
    };
    const [hazard] = json.members[0].functions[0].hazards;
    expect(hazard.cycles).toBeLessThan(hazard.needed);
    const v = await orrery('verify', 'test/machine-code/max-of-absolute.ptx', file);
    expect(v.code).toBe(1);
    expect(v.out).toMatch(/it computes the same, but R\d+ is read before the result is there/);
  });
});
