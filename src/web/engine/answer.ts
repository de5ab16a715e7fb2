import type { Limits } from '../../analysis/registers/occupancy.ts';
import { openSpecs } from '../../core.ts';
import type { Ask, Message, Questions, Reply } from '../protocol.ts';
import { aboutOf } from './about.ts';
import { compareSources, equalRows } from './compare.ts';
import { machineOf } from './machine.ts';
import { liveRanges } from './registers.ts';
import { faultOf, type Session } from './session.ts';
import { simulateSource } from './simulate.ts';

type Answers = { readonly [K in Ask]: (s: Session, ask: Questions[K]['ask']) => Questions[K]['answer'] };

const ANSWERS: Answers = {
  about: (s) => aboutOf(openSpecs(s.data.shipped), s.data),
  run: (s, source) => s.run(source),
  output: (s, source) => s.output(source),
  flow: (s, fn) => s.flow(fn),
  registers: (s, { source, fn }) =>
    liveRanges(s.recorder.fns[fn], (s.ran(source).plan.backend.facts as { readonly limits: Limits }).limits),
  machine: machineOf,
  checkSpec: (s, { file, text }) => s.checkSpec(file, text),
  tryMove: (s, { source, ...move }) => s.tryMove(source, move),
  edited: (s, { source, edit }) => s.edited(source, edit),
  places: (s, { source, phase }) => s.places(source, phase),
  compare: (s, { a, b }) => compareSources(s, a, b),
  simulate: simulateSource,
  equal: equalRows,
};

/** Answers one request. Any error becomes part of the reply. */
export function answer<K extends Ask>(session: Session, { id, kind, ask }: Message<K>): Reply<K> {
  try {
    return { id, answer: ANSWERS[kind](session, ask) };
  } catch (e) {
    return { id, faults: faultOf(e) };
  }
}
