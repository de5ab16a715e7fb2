import { deflateRawSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { linkedIn } from '../../src/web/ui/linked.ts';
import { pack, unpack } from '../../src/web/ui/pack.ts';

// Links to the explorer come from other people: the contents of an address are read within limits.

const word = (bytes: Uint8Array): string => deflateRawSync(bytes).toString('base64url');

it('a value comes back from its word', async () => {
  for (const value of [null, { a: 'ä\u{1f600}'.repeat(1000) }, [1, 2]])
    expect(await unpack(await pack(value))).toEqual(value);
});

it('a word that would fill the memory is not unpacked further than to the limit', async () => {
  const bomb = word(Buffer.alloc(400 * 2 ** 20));
  expect(bomb.length).toBeLessThan(600_000);
  const Real = DecompressionStream;
  let unpacked = 0;
  vi.stubGlobal(
    'DecompressionStream',
    class {
      private readonly real = new Real('deflate-raw');
      readonly writable = this.real.writable;
      readonly readable = this.real.readable.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(part, to) {
            unpacked += part.length;
            to.enqueue(part);
          },
        }) as never,
      );
    },
  );
  await expect(unpack(bomb)).rejects.toThrow('the link holds too much');
  vi.unstubAllGlobals();
  expect(unpacked).toBeLessThan(32 * 2 ** 20);
  expect(await unpack(word(Buffer.from(`"${'x'.repeat(15 * 2 ** 20)}"`)))).toHaveLength(15 * 2 ** 20);
}, 60_000);

it('what is cut short, changed or no word at all is refused', async () => {
  const good = await pack({ a: 1 });
  for (const bad of ['', 'a', '%', good.slice(0, -4), word(Buffer.from('{'))])
    await expect(unpack(bad), bad).rejects.toThrow();
});

it('what is no link is refused, whatever form it has', () => {
  const request = {
    level: null,
    sm: null,
    order: 'seed',
    recipes: [],
    knobSets: [],
    set: [],
    disable: [],
    rules: [],
  };
  const source = { file: 'k.ptx', text: '', documents: { 'a.yaml': '' }, request };
  const good = { source, view: 'code', phase: 'SinkRemat', fn: 'k', panes: ['ptx', 3] };
  for (const value of [{}, good, { source }]) expect(linkedIn(value)).toBe(value);
  for (const value of [
    null,
    5,
    'x',
    [],
    { source: null },
    { source: { ...source, file: 1 } },
    { source: { ...source, documents: { a: {} } } },
    { source: { ...source, request: { ...request, set: 'X=1' } } },
    { source: { ...source, request: undefined } },
    { view: '__proto__' },
    { panes: ['ptx'] },
    { panes: ['ptx', -1] },
    { panes: [{}, {}] },
    { phase: {} },
    { fn: ['k'] },
  ])
    expect(() => linkedIn(value), JSON.stringify(value)).toThrow('not a link');
});
