import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type PipelineOptions, runPipeline } from '../../src/engine/pipeline.ts';
import { phaseIndex, planFromFiles, readPtx } from '../../src/index.ts';
import { parseProgram, printProgram } from '../../src/ir/text.ts';
import { shipped } from '../support/specs.ts';

/*
 * A slice of the phase index array (seed 004: the dispatch loop takes a part of the array and its length). Two slices, with the program
 * written as text in between, are equivalent to the whole.
 */
const root = fileURLToPath(new URL('../kernels/', import.meta.url));
const plan = await planFromFiles({ sm: 'sm_80', level: 3 }, shipped);
const read = (name: string) =>
  readPtx(readFileSync(`${root}${name}/${name}.sm_80.ptx`, 'utf8'), plan, name).program;
const again = (text: string) => parseProgram(text, plan.isa, 'mid.ori').program;

describe('slices of the phase index array', () => {
  it.each(['loops', 'nested-conditions', 'switch-dense', 'device-functions'])(
    'a run of %s that is cut behind any phase and gone on with is the whole run',
    (name) => {
      const { records, last } = runPipeline(read(name), plan);
      const whole = printProgram(last);
      const cuts = records.filter((r, i) => i + 1 < records.length && (r.blocksChanged > 0 || i % 12 === 0));
      expect(cuts.length).toBeGreaterThan(15);
      const texts = new Map(cuts.map((r) => [r, printProgram(r.program)]));
      // Each goes on past the next cut to the one behind it, so that all together are the whole; some go on to the end.
      cuts.forEach((r, k) => {
        const next = plan.phases[r.phase.position + 1].id;
        const to = k % 8 === 0 ? undefined : cuts[k + 2];
        const rest = runPipeline(again(texts.get(r)!), plan, {
          startAt: next,
          verify: true,
          ...(to === undefined ? {} : { until: to.phase.id }),
        });
        const behind = to === undefined ? plan.phases.length - 1 : to.phase.position;
        expect([next, rest.records.length]).toEqual([next, behind - r.phase.position]);
        expect([next, printProgram(rest.last)]).toEqual([next, to === undefined ? whole : texts.get(to)]);
      });
    },
  );

  it('one phase in the middle does what it does there, and leaves one record', () => {
    const { records } = runPipeline(read('nested-conditions'), plan);
    const at = records.findIndex((r) => r.phase.id === 'OriDoPredication');
    const before = again(printProgram(records[at - 1].program));
    const only = runPipeline(before, plan, { startAt: 'OriDoPredication', until: 'OriDoPredication' });
    expect(only.records.map((r) => [r.phase.id, r.outcome, r.progress])).toEqual([
      ['OriDoPredication', 'ran', records[at].progress],
    ]);
    expect(printProgram(only.last)).toBe(printProgram(records[at].program));
  });

  it('a name is looked up in any case, and one that is not found stands for phase 158', () => {
    for (const p of plan.phases) {
      // Of a slot and its worker the slot has the plain name; named workers have no number in the seeds.
      expect(phaseIndex(plan, p.id.toUpperCase())).toBe(p.index ?? 158);
      expect(phaseIndex(plan, p.id.toLowerCase())).toBe(p.index ?? 158);
    }
    expect(phaseIndex(plan, 'gvncse')).toBe(49);
    for (const name of ['', 'GvnCsee', 'GvnCse ', 'NOP']) expect(phaseIndex(plan, name)).toBe(158);

    const program = read('nested-conditions');
    const run = (o: PipelineOptions) => runPipeline(program, plan, o).records.map((r) => r.phase.id);
    const some = run({ until: 'oribranchopt' });
    expect(some.at(-1)).toBe('OriBranchOpt');
    const nop = plan.phases.findIndex((p) => p.index === 158);
    expect(run({ until: 'GvnCsee' })).toHaveLength(nop + 1);
    const made = runPipeline(program, plan).last;
    expect(runPipeline(made, plan, { startAt: 'GvnCsee', until: 'GvnCsee' }).records).toMatchObject([
      { phase: { id: 'NOP' }, outcome: 'skipped' },
    ]);
  });

  it('a program that lacks what a phase needs is refused, and what would have provided it is named', () => {
    const program = read('loops');
    const said = (startAt: string): string => {
      try {
        runPipeline(program, plan, { startAt });
        return '';
      } catch (e) {
        const [d] = (e as { diagnostics: { message: string; notes: readonly string[] }[] }).diagnostics;
        return [d.message, ...d.notes].join('; ');
      }
    };
    expect(said('OriCheckInitialProgram')).toBe('');
    expect(said('GvnCse')).toBe(
      "the program lacks the IR property 'control-last', which phase 'GvnCse' needs; SetControlFlowOpLastInBB (position 6) would have provided it",
    );
    const made = runPipeline(program, plan, { until: 'PerformPGO' }).last;
    const fault = (): unknown => runPipeline(made, plan, { startAt: 'GvnCse' });
    expect(fault).toThrow(/lacks the IR property 'ssa', which phase 'GvnCse' needs/);
  });
});
