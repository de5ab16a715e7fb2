import { type Kernel, textOf } from '../generate/kernel.ts';
import { launchOf } from '../generate/launch.ts';
import { type Launch, run } from '../run/run.ts';
import { BUDGET, buffersOf, differs, failed, type Specified, specified } from '../specified.ts';
import { type Fault, planted } from './fault.ts';
import { type TextFault, withTextFault } from './texts.ts';

/** A kernel with its specified results. */
export interface Known {
  readonly text: string;
  readonly launch: Launch;
  readonly right: Specified;
}

/** The specified results of a generated kernel. @throws Error if the interpreter cannot determine them */
export function known(kernel: Kernel): Known {
  const [text, launch] = [textOf(kernel), launchOf(kernel)];
  const right = specified(text, launch);
  if (typeof right === 'string') throw new Error(right);
  return { text, launch, right };
}

/** Whether a kernel detects a fault: it changes a specified result, or the run fails. */
export function shows(k: Known, fault: Fault): boolean {
  const opcode = fault.key.split('.')[0];
  if (!new RegExp(`\\b${opcode}\\.`).test(k.text)) return false;
  const r = run(k.text, k.launch, { seed: 1, budget: BUDGET, table: planted(fault) });
  return failed(r) !== null || differs(k.right, buffersOf(r)) !== null;
}

/**
 * Whether a kernel detects a fault in its text: the text differs in a specified result, or does not run. Tries several seeds, since a
 * missing barrier may go unnoticed.
 */
export function showsInText(k: Known, fault: TextFault): boolean {
  const text = withTextFault(k.text, fault);
  if (text === null) return false;
  return [1, 2, 3].some((seed) => {
    const r = run(text, k.launch, { seed, budget: BUDGET });
    return failed(r) !== null || differs(k.right, buffersOf(r)) !== null;
  });
}
