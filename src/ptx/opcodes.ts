import { PTX_SYNTAX } from './syntax.generated.ts';

/** Base opcodes of PTX: those that have forms in `pipelines/isa/ptx-syntax.yaml`, and its `unchecked` ones. */
export const PTX_OPCODES: ReadonlySet<string> = new Set([
  ...Object.keys(PTX_SYNTAX.instructions),
  ...PTX_SYNTAX.unchecked.split(' '),
]);
