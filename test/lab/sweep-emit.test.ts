import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type IJob, Job } from 'kubernetes-models/batch/v1';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { shellWord } from '../../src/ir/quote.ts';
import { jobName } from '../../src/lab/emit/job.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { WARM } from '../support/warm.ts';
import { workflowErrors } from '../support/workflow-parser.ts';

/*
 * Expectations come from outside: the schemas published by Kubernetes and GitHub, a two-node Slurm, and a shell that runs the commands as
 * the engines would.
 */

// A name that survives only if it is quoted.
const dir = join(mkdtempSync(join(tmpdir(), 'orrery-emit-')), "it's a folder");
mkdirSync(join(dir, 'k'), { recursive: true });
afterAll(() => rmSync(join(dir, '..'), { recursive: true }));
const bin = join(ROOT, 'bin', 'orrery.js');
const shell = (line: string, env: Readonly<Record<string, string>> = {}) => {
  const r = spawnSync('bash', ['-e', '-c', line], {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const orrery = (...args: readonly string[]) => {
  const env = { ...process.env, ...WARM };
  const r = spawnSync(process.execPath, [bin, ...args], { cwd: dir, encoding: 'utf8', env });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const read = (name: string) => readFileSync(join(dir, name), 'utf8');

copyFileSync(join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_80.ptx'), join(dir, 'k', 'saxpy.sm_80.ptx'));
const experiment = 'my tries.experiment.yaml';
writeFileSync(
  join(dir, experiment),
  `kind: experiment
factors: { knobs: { GeneralOptimizationBudget: [default, 0, 3] }, switches: [GeneralOptimizeMid] }
kernels: [k/*.ptx]
`,
);
const whole = orrery('sweep', experiment, '-o', 'whole.jsonl', '--best', 'whole.yaml');
const shared = ['--command', `${shellWord(process.execPath)} ${shellWord(bin)}`, '--shards', '2'];
const parts = [1, 2].map((i) => `my tries.results.${i}-of-2.jsonl`);
const forget = () => {
  for (const f of [...parts, 'my tries.results.jsonl']) rmSync(join(dir, f), { force: true });
};

describe('words of a shell and names of jobs', () => {
  it('come out as they went in', () => {
    for (const w of ['a', "it's", 'a b', '$HOME `x` "y" \\', '*.ptx', '', '-x'])
      expect(shell(`printf %s ${shellWord(w)}`).out).toBe(w);
  });

  it('are labels of RFC 1123', () => {
    for (const w of ['My Tries_2', '--', 'é', 'x'.repeat(99), `${'y'.repeat(44)}-z`])
      expect(jobName(w)).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    expect(jobName('My Tries_2')).toBe('my-tries-2');
  });
});

describe('a sweep for other engines', { timeout: 120_000 }, () => {
  it('is an indexed Job of Kubernetes, whose containers run the shards', () => {
    forget();
    expect(whole).toMatchObject({ code: 0, err: '' });
    const r = orrery('sweep', '--emit', 'k8s', experiment, ...shared, '-j', '2', '--claim', 'tries');
    expect(r).toMatchObject({ code: 0, err: '' });
    const job = parse(r.out) as IJob;
    new Job(job).validate();
    expect(() => new Job({ ...job, spec: { ...job.spec!, completions: '3' as never } }).validate()).toThrow();
    const command = job.spec!.template.spec!.containers[0].command!;
    // The type has every name that the API knows; the schema lets others pass.
    const expected: IJob = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'my-tries' },
      spec: {
        completionMode: 'Indexed',
        completions: 2,
        parallelism: 2,
        backoffLimitPerIndex: 3,
        template: {
          spec: {
            restartPolicy: 'Never',
            containers: [
              {
                name: 'shard',
                image: 'orrery',
                workingDir: '/work',
                command,
                resources: { requests: { cpu: '2' } },
                volumeMounts: [{ name: 'work', mountPath: '/work' }],
              },
            ],
            volumes: [{ name: 'work', persistentVolumeClaim: { claimName: 'tries' } }],
          },
        },
      },
    };
    expect(job).toEqual(expected);
    for (const index of [0, 1]) {
      const words = command.map(shellWord).join(' ');
      expect(shell(words, { JOB_COMPLETION_INDEX: String(index) })).toMatchObject({ code: 0, err: '' });
    }
    expect(orrery('merge', experiment, ...parts).code).toBe(0);
    expect(read('my tries.results.jsonl')).toBe(read('whole.jsonl'));
  });

  it('is a workflow of GitHub with a matrix, whose jobs run the shards and join them', async () => {
    forget();
    const r = orrery('sweep', '--emit', 'github', experiment, ...shared, '-o', 'sweep.yml');
    expect(r).toMatchObject({ code: 0, out: '' });
    const content = read('sweep.yml');
    const errors = await workflowErrors();
    expect(errors(content)).toEqual([]);
    expect(errors(content.replace('fail-fast', 'fail-first'))).not.toEqual([]);
    type Step = { run?: string; uses?: string; with?: { path?: string } };
    const { jobs } = parse(content) as {
      jobs: Record<'shard' | 'merge', { strategy: { matrix: { shard: number[] } }; steps: Step[] }>;
    };
    const run = (steps: readonly Step[], shard: number) => {
      for (const s of steps) {
        const put = (text: string) => text.replaceAll('${{ matrix.shard }}', String(shard));
        if (s.run !== undefined && s.run !== 'npm ci')
          expect(shell(put(s.run), { GITHUB_STEP_SUMMARY: join(dir, 'summary.md') })).toMatchObject({
            code: 0,
          });
        if (s.uses?.startsWith('actions/upload-artifact') && !s.with!.path!.includes('*'))
          expect(read(put(s.with!.path!))).toMatch(/"kind":"sweep"/);
      }
    };
    expect(jobs.shard.strategy.matrix.shard).toEqual([1, 2]);
    for (const i of jobs.shard.strategy.matrix.shard) run(jobs.shard.steps, i);
    run(jobs.merge.steps, 0);
    expect(read('my tries.results.jsonl')).toBe(read('whole.jsonl'));
    expect(read('summary.md')).toMatch(/^\*\*6 arms; best by weighted/);
  });

  it('is an array of Slurm, which runs the shards on its nodes', (t) => {
    const path = `${process.env.PATH}:/usr/sbin`;
    const missing = ['sbatch', 'slurmctld', 'slurmd', 'munged'].filter(
      (c) => shell(`command -v ${c}`, { PATH: path }).code !== 0,
    );
    if (missing.length > 0)
      t.skip(`there is no ${missing.join(', ')}: apt-get install slurmctld slurmd slurm-client munge`);
    forget();
    // Short, and no folder of ours: the name of a socket has at most 107 characters.
    const cluster = mkdtempSync(join(tmpdir(), 'slurm-'));
    const script = join(ROOT, 'test', 'slurm', 'cluster.sh');
    const conf = { SLURM_CONF: join(cluster, 'slurm.conf') };
    try {
      expect(shell(`sh ${shellWord(script)} start ${cluster}`)).toMatchObject({ code: 0 });
      expect(orrery('sweep', '--emit', 'slurm', experiment, ...shared, '-o', 'job.sh').code).toBe(0);
      const r = shell('sbatch job.sh; while squeue --noheader | grep -q .; do sleep 0.2; done', conf);
      expect(r, r.err).toMatchObject({ code: 0 });
      const tasks = shell('scontrol --oneliner show job', conf).out.trim().split('\n');
      expect(tasks.map((x) => / JobState=(\w+)/.exec(x)![1])).toEqual(['COMPLETED', 'COMPLETED']);
      expect(new Set(tasks.map((x) => / NodeList=(\w+)/.exec(x)![1]))).toEqual(new Set(['node1', 'node2']));
      expect(orrery('merge', experiment, ...parts).code).toBe(0);
      expect(read('my tries.results.jsonl')).toBe(read('whole.jsonl'));
    } finally {
      shell(`sh ${shellWord(script)} stop ${cluster}`);
      rmSync(cluster, { recursive: true });
    }
  });

  it('says what cannot be written', () => {
    const emit = (...args: readonly string[]) => orrery('sweep', experiment, ...args).err;
    expect(emit('--emit', 'pbs')).toMatch(/--emit pbs is not known[\s\S]*slurm, k8s, github/);
    expect(emit('--shards', '2')).toMatch(/--shards is for --emit/);
    expect(emit('--emit', 'slurm', '--shard', '1/2')).toMatch(/--shard is of no use with --emit/);
    expect(emit('--emit', 'slurm', '--shards', '0')).toMatch(/is not a number of shards/);
    expect(emit('--emit', 'slurm', '--shards', '7')).toMatch(/more than the 6 cells/);
    expect(emit('--emit', 'slurm', '--image', 'x')).toMatch(/are for --emit k8s/);
    const elsewhere = join(ROOT, 'test', 'examples', 'switches.experiment.yaml');
    expect(orrery('sweep', '--emit', 'github', elsewhere).err).toMatch(/is not in this folder/);
  });
});
