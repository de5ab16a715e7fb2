import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { beginCommand } from '../../src/cli/command-state.ts';
import { Progress } from '../../src/cli/terminal/progress.ts';
import { table } from '../../src/cli/terminal/table.ts';
import { captured } from '../../src/cli/terminal/ui.ts';

describe('progress', () => {
  const { isTTY, columns } = process.stderr;
  let written: string[] = [];
  beforeEach(() => {
    written = [];
    vi.useFakeTimers({ now: 1_000_000 });
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    Object.assign(process.stderr, { isTTY: true, columns: 20 });
  });
  afterEach(() => {
    Object.assign(process.stderr, { isTTY, columns });
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
  const shown = () => written.map((t) => t.replace('\r\u001b[K', ''));

  it('leaves the last column of the terminal free, and takes 80 for one that says 0', () => {
    new Progress().update('x'.repeat(30));
    process.stderr.columns = 0;
    new Progress().update('ends here');
    expect(shown()).toEqual([`${'x'.repeat(18)}…`, 'ends here']);
  });

  it('shows what goes on in a step beside the progress of the whole', () => {
    process.stderr.columns = 80;
    const p = new Progress();
    p.of(1, 2, 'saxpy.ptx');
    vi.advanceTimersByTime(200);
    p.detail('sizes 4: saxpy');
    expect(shown()).toEqual([
      '[==========          ] 1 of 2, 0 s left: saxpy.ptx',
      '[==========          ] 1 of 2, 0 s left: sizes 4: saxpy',
    ]);
    p.update('arm 3');
    p.detail('sizes 4: saxpy');
    vi.advanceTimersByTime(200);
    expect(shown().at(-1)).toBe('arm 3: sizes 4: saxpy');
  });

  it('shows what came too soon if nothing follows, since that is what takes long', () => {
    const p = new Progress();
    for (const text of ['quick', 'quicker', 'slow']) p.update(text);
    expect(shown()).toEqual(['quick']);
    vi.advanceTimersByTime(200);
    expect(shown()).toEqual(['quick', 'slow']);
    p.update('next');
    p.update('never shown');
    p.done();
    vi.advanceTimersByTime(200);
    expect(shown()).toEqual(['quick', 'slow', 'next', '']);
  });
});

describe('progress in a log', () => {
  it('is reported after 2.5 seconds and then ever less often, by one clock for all parts of a command', () => {
    const written: string[] = [];
    const { isTTY } = process.stderr;
    vi.stubEnv('ORRERY_PROGRESS', '');
    vi.useFakeTimers({ now: 1_000_000 });
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    Object.assign(process.stderr, { isTTY: false });
    beginCommand();
    const whole = new Progress();
    whole.of(0, 2, 'first');
    vi.advanceTimersByTime(2_400);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(600);
    const part = new Progress();
    part.update('proving');
    vi.advanceTimersByTime(198_000);
    part.done();
    whole.of(1, 2, 'second');
    whole.done();
    vi.advanceTimersByTime(100_000);
    expect(written).toEqual([
      '2.50 s: 0 of 2: first\n',
      ...['7.50 s', '15.00 s', '30.00 s', '60.00 s', '120.00 s', '180.00 s'].map((t) => `${t}: proving\n`),
    ]);
    Object.assign(process.stderr, { isTTY });
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
});

describe('a table', () => {
  const rows = [
    ['kernel', 'registers', 'spill stores [B]', 'code [B]', '', 'loops'],
    ['saxpy', '12 -> 12', '0 -> 0', '512 -> 512', '', '0 -> 0'],
    ['matmul', '40 -> 38', '0 -> 0', '2,944 -> 2,816', '', ''],
  ];

  it('has below it what does not fit, and no empty column', () => {
    expect(table(rows, 'lrrrlr', 45).split('\n')).toEqual([
      'kernel  registers  spill stores [B]',
      'saxpy    12 -> 12            0 -> 0',
      'matmul   40 -> 38            0 -> 0',
      '',
      'kernel        code [B]   loops',
      'saxpy       512 -> 512  0 -> 0',
      'matmul  2,944 -> 2,816',
    ]);
  });

  it('has a name that does not fit above its row, uncut, and the other columns in line', () => {
    const name = '_ZN4mpqs6matrix15char_col_kernelEPKNS_7uint512EPKj';
    expect(table([rows[0], [name, '1 -> 2', '0 -> 4'], rows[1]], 'lrr', 50).split('\n')).toEqual([
      `kernel${' '.repeat(15)}  registers  spill stores [B]`,
      name,
      `${' '.repeat(21)}     1 -> 2            0 -> 4`,
      `saxpy${' '.repeat(16)}   12 -> 12            0 -> 0`,
    ]);
  });

  it('is one where it fits, or where there is no terminal', () => {
    expect(table(rows, 'lrrrlr', Number.POSITIVE_INFINITY).split('\n')).toHaveLength(3);
  });
});

describe('what the system refuses', () => {
  const failing = (more: object) =>
    captured(async () => {
      throw Object.assign(new Error('x\n::error::y'), { syscall: 'write', ...more });
    });

  it('is one line, and no mistake of ours, where a disk is full', async () => {
    const r = await failing({ code: 'ENOSPC' });
    expect([r.code, r.err]).toEqual([
      1,
      expect.stringMatching(/^error: a temporary file cannot be written: the disk is full; TMPDIR .*\n$/),
    ]);
  });

  it('is one line, whatever the path is called, and so is a fault', async () => {
    const r = await failing({ code: 'EACCES', path: 'a\n::error::b' });
    expect(r.err).toBe('error: cannot open a\\n::error::b: permission denied\n');
    vi.stubEnv('ORRERY_REPRO', '/dev/null/none');
    expect((await failing({})).err).toMatch(/^error: internal fault: x\\n::error::y\n {2}This/);
    vi.unstubAllEnvs();
  });
});
