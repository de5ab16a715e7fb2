import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import {
  type Contribution,
  contributions,
  reasonsOf,
  switchable,
  tableOf,
} from '../../src/tools/bench-contribution.ts';
import { shipped } from '../support/specs.ts';

const page = readFileSync(join(ROOT, 'src/passes/CONTRIBUTION.md'), 'utf8');

describe('the page on what each phase contributes', () => {
  const rows = [...page.matchAll(/^\| ([\w +]+) \| \d+ \| \d+ \| (\d+) \|/gm)].map((m) => ({
    name: m[1],
    better: Number(m[2]),
  }));
  const lines = [...page.matchAll(/^- (\w+): (.*)$/gm)].map((m) => ({ phase: m[1], text: m[2] }));

  it('names every phase that runs something and can be switched off, and no other: npm run contribution', async () => {
    const phases = [...(await switchable(shipped)).keys()];
    const named = [...rows.map((r) => r.name), ...lines.map((l) => l.phase)];
    expect([...new Set(named)].sort()).toEqual(phases.sort());
  });
  it('says of each phase that makes no kernel better why, as its row does', () => {
    const reasons = reasonsOf(shipped);
    for (const { phase, text } of lines) {
      const others = /; together with ([\w, ]+) it makes (\d+) better$/.exec(text);
      const reason = reasons.get(phase);
      if (others === null) expect([phase, text.endsWith(`: ${reason}`)]).toEqual([phase, true]);
      else {
        const family = rows.find(
          ({ name }) => name.split(' + ').includes(phase) && name.includes(others[1].split(', ')[0]),
        );
        expect([phase, family?.better]).toEqual([phase, Number(others[2])]);
      }
    }
    const alone = lines.filter(({ text }) => !text.includes('; together with '));
    expect(alone.map(({ phase }) => phase).sort()).toEqual([...reasons.keys()].sort());
  });
  it('says of a phase that makes no kernel better that it does not pay', () => {
    const kernel = (without: number | null, registers = 8): Contribution => ({
      kernel: 'k',
      with: { instructions: 99, 'ptxas.registers': registers },
      without: without === null ? null : { instructions: without, 'ptxas.registers': 8 },
    });
    const table = tableOf(
      new Map([
        ['Gains', { inPlace: 3, changed: [kernel(199), kernel(99)] }],
        ['Loses', { inPlace: 2, changed: [kernel(49), kernel(99, 17)] }],
        ['Needed', { inPlace: 1, changed: [kernel(null)] }],
        ['Shared', { inPlace: 4, changed: [] }],
        ['Idle', { inPlace: 0, changed: [] }],
        ['Shared + Other', { inPlace: 4, changed: [kernel(199)] }],
        ['Idle + Loses', { inPlace: 2, changed: [kernel(49)] }],
      ]),
      new Map([['Idle', 'it only checks']]),
    );
    expect(table.split('\n').slice(2)).toEqual([
      '| Gains | 3 | 2 | 1 | 0.707 |  |  |  |  | 1.000 |  |',
      '| Loses | 2 | 2 | 0 | 1.414 |  |  |  |  | 1.414 | k (instructions 2.000) |',
      '| Needed | 1 | 1 | 1 |  |  |  |  |  |  |  |',
      '',
      '## Phases that do the same work',
      '',
      '| phases | in place | changed | better | instructions | executed | cycles | pressure | ptxas code | ptxas registers | worst |',
      '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|',
      '| Shared + Other | 4 | 1 | 1 | 0.500 |  |  |  |  | 1.000 |  |',
      '| Idle + Loses | 2 | 1 | 0 | 2.000 |  |  |  |  | 1.000 | k (instructions 2.000) |',
      '',
      '## Phases that pay on no test kernel',
      '',
      '- Loses: changes 2 and makes none better',
      '- Shared: changes 4 functions where it stands; without it later phases do the same; together with Other it makes 1 better',
      '- Idle: changes none: it only checks',
    ]);
  });
  it('compares kernels with and without one phase', async () => {
    const only = ['OriDoPredication', 'OriLoopFusion'];
    const found = await contributions(['test/kernels/early-return/*.sm_80.ptx'], false, only);
    expect([...found.keys()].sort()).toEqual(only.sort());
    expect(found.get('OriLoopFusion')).toEqual({ inPlace: 0, changed: [] });
    const { inPlace, changed } = found.get('OriDoPredication')!;
    expect(inPlace).toBe(2);
    const [first] = changed;
    expect(first.kernel).toBe('early-return: earlyReturn');
    expect(first.with['warp-instructions']).toBeLessThan(first.without!['warp-instructions']);
  });
});
