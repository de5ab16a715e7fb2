import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import schema from '../../schemas/output/opt.schema.json' with { type: 'json' };

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-check-prove-'));
afterAll(() => rmSync(dir, { recursive: true }));

function opt(...args: string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), 'opt', ...args], {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}
const kernel = (name: string): string => join(root, 'test', 'kernels', name, `${name}.sm_80.ptx`);

describe('opt --check prove', () => {
  it('says how much is proved, and runs nothing where all of it is', () => {
    const r = opt(kernel('saxpy'), '--emit', 'none', '--check', 'prove');
    expect([r.code, r.out]).toEqual([0, '']);
    expect(r.err).toMatch(
      /^proved: (\d+) of \1 regions that \d+ phases changed do the same for all inputs\n$/m,
    );
  });

  it('leaves the rest unproved when its time is over', () => {
    const r = opt(kernel('saxpy'), '--emit', 'none', '--check', 'prove', '--check-limit', '0.001ms');
    expect([r.code, r.err]).toEqual([
      0,
      expect.stringMatching(
        /^proved in part: 0 of [1-9].*\n {2}not proved: .*: the time of --check-limit was over$[\s\S]*compared by running it:$/m,
      ),
    ]);
  });

  it('names what is not proved, and compares that by runs', () => {
    const r = opt(kernel('bytes-shorts'), '--emit', 'none', '--check', 'prove', '--json');
    const report = JSON.parse(r.out) as {
      checks: {
        text: string;
        proof: { regions: number; proved: number; left: { phase: string; line: number }[] };
      }[];
    };
    expect(new Ajv({ strict: false }).compile(schema)(report)).toBe(true);
    const [{ text, proof }] = report.checks;
    expect(proof.left).toHaveLength(proof.regions - proof.proved);
    if (proof.left.length > 0) {
      expect(text).toContain(`not proved: ${proof.left[0].phase}, `);
      // What is not proved reads like a fault; what follows says whether it is one.
      expect(text).toMatch(/not necessarily wrong: .*\n {2}it was compared by running it:\nequal/);
      expect(text).toMatch(/\nequal/);
    }
  });

  it('compares what is written too', () => {
    const r = opt(kernel('saxpy'), '-o', join(dir, 'out.ptx'), '--check', 'prove');
    expect(r.code).toBe(0);
    expect(r.err).toMatch(/^proved: .*\nequal: 2 kernels /m);
  });

  it('refutes a wrong rule by a launch that shows it', () => {
    writeFileSync(
      join(dir, 'fifth.ptx'),
      `.version 9.0
.target sm_80
.address_size 64
.visible .entry fifth(.param .u32 x, .param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u32 %r1, [x];
  ld.param.u64 %rd1, [p];
  ld.global.u32 %r2, [%rd1];
  mad.lo.u32 %r3, %r1, 5, %r2;
  st.global.u32 [%rd1+8], %r3;
  ret;
}
`,
    );
    writeFileSync(
      join(dir, 'wrong.yaml'),
      `kind: rules
group: wrong
rules:
  - id: five-is-four
    title: a product by five is one by four
    match: IMAD $d, $a, 5, $c
    rewrite: 'IMAD $d, $a, 4, $c'
    source: a mistake
`,
    );
    const wrong = ['--rules', 'wrong.yaml', '--force-rules'];
    const shown = join(dir, 'shown.yaml');
    const r = opt(
      'fifth.ptx',
      ...wrong,
      '-q',
      '--emit',
      'none',
      '--check',
      'prove',
      '--counterexample',
      shown,
    );
    expect(r.code).toBe(1);
    expect(r.err).toContain('REFUTED: ');
    expect(r.err).toMatch(/GeneralOptimizeEarly changes what fifth gives one thread with u32 \d+, a buffer/);
    expect(r.err).toContain(`written: ${shown}, a launch that shows it`);
    expect(parse(readFileSync(shown, 'utf8'))).toMatchObject({ kernel: 'fifth' });
    // With the rule, the launch gives something else; without it, what it expects.
    expect(opt('fifth.ptx', ...wrong, '-q', '--emit', 'none', '--check', shown).code).toBe(1);
    expect(opt('fifth.ptx', '-q', '--emit', 'none', '--check', shown).code).toBe(0);
  });

  it('is refused where it means nothing', () => {
    const alone = opt(kernel('saxpy'), '--emit', 'none', '--counterexample', 'x.yaml');
    expect([alone.code, alone.err]).toEqual([1, 'error: --counterexample needs --check prove\n']);
    const piped = opt(kernel('saxpy'), '--emit', 'none', '--check', 'prove', '--counterexample', '-');
    expect([piped.code, piped.err]).toEqual([
      1,
      'error: --counterexample writes files, not standard output (-)\n',
    ]);
  });
});
