import { describe, expect, it } from 'vitest';
import { checkPtx } from '../../src/ptx/check.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { writtenPtx } from '../support/run-ptx.ts';

/* OptiX PTX calls undeclared functions: its compiler knows them by name, and infers types from the arguments. */

const head = '.version 8.0\n.target sm_75\n.address_size 64\n';
const faults = (body: string) => {
  const { module, diagnostics } = parsePtx(`${head}.visible .entry k()\n{\n${body}\n ret;\n}\n`, 'k.ptx');
  return [...diagnostics, ...checkPtx(module)].map((d) => `${d.severity}: ${d.message}`);
};

describe('functions of OptiX', () => {
  it('need no declaration; others do', () => {
    expect(faults(' .reg .b32 %r<2>;\n call (%r1), _optix_get_launch_index_x, ();')).toEqual([
      "warning: '_optix_get_launch_index_x' is not declared",
    ]);
    expect(faults(' .reg .b32 %r<2>;\n call (%r1), get_launch_index_x, ();')).toEqual([
      "error: 'get_launch_index_x' is not declared",
      "error: a call through 'get_launch_index_x' needs a prototype",
    ]);
  });

  it('are called with as much each time', () => {
    const body = ' .reg .b32 %r<2>; .reg .b64 %d<2>;\n call _optix_throw, (%r1);\n call _optix_throw, (%d1);';
    expect(faults(body)).toContainEqual(
      expect.stringMatching(/^error: argument 1 of '_optix_throw' has 4 bytes/),
    );
  });

  it('get registers of the types that the program passed, and a list of arguments also where it is empty', () => {
    const body = `.reg .f32 %f<3>; mov.f32 %f1, 0f3F800000; mov.u64 %d1, 12884901888; mov.u16 %h1, 3; mov.u32 %r1, -1;
call (%r2, %f2), _optix_trace, (%r1, %f1, %d1, %h1); call (%r3), _optix_x, (); mov.b32 %o0, %f2; add.u32 %o1, %r2, %r3;`;
    const { text } = writtenPtx(body, 1, 2);
    const [, results, args] = /call \((.*)\), _optix_trace, \((.*)\);/.exec(text)!;
    expect(results).toMatch(/^%r\d+, %f\d+$/);
    expect(args).toMatch(/^%r\d+, %f\d+, %rd\d+, %r?h\d+$/);
    expect(text).toMatch(/call \(%r\d+\), _optix_x, \(\);/);
    expect(text).toMatch(/\.reg \.f32 %f<2>;/);
    expect(text).not.toContain('.func');
  });
});
