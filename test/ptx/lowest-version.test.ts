import { describe, expect, it } from 'vitest';
import { withLowestVersion } from '../../src/ptx/lowest-version.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';

const module = (version: string, sm: string, body: string): string =>
  `.version ${version}\n.target ${sm}\n.address_size 64\n.visible .entry k(.param .u64 p)
{
 .reg .b32 %r<4>; .reg .b64 %d<2>;\n ${body}\n ret;\n}\n`;

describe('the lowest version', () => {
  it.each([
    ['9.4', 'sm_75', 'mov.u32 %r1, %tid.x;', '6.3'],
    ['9.0', 'sm_50', 'mov.u32 %r1, %tid.x;', '4.0'],
    ['8.5', 'sm_80', 'redux.sync.add.s32 %r1, %r2, 0xffffffff;', '7.0'],
    ['9.0', 'sm_90', 'barrier.cluster.arrive.aligned;', '7.8'],
    ['8.8', 'sm_90', 'cp.async.bulk.commit_group;', '8.0'],
    ['7.0', 'sm_80', 'mov.u32 %r1, %tid.x;', '7.0'],
  ])('of .version %s for %s with %s is %s', (version, sm, body, least) => {
    const text = withLowestVersion(module(version, sm, body));
    expect(text).toBe(module(least, sm, body));
    if (hasPtxas('lowest versions')) expect(ptxas(text).errors).toBe('');
  });

  it.each([
    ['.b8 1\n', '6.3'],
    ['L0:\n.b8 1\n', '7.0'],
    ['L0:\n.b8 1\nL1:\n.b64 L1-L0\n', '7.5'],
  ])('with a section of %j is %s', (data, least) => {
    const end = `.section .debug_str\n{\n${data}}\n`;
    const text = withLowestVersion(module('9.0', 'sm_75', '') + end);
    expect(text).toBe(module(least, 'sm_75', '') + end);
    if (hasPtxas('lowest versions')) expect(ptxas(text).errors).toBe('');
  });

  it('is none where no version has what is written', () => {
    const text = module('9.0', 'sm_90', 'nonsense.b32 %r1, %r2;');
    expect(withLowestVersion(text)).toBe(text);
  });
});
