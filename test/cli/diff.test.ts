import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unifiedDiff } from '../../src/cli/review/diff.ts';

/** Both texts, reconstructed from a diff with full context. */
function texts(diff: string): [string[], string[]] {
  const before: string[] = [];
  const after: string[] = [];
  for (const line of diff.split('\n').filter((l) => !l.startsWith('@@'))) {
    const text = line.slice(2);
    if (line[0] !== '+') before.push(text);
    if (line[0] !== '-') after.push(text);
  }
  return [before, after];
}

const someLines = fc.array(fc.constantFrom('MOV R1, R2', 'IADD3 R3, R1, R1, RZ', 'EXIT', 'BRA BB1', 'BB1:'), {
  minLength: 1,
  maxLength: 30,
});

describe('differences of texts', () => {
  test('hold both texts, and no line twice that is in both', () => {
    fc.assert(
      fc.property(someLines, someLines, (a, b) => {
        const diff = unifiedDiff(a.join('\n'), b.join('\n'), 1000);
        expect(diff === '').toBe(a.join() === b.join());
        if (diff === '') return;
        expect(texts(diff)).toEqual([a, b]);
        // The longest common subsequence by the textbook's table.
        const common = a.map(() => new Array<number>(b.length).fill(0));
        for (let i = a.length - 1; i >= 0; i--)
          for (let j = b.length - 1; j >= 0; j--)
            common[i][j] =
              a[i] === b[j]
                ? (common[i + 1]?.[j + 1] ?? 0) + 1
                : Math.max(common[i + 1]?.[j] ?? 0, common[i][j + 1] ?? 0);
        const kept = diff.split('\n').filter((l) => l.startsWith('  '));
        expect(kept).toHaveLength(common[0][0]);
      }),
    );
  });

  test('name their lines, with three around each', () => {
    const a = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`);
    const b = a.with(49, 'another');
    expect(unifiedDiff(a.join('\n'), b.join('\n'))).toBe(
      '@@ -47,7 +47,7 @@\n  line 47\n  line 48\n  line 49\n- line 50\n+ another\n  line 51\n  line 52\n  line 53',
    );
  });

  test('of texts that have nothing in common are both, in little time', () => {
    const a = Array.from({ length: 30_000 }, (_, i) => `a${i}`);
    const b = Array.from({ length: 30_000 }, (_, i) => `b${i}`);
    expect(texts(unifiedDiff(a.join('\n'), b.join('\n')))).toEqual([a, b]);
  });
});
