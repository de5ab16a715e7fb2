import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeLines } from '../../src/cli/machine/disasm-text.ts';
import { BinaryError } from '../../src/cubin/bytes.ts';
import { SHT } from '../../src/cubin/codes.ts';
import { membersOf } from '../../src/cubin/containers.ts';
import type { Elf } from '../../src/cubin/elf.ts';
import { MOST_MEMBERS } from '../../src/cubin/fatbin.ts';
import { functionsOf, symbolsOf, targetName } from '../../src/cubin/functions.ts';
import { attributeText } from '../../src/cubin/info.ts';
import type { LineOp } from '../../src/cubin/lines.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { placeAt, ptxLines, type SourcePlace, sourceLines } from '../../src/cubin/source-lines.ts';
import { writeElf } from '../../src/cubin/write.ts';
import { unpackZstd } from '../../src/cubin/zstd.ts';
import { listCode } from '../../src/machine/listing.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { allRuns, runs } from '../support/size.ts';

const folder = join(ROOT, 'test', 'cubins');
const bytesOf = (name: string): Uint8Array => new Uint8Array(readFileSync(join(folder, name)));
const CUBINS = readdirSync(folder).filter((f) => f.endsWith('.cubin'));
const targetOf = (file: string): string => file.split('.')[1];
const cubins = new Map(CUBINS.map((f) => [targetOf(f), readCubin(bytesOf(f))]));

/** A cubin whose line table has other operations between those that begin and end a function's sequence. */
function withLines(ops: readonly LineOp[]): Elf {
  const { sections, ...rest } = cubins.get('sm_90a')!;
  const changed = sections.map((s) => {
    if (s.name !== '.debug_line' || s.content.kind !== 'lines') return s;
    const [unit] = s.content.units;
    const begin = unit.ops.find((o) => o.addressAt !== undefined)!;
    const end = { opcode: 0, extended: Uint8Array.of(1) };
    return { ...s, content: { ...s.content, units: [{ ...unit, ops: [begin, ...ops, end] }] } };
  });
  return { ...rest, sections: changed };
}

/** Whatever the writer cannot derive. */
const exceptions = (e: Elf): string[] => [
  ...(['segments', 'sectionTableAt', 'segmentTableAt', 'strays', 'size'] as const).filter(
    (k) => e[k] !== undefined,
  ),
  ...e.sections.flatMap((s) => (s.offset !== undefined || s.nameAt !== undefined ? [s.name] : [])),
];

describe('cubins', () => {
  test('of which the lines were inlined in a circle cost memory in proportion', () => {
    const rows = 5000;
    const copies = Array.from({ length: rows }, () => ({ opcode: 1, operands: [] }));
    // All were inlined at the first row, and it at itself.
    const elf = readCubin(
      writeElf(withLines([{ opcode: 0, extended: Uint8Array.of(0x90, 1, 0) }, ...copies])),
    );
    const places = new Set<SourcePlace>();
    let deepest = 0;
    for (const list of sourceLines(elf, 'source').values())
      for (const { place } of list) {
        let depth = 0;
        for (let p = place ?? undefined; p !== undefined; p = p.inlined?.at) {
          places.add(p);
          depth++;
        }
        deepest = Math.max(deepest, depth);
      }
    expect(places.size).toBeGreaterThan(rows / 2);
    expect(places.size).toBeLessThan(2 * rows);
    expect(deepest).toBeLessThan(200);
  });

  test('of which the listing is too long are not listed', async () => {
    const elf = cubins.get('sm_90a')!;
    const section = functionsOf(elf)[0].section;
    // Three hundred names of a slow path, each of a megabyte, which the file holds once.
    const name = 'x'.repeat(2 ** 20);
    const label = { name, bind: 1, type: 2, other: 0, section, value: 0, size: 0 };
    const sections = elf.sections.map((s) =>
      s.content.kind === 'symbols'
        ? {
            ...s,
            content: { ...s.content, symbols: [...s.content.symbols, ...new Array(300).fill(label)] },
          }
        : s,
    );
    const machine = (await loadMachine('sm_90a'))!;
    const listed = listCode({ ...elf, sections }, machine);
    expect(() => [...codeLines(listed, { machine, vendor: false }, null)]).toThrow(
      /^its listing has more than/,
    );
  });

  test('of too many parts are not read', () => {
    const copy = { opcode: 1, operands: [] };
    const bytes = writeElf(withLines(Array.from({ length: 2 ** 22 }, () => copy)));
    expect(() => readCubin(bytes)).toThrow('it has more than the 4194304 parts that are read');
  }, 20_000);

  test('are written back byte for byte, from parts that are derived', () => {
    expect([...cubins.keys()].sort()).toEqual(['sm_120', 'sm_75', 'sm_80', 'sm_90a']);
    for (const f of CUBINS) {
      const elf = cubins.get(targetOf(f))!;
      expect(exceptions(elf), f).toEqual([]);
      expect(Buffer.compare(writeElf(elf), bytesOf(f)), f).toBe(0);
      const kinds = new Set(elf.sections.map((s) => s.content.kind));
      for (const kind of [
        'strings',
        'symbols',
        'attributes',
        'relocations',
        'notes',
        'lines',
        'calls',
        'code',
      ])
        expect(kinds, `${f}: ${kind}`).toContain(kind);
    }
  });

  // Registers and bytes are those that `cuobjdump -res-usage` prints, and the layout of parameters is that of C.
  test.each([...cubins])('%s: functions', (sm, elf) => {
    expect(targetName(elf)).toBe(sm);
    const functions = new Map(functionsOf(elf).map((f) => [f.name, f]));
    expect([...functions.keys()].sort()).toEqual(['reverse', 'scale']);
    const [scale, reverse] = [functions.get('scale')!, functions.get('reverse')!];
    expect([scale.registers, reverse.registers]).toEqual([8, 10]);
    expect([scale.entry, reverse.entry]).toEqual([true, true]);
    expect([scale.frameBytes, scale.localBytes, scale.barriers, reverse.barriers]).toEqual([0, 0, 0, 1]);
    expect(scale.parameters.map((p) => [p.offset, p.bytes])).toEqual([
      [0, 4],
      [4, 4],
      [8, 8],
    ]);
    expect(reverse.parameters.map((p) => [p.offset, p.bytes])).toEqual([
      [0, 2],
      [8, 8],
      [16, 4],
    ]);
    const base = { sm_75: 0x160, sm_80: 0x160, sm_90a: 0x210, sm_120: 0x380 }[sm]!;
    expect([scale.parameterBase, scale.parameterBytes]).toEqual([base, 16]);
    expect(reverse.constants.map((c) => [c.bank, c.size])).toEqual([
      [0, base + 20],
      [3, 16],
    ]);
    // From sm_90 on a kilobyte is the driver's.
    expect(reverse.sharedBytes).toBe(sm === 'sm_75' || sm === 'sm_80' ? 256 : 1280);
    expect(scale.words.length % 4).toBe(0);
    const names = symbolsOf(elf);
    expect(scale.attributes.map((a) => attributeText(a, (k) => names[k].name))).toContain(
      'KPARAM_INFO 2: offset 0x8, 8 bytes',
    );
  });

  test.each([...cubins])('%s: lines of the source and of the PTX', (_sm, elf) => {
    const [scale] = functionsOf(elf).filter((f) => f.name === 'scale');
    const source = sourceLines(elf, 'source').get(scale.section)!;
    expect(placeAt(source, 0)).toEqual({ file: 'scale.cu', line: 6 });
    const inlined = source.find((e) => e.place?.inlined !== undefined)!.place!;
    expect(inlined).toMatchObject({
      file: 'scale.cu',
      line: 4,
      inlined: { at: { file: 'scale.cu', line: 8 } },
    });
    expect(inlined.inlined!.name).toMatch(/scaled/);
    const texts = ptxLines(elf);
    const shown = sourceLines(elf, 'ptx')
      .get(scale.section)!
      .map((e) => texts[(e.place?.line ?? 0) - 1] ?? '');
    expect(shown.some((l) => /^mul\.f(tz\.)?f?32|^mul\.f32/.test(l.trim()))).toBe(true);
    expect(shown.some((l) => l.trim().startsWith('st.global'))).toBe(true);
  });

  test('what is changed is written where it then belongs', () => {
    for (const [sm, elf] of cubins) {
      // A function grows by eight instructions, and gets a longer name.
      const renamed = (s: string): string => s.replace(/\bscale$/, 'scaleEachValue');
      const grown: Elf = {
        ...elf,
        sections: elf.sections.map((s) => {
          const { content: c } = s;
          const name = renamed(s.name);
          if (c.kind === 'strings') return { ...s, content: { ...c, strings: c.strings.map(renamed) } };
          if (c.kind === 'symbols' && s.type === SHT.symtab)
            return {
              ...s,
              content: { ...c, symbols: c.symbols.map((y) => ({ ...y, name: renamed(y.name) })) },
            };
          if (c.kind !== 'code' || s.name !== '.text.scale') return { ...s, name };
          return {
            ...s,
            name,
            content: { ...c, words: new Uint32Array([...c.words, ...c.words.slice(0, 32)]) },
          };
        }),
      };
      const again = readCubin(writeElf(grown));
      expect(exceptions(again), sm).toEqual([]);
      const [before, after] = [functionsOf(elf), functionsOf(again)].map(
        (l) => l.find((f) => f.name.startsWith('scale'))!,
      );
      expect(after.name).toBe('scaleEachValue');
      expect(after.words.length).toBe(before.words.length + 32);
      expect(after.parameters).toEqual(before.parameters);
    }
  });
});

describe('containers', () => {
  /** An object of the host with sections of fat binaries. */
  const host = (fatbins: readonly Uint8Array[]): Uint8Array => {
    const names = ['.shstrtab', '.nv_fatbin'];
    const section = { flags: 0, address: 0, link: 0, info: 0, align: 8, entrySize: 0 };
    return writeElf({
      header: {
        ident: Uint8Array.of(2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        type: 1,
        machine: 62,
        version: 1,
        entry: 0,
        flags: 0,
      },
      sections: [
        { ...section, name: '', type: SHT.null, align: 0, content: { kind: 'none' } },
        { ...section, name: names[0], type: SHT.strtab, content: { kind: 'strings', strings: names } },
        ...fatbins.map((bytes) => ({
          ...section,
          name: names[1],
          type: SHT.progbits,
          content: { kind: 'bytes' as const, bytes },
        })),
      ],
      names: 1,
      segments: [],
    });
  };

  test('members of fat binaries are unpacked', () => {
    const small = membersOf(bytesOf('scale.zstd.fatbin'));
    expect(small.map((m) => [m.kind, m.target, m.packing])).toEqual([
      ['cubin', 80, 'zstd'],
      ['ptx', 80, 'zstd'],
      ['cubin', 90, 'zstd'],
    ]);
    for (const m of small.filter((c) => c.kind === 'cubin')) {
      const elf = readCubin(m.content());
      expect(targetName(elf)).toBe(`sm_${m.target}`);
      expect(Buffer.compare(writeElf(elf), m.content())).toBe(0);
      expect(functionsOf(elf).map((f) => f.name)).toEqual(['reverse', 'scale']);
    }
    const [lz4] = membersOf(bytesOf('scale.lz4.fatbin'));
    expect(lz4.packing).toBe('lz4');
    const text = Buffer.from(lz4.content()).toString();
    expect(text).toContain('.visible .entry scale(');
    expect(Buffer.from(small[1].content()).toString()).toBe(text);
  });

  test('fat binaries in objects of the host are found', () => {
    const fatbin = bytesOf('scale.zstd.fatbin');
    const twice = new Uint8Array(2 * fatbin.length + 8);
    twice.set(fatbin);
    twice.set(fatbin, fatbin.length + 8);
    const members = membersOf(host([twice]));
    expect(members.length).toBe(6);
    expect(members.every((m) => m.where.startsWith('.nv_fatbin at 0x'))).toBe(true);
    expect(functionsOf(readCubin(members[5].content())).length).toBe(2);
    expect(() => membersOf(host([]))).toThrow(/without device code/);
  });

  test('one of more members than any has is refused, also where its sections are many', () => {
    const most = new Uint8Array(16 + 64 * MOST_MEMBERS);
    const view = new DataView(most.buffer);
    view.setUint32(0, 0xba55ed50, true);
    view.setUint16(6, 16, true);
    view.setUint32(8, most.length - 16, true);
    // Members without content, which so claim to have no bytes at all.
    for (let at = 16; at < most.length; at += 64) view.setUint32(at + 4, 64, true);
    expect(membersOf(most)).toHaveLength(MOST_MEMBERS);
    const more = new Uint8Array(most.length + bytesOf('scale.zstd.fatbin').length);
    more.set(most);
    more.set(bytesOf('scale.zstd.fatbin'), most.length);
    expect(() => membersOf(more)).toThrow(`more than the ${MOST_MEMBERS} members that are read`);
    expect(() => membersOf(host([most, bytesOf('scale.zstd.fatbin')]))).toThrow(
      `more than the ${MOST_MEMBERS} members that are read`,
    );
  });

  test('a block of zstd that claims another size is refused', () => {
    const [m] = membersOf(bytesOf('scale.zstd.fatbin'));
    const bytes = bytesOf('scale.zstd.fatbin');
    const from = bytes.findIndex(
      (_, k) => bytes[k] === 0x28 && bytes[k + 1] === 0xb5 && bytes[k + 2] === 0x2f,
    );
    const payload = bytes.subarray(from, from + 4096);
    expect(() => unpackZstd(payload, m.size - 1)).toThrow(BinaryError);
  });
});

/** Numbers that look random and are the same each time. */
function random(seed: number): (below: number) => number {
  let s = seed >>> 0;
  return (below) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor((s / 2 ** 32) * below);
  };
}

describe('damaged files', () => {
  /** Everything that `orrery disasm` may ask of a file, but for instructions. */
  const readAll = (bytes: Uint8Array): void => {
    for (const m of membersOf(bytes)) {
      if (m.kind !== 'cubin') {
        m.content();
        continue;
      }
      const elf = readCubin(m.content());
      writeElf(elf);
      functionsOf(elf);
      for (const table of ['source', 'ptx'] as const) sourceLines(elf, table);
      ptxLines(elf);
    }
  };
  const attempt = (bytes: Uint8Array): string => {
    try {
      readAll(bytes);
      return 'read';
    } catch (e) {
      if (!(e instanceof BinaryError)) throw e;
      return 'refused';
    }
  };

  test.each(readdirSync(folder).filter((f) => /cubin|fatbin/.test(f)))('%s', (file) => {
    const whole = bytesOf(file);
    const next = random(file.length);
    const outcomes = new Map<string, number>();
    for (let k = 0; k < runs(80); k++) {
      const bytes = whole.slice(0, k % 4 === 0 ? next(whole.length) : whole.length);
      if (k % 4 !== 0)
        for (let n = 0; n <= k % 3; n++) {
          // Headers and tables are where damage hurts most: half of it goes there.
          const at = k % 2 === 0 ? next(bytes.length) : bytes.length - 1 - next(Math.min(bytes.length, 3000));
          bytes[n === 2 ? next(64) : at] = k % 5 === 0 ? 0xff : next(256);
        }
      const what = attempt(bytes);
      outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
    }
    expect(outcomes.get('refused')).toBeGreaterThan(runs(80) / 5);
  });

  test('files of other kinds are named', () => {
    const text = (s: string): Uint8Array => new TextEncoder().encode(s);
    expect(() => readAll(text('.version 8.0'))).toThrow(/neither a cubin, nor a fat binary/);
    expect(() => readAll(text(''))).toThrow(BinaryError);
    expect(() => readAll(bytesOf('scale.sm_80.cubin').slice(0, 5000))).toThrow(/cut off or damaged/);
  });
});

describe('cubins of ptxas', () => {
  const present = hasPtxas('cubin');
  const kernels = readdirSync(join(ROOT, 'test', 'kernels'), { withFileTypes: true })
    .filter((d) => d.isDirectory())
    .map((d) => d.name);
  const cases = [
    ['sm_75', 'sm_75', '-O3'],
    ['sm_80', 'sm_80', '-O0'],
    ['sm_80', 'sm_89', '-O3'],
    ['sm_90', 'sm_90', '-O3'],
    ['sm_90', 'sm_100', '-O3'],
    ['sm_90', 'sm_120', '-O0'],
  ] as const;
  // Each kernel for one target; a larger size turns to the next ones.
  const chosen = Array.from({ length: allRuns(6) }, (_, k) => ({
    name: kernels[(k * 13) % kernels.length],
    how: cases[(k + Math.floor(k / kernels.length)) % cases.length],
  }));

  test.skipIf(!present).each(chosen)('$name for $how is written back byte for byte', ({ name, how }) => {
    const [from, sm, level] = how;
    const file = join(ROOT, 'test', 'kernels', name, `${name}.${from}.ptx`);
    if (!existsSync(file)) return;
    const { cubin, errors } = ptxas(readFileSync(file, 'utf8'), sm, level);
    expect(errors).toBe('');
    const elf = readCubin(new Uint8Array(cubin!));
    expect(exceptions(elf)).toEqual([]);
    expect(Buffer.compare(writeElf(elf), cubin!)).toBe(0);
  });
});

describe('what a fat binary claims to unpack to', () => {
  const ZSTD = 0x8000;
  /** A fat binary with members of no content, each of which claims a size. */
  function claiming(sizes: readonly number[]): Uint8Array {
    const bytes = new Uint8Array(16 + 64 * sizes.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, 0xba55ed50, true);
    view.setUint16(4, 1, true);
    view.setUint16(6, 16, true);
    view.setBigUint64(8, BigInt(64 * sizes.length), true);
    sizes.forEach((size, k) => {
      const at = 16 + 64 * k;
      view.setUint16(at, 2, true);
      view.setUint32(at + 4, 64, true);
      view.setUint32(at + 28, 80, true);
      view.setBigUint64(at + 40, BigInt(ZSTD), true);
      view.setBigUint64(at + 56, BigInt(size), true);
    });
    return bytes;
  }
  test('is within the size of a file for each member, and has a limit for all together', () => {
    const [most, together] = [2 ** 28, 2 ** 30];
    const [large] = membersOf(claiming([most + 1]));
    expect(() => large.content()).toThrow('claims to have 0x10000001 bytes');
    expect(membersOf(claiming(Array(4).fill(most)))).toHaveLength(4);
    expect(() => membersOf(claiming([...Array(4).fill(most), 1]))).toThrow(
      `claim to have 0x${(together + 1).toString(16)} bytes together`,
    );
  });
});
