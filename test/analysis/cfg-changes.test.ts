import { describe, expect, it } from 'vitest';
import { cfgChanges, renderCfgChanges, renderCfgChangesDot } from '../../src/analysis/render/cfg-changes.ts';
import { renderCfgChangesSvg, renderCfgSvg } from '../../src/analysis/render/svg.ts';
import { parseFn } from '../../src/ir/text.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();
const HEADS = ['before', 'after'] as const;
const TEXT = `.entry k
{
BB0:
   @P1 BRA BB2
BB1:
       BRA BB3
BB2:
       STG [RD9], R2
BB3:
       EXIT
}`;
const before = parseFn(TEXT, isa);
const after = parseFn(TEXT.replace('BB1:', 'BB4:'), isa);

describe('two flow graphs side by side', () => {
  it('as text', () => {
    expect(renderCfgChanges(cfgChanges(before, after), HEADS)).toBe(
      `Control flow of k: 4 blocks, 4 edges; then 4 blocks, 4 edges

       before       after
  BB0  -> BB2 -BB1  -> BB2 +BB4
  BB1  -> -BB3      gone
  BB4  new          -> +BB3
  BB2  -> BB3       -> BB3
  BB3  ends         ends`,
    );
    expect(renderCfgChanges(cfgChanges(before, before), HEADS)).not.toMatch(/[-+]BB/);
  });

  it('as a graph, what only one has in red', () => {
    const dot = renderCfgChangesDot(cfgChanges(before, after), HEADS);
    expect(dot.match(/.*color=red.*/g)?.map((l) => l.trim().replace(/label="[^"]*", /, ''))).toEqual([
      'a_bix1 [color=red];',
      'a_bix0 -> a_bix1 [label=F, color=red];',
      'a_bix1 -> a_bix3 [color=red];',
      'b_bix4 [color=red];',
      'b_bix0 -> b_bix4 [label=F, color=red];',
      'b_bix4 -> b_bix3 [color=red];',
    ]);
  });

  it('as a picture, what only one has drawn thick', () => {
    const svg = renderCfgChangesSvg(cfgChanges(before, after), ['before <X>', 'after']);
    expect(svg.match(/class="[a-z]? ?m"/g)?.length).toBe(4);
    expect(svg.match(/class="b n"/g)?.length).toBe(2);
    expect(svg).toContain('k, before &lt;X&gt;');
    expect(renderCfgSvg(before)).not.toMatch(/class="[a-z]? ?m"/);
  });
});
