import type { Request } from '../recording.ts';

/** A short story: a kernel of the gallery, opened where something can be seen. */
export interface Story {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Name of the kernel in the gallery. */
  readonly kernel: string;
  readonly view: 'code' | 'levels' | 'phases' | 'film' | 'graph' | 'registers' | 'compare';
  /** What of the plan differs from the usual. */
  readonly request?: Partial<Request>;
  /** Id of the selected phase. */
  readonly phase?: string;
  /** The details that are shown. */
  readonly details?: 'rules' | 'remarks' | 'knobs';
  /** The function, if it is not the first. */
  readonly fn?: string;
  /** An instruction of the result that is picked: the beginning of its text without a guard, and a register in it. */
  readonly pick?: { readonly text: string; readonly register: string };
}

export const STORIES: readonly Story[] = [
  {
    id: 'silicon',
    title: 'From CUDA to machine code',
    text: 'Move the pointer over a line: whatever comes from it is lit in CUDA, PTX, Ori and machine code. One colour is one line of the source.',
    kernel: 'saxpy',
    view: 'levels',
    pick: { text: 'FFMA', register: '' },
  },
  {
    id: 'switch',
    title: 'A switch becomes a table',
    text: 'A chain of comparisons asks for the same value again and again. DoSwitchOpt turns it into one jump through a table: left before, right after.',
    kernel: 'switch-dense',
    view: 'graph',
    phase: 'DoSwitchOptSecond',
  },
  {
    id: 'guards',
    title: 'Branches become guards',
    text: 'Threads of a warp that part at a branch run both sides in turn. OriDoPredication runs short sides under a guard instead, and their blocks are gone.',
    kernel: 'nested-conditions',
    view: 'graph',
    phase: 'OriDoPredication',
  },
  {
    id: 'rule',
    title: 'A rule with its proof',
    text: 'The remainder of a division whose quotient is there already costs a product and a difference. Click a rule below: its text, where it fired, and what a solver says about it.',
    kernel: 'divmod',
    view: 'code',
    phase: 'OriStrengthReduce',
    details: 'rules',
  },
  {
    id: 'value',
    title: 'One value through all phases',
    text: 'A column for each phase that changed something. The index of the thread is marked in all of them, whatever its register is called; click any other.',
    kernel: 'nested-conditions',
    view: 'phases',
    pick: { text: 'IMAD R53', register: 'R53' },
  },
  {
    id: 'film',
    title: 'An optimization as a film',
    text: 'Press Play: instructions move, change and fade from phase to phase, and the flow graph shrinks with them.',
    kernel: 'early-return',
    view: 'film',
  },
  {
    id: 'uniform',
    title: 'Registers that a warp shares',
    text: 'Addresses that are the same in all threads move to uniform registers, of which a warp has one set: the lanes of general registers empty. Compare with the phase before.',
    kernel: 'vector-access',
    view: 'registers',
    phase: 'ConvertToUniformReg',
  },
  {
    id: 'knob',
    title: 'What one knob is worth',
    text: 'A is the usual plan, B the same without predication, by one knob. The table says what that costs, the line above where it begins to matter, and that both still do the same.',
    kernel: 'nested-conditions',
    view: 'compare',
    request: { set: ['DisablePredication=true'] },
  },
];
