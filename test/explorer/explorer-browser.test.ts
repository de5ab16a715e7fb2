import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Served, serve } from '../../src/cli/explore/explore-server.ts';
import { launchesOf, sourcesOf } from '../../src/cli/explore/gallery.ts';
import { recordingPage } from '../../src/cli/explore/page.ts';
import { ptxasPresent } from '../../src/cli/optimize/ptxas-run.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { STORIES } from '../../src/web/model/stories.ts';
import { snapshotsOf } from '../../src/web/model/tables.ts';
import { versionsOf } from '../../src/web/model/tracks.ts';
import { browserPath, hostOf, launchBrowser, type Watched, watchedPage } from '../support/browser.ts';
import { kernelSource, Page as Unseen } from '../support/explorer.ts';

/* The explorer in a real browser: every view, on real kernels. */

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'orrery-explorer-'));
const kernel = (name: string): string => join(ROOT, 'test', 'kernels', name, `${name}.sm_90.ptx`);
const opened = (name: string) => {
  const { file, text } = kernelSource(name);
  return { file, text, ...launchesOf(kernel(name)), sources: sourcesOf(kernel(name), text) };
};

/** A kernel of `n` additions, each of which depends on the previous one. */
function longKernel(additions: number): string {
  const lines = Array.from(
    { length: additions },
    (_, i) => `  add.s32 %r2, %r2, ${(i * 7919) % 65521};\n  xor.b32 %r2, %r2, %r1;`,
  );
  return `.version 8.0
.target sm_90
.address_size 64
.visible .entry long_one(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %r1;
${lines.join('\n')}
  st.global.u32 [%rd2], %r2;
  ret;
}
`;
}

/** A kernel that never ends. */
const ENDLESS = `.version 8.0
.target sm_90
.address_size 64
.visible .entry endless(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 0;
again:
  add.s32 %r1, %r1, 1;
  st.volatile.global.u32 [%rd2], %r1;
  bra again;
}
`;

let browser: Browser;
let served: Served;
beforeAll(async () => {
  if (browserPath === undefined) return;
  browser = await launchBrowser();
  const files = [
    opened('nested-conditions'),
    opened('saxpy'),
    { file: 'long.ptx', text: longKernel(5000), launches: [], data: {}, sources: {} },
    { file: 'endless.ptx', text: ENDLESS, launches: [], data: {}, sources: {} },
  ];
  served = await serve({ files, request: {}, documents: {}, live: true, ptxas: ptxasPresent() }, 0);
});
afterAll(async () => {
  await browser?.close();
  served?.close();
  rmSync(dir, { recursive: true });
});

/** Instructions of the kernels as they are lowered, by which one sees that they are shown. */
const SIZE: Readonly<Record<string, string>> = {
  'nested-conditions.sm_90.ptx': '163',
  'saxpy.sm_90.ptx': '52',
  'long.ptx': '10,00',
  'endless.ptx': '6 ',
};

let shared: Watched | undefined;

/** The page with a kernel just opened, and what to check at the end: that nothing went wrong unseen. One page serves all, as in life. */
async function explorer(look: { readonly file?: string; readonly dark?: boolean } = {}) {
  const first = shared === undefined;
  shared ??= await watchedPage(browser);
  const { page, wrongs } = shared;
  const file = look.file ?? 'nested-conditions.sm_90.ptx';
  if (first) await page.goto(served.address);
  await page.emulateMedia({ colorScheme: look.dark === true ? 'dark' : 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.locator('.row.phase').first().waitFor();
  // What is open already is opened anew by way of another.
  for (const name of [file === 'saxpy.sm_90.ptx' ? 'nested-conditions.sm_90.ptx' : 'saxpy.sm_90.ptx', file]) {
    await page.getByLabel('Kernel').selectOption(`file:${name}`);
    await page.locator('.outcome', { hasText: new RegExp(`^${SIZE[name]}`) }).waitFor();
  }
  await page.getByPlaceholder('Find phase').fill('');
  await tab(page, 'Code').click();
  await page.locator('#tab-phase').click();
  await page.locator('.listing .line.ins').first().waitFor();
  const done = async (): Promise<void> => {
    expect(wrongs.splice(0)).toEqual([]);
  };
  return { page, done };
}

const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true });
const outcome = (page: Page) => page.locator('.outcome').innerText();

const VIEW_NAMES = [
  'Code',
  'Source',
  'Levels',
  'Phases',
  'Film',
  'Flow graph',
  'Registers',
  'A/B',
  'Run',
  'Specs',
];

/** Names of phases in sight that are not whole. */
const CUT = `[...document.querySelectorAll('.row.phase .name')]
  .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)`;
/** Distance of a block from the top of its pane, in each pane of the flow graph. */
const TOPS = `[...document.querySelectorAll('.graph')].map((g) => {
  const box = [...g.querySelectorAll('.box')].find((x) => x.textContent.startsWith('BB14'));
  return Math.round(box.getBoundingClientRect().top - g.getBoundingClientRect().top);
})`;
/** Whether neither flow graph can be scrolled. */
const FITS = `[...document.querySelectorAll('.graph')]
  .every((g) => g.scrollHeight <= g.clientHeight && g.scrollWidth <= g.clientWidth)`;

/** Rows of the film: their places and texts. */
const ROWS = `[...document.querySelectorAll('.film-row')]
  .map((e) => [/\\(([-\\d.]+)px/.exec(e.style.transform)[1], e.textContent.trim()])`;
/** How many pixels the page is wider than the window. */
const SPILL = 'document.documentElement.scrollWidth - innerWidth';

/**
 * What axe finds serious, each with the first element that it is found in: in the whole page, or in a view and the tabs that lead to it.
 * In another theme only colours differ.
 */
const serious = (dark: boolean, whole: boolean): string =>
  `axe.run(${whole ? 'document' : "{ include: [['.view'], ['[role=tablist]']] }"},
    ${dark ? "{ runOnly: ['color-contrast'] }" : "{ resultTypes: ['violations'] }"}).then(({ violations }) =>
    violations.filter((v) => /serious|critical/.test(v.impact))
      .map((v) => v.id + ': ' + v.nodes[0].html.slice(0, 200) + ' ' + v.nodes[0].failureSummary))`;

describe.skipIf(browserPath === undefined)('the explorer in a browser', () => {
  test('shows what each phase did: as many phases, instructions and changes as the engine says', async () => {
    const { page, done } = await explorer();
    const run = new Unseen().run(kernelSource('nested-conditions'));
    const changed = run.phases.filter((p) => p.program !== null);
    await page.getByText(`${changed.length} of 159 phases changed something`).waitFor();
    expect(await outcome(page)).toMatch(
      new RegExp(`^${run.phases[0].before} → ${run.phases.at(-1)!.after} instructions`),
    );
    const shown = await page.locator('.row.phase.changes .name').allInnerTexts();
    expect(changed.map((p) => p.id).slice(0, shown.length)).toEqual(shown);
    // Names of phases are whole, also those of phases that changed nothing.
    await page.getByLabel('all', { exact: true }).check();
    const cut: string[] = [];
    for (let top = 0; top < run.phases.length * 26; top += 600) {
      await page.locator('.phases').evaluate((list, y) => (list.scrollTop = y), top);
      await page.waitForTimeout(50);
      cut.push(...(await page.evaluate<string[]>(CUT)));
    }
    expect(cut).toEqual([]);
    await page.getByLabel('all', { exact: true }).uncheck();
    await page.locator('.row.phase', { hasText: 'OriDoPredication' }).click();
    await page.getByText('Turns short branches into guarded instructions.').waitFor();
    await page.getByRole('button', { name: 'Where may it stand?' }).click();
    await page.locator('.places', { hasText: 'it stands here' }).waitFor();
    expect(await page.locator('.places p').first().isVisible()).toBe(true);
    await page.getByPlaceholder('Find phase').fill('predication');
    await page.getByText('phases found').waitFor();
    expect(await page.locator('.row.phase .name').allInnerTexts()).toContain('OriDoPredication');
    await done();
  });

  test('two clicks lead from an instruction to the phase that introduced it', async () => {
    const { page, done } = await explorer();
    await page.locator('.row.phase', { hasText: 'GenerateMovPhi' }).click();
    await page.getByLabel('Left side').selectOption({ label: 'as lowered' });
    await page.locator('.row.phase', { hasText: 'GeneralOptimizeEarly' }).click();
    await page.getByLabel('Right side').selectOption({ label: '26 GenerateMovPhi' });
    // Tall enough for all of it: only rows in sight are there.
    await page.setViewportSize({ width: 1440, height: 6000 });
    // The first click:
    await page.locator('.listing .ins.added code', { hasText: 'MOVPHI' }).first().click();
    const step = page.locator('.history .introduced button');
    expect(await step.innerText()).toBe('introduced by GenerateMovPhi');
    // The second:
    await step.click();
    expect(await page.locator('.row.phase.selected .name').innerText()).toBe('GenerateMovPhi');
    await page.locator('.listing .ins.current', { hasText: 'MOVPHI' }).waitFor();
    // The value that was clicked is marked in both listings, and its PTX line is named.
    await page.locator('.row.phase', { hasText: 'GeneralOptimizeEarly' }).click();
    await page.locator('.listing .ins.changed [data-side=b] .reg').first().click();
    expect(await page.locator('.listing [data-side=a] .hit').count()).toBeGreaterThan(0);
    expect(await page.locator('.listing [data-side=b] .hit').count()).toBeGreaterThan(0);
    await page.locator('.card .from', { hasText: /PTX line \d+/ }).waitFor();
    await done();
  });

  test('a mistake in PTX is shown under its line while one types, and disappears when it is mended', async () => {
    const { page, done } = await explorer({ file: 'saxpy.sm_90.ptx' });
    await tab(page, 'Source').click();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('bad ');
    await page.locator('.cm-fault.error').first().waitFor();
    expect(await page.locator('.cm-fault.error').first().innerText()).toContain(
      "a PTX file must begin with '.version'",
    );
    await tab(page, 'Code').click();
    await page.getByRole('button', { name: 'Show in the source' }).click();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+Home');
    for (let i = 0; i < 4; i++) await page.keyboard.press('Delete');
    await page.locator('.cm-fault').first().waitFor({ state: 'detached' });
    expect(await page.locator('.banner').count()).toBe(0);
    await done();
  });

  test('a moved phase says at once what is illegal and why, or what it changes', async () => {
    const { page, done } = await explorer();
    await page.getByPlaceholder('Find phase').fill('GvnCse');
    await page.locator('.row.phase', { hasText: 'GvnCse' }).click();
    await page.getByPlaceholder('Find phase').fill('');
    await page.getByLabel('Move behind').selectOption('ConvertAllMovPhiToMov');
    await page.getByText('operands are sorted by value number').first().waitFor();
    await page.getByRole('button', { name: 'Undo the change' }).click();
    await page.locator('.banner').waitFor({ state: 'detached' });
    // Dragged: the place is judged under way, and a legal one makes an order.
    const from = page.locator('.row.phase', { hasText: 'ConvertAllMovPhiToMov' });
    await from.dragTo(page.locator('.row.phase', { hasText: 'SpeculativeHoistComInsts' }));
    // The note of the drag says the same before the phase is dropped.
    await page.locator('.banner', { hasText: /\bssa\b/i }).waitFor();
    await page.keyboard.press('Control+z');
    await page.locator('.banner').waitFor({ state: 'detached' });
    await page
      .locator('.row.phase', { hasText: 'OriDoPredication' })
      .dragTo(page.locator('.row.phase', { hasText: 'GeneralOptimizeLate2' }));
    await page.locator('.changed[role=status]', { hasText: 'explorer-order.yaml' }).waitFor();
    await tab(page, 'Specs').click();
    await page.locator('.cm-content', { hasText: 'move: OriDoPredication' }).waitFor();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('  - {{ mvoe: OriCopyProp }');
    await page.locator('.cm-fault.error').first().waitFor();
    // A move would write the order anew, and what is typed there would be gone.
    await page.getByPlaceholder('Find phase').fill('SinkCodeIntoBlock');
    await page.locator('.row.phase', { hasText: 'SinkCodeIntoBlock' }).click();
    await page.getByLabel('Move behind').selectOption('OriDoRemat');
    await page.getByText('the spec that you are typing has faults').waitFor();
    await tab(page, 'Specs').click();
    await page.locator('.cm-content', { hasText: 'mvoe' }).waitFor();
    await page.getByRole('button', { name: 'Remove explorer-order.yaml' }).click();
    await page.locator('.cm-content').waitFor({ state: 'detached' });
    await page.locator('.row.phase', { hasText: 'SinkCodeIntoBlock' }).click();
    await page.getByLabel('Move behind').selectOption('OriDoRemat');
    await page.locator('.changed[role=status]', { hasText: 'explorer-order.yaml' }).waitFor();
    await tab(page, 'Specs').click();
    await page.locator('.cm-content', { hasText: 'move: SinkCodeIntoBlock' }).waitFor();
    // What is typed stays also where one looks at something else before the pause is over.
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# a remark of mine');
    await tab(page, 'Code').click();
    await page.locator('.listing .line.ins').first().waitFor();
    await tab(page, 'Specs').click();
    await page.locator('.cm-content', { hasText: '# a remark of mine' }).waitFor();
    // What a spec changes arrives while it is still typed: it stays in sight, whatever phase is selected.
    await page.locator('.row.phase', { hasText: 'SinkCodeIntoBlock' }).click();
    await page.getByPlaceholder('Find phase').fill('GvnCse');
    await page.locator('.row.phase:not(.skipped)', { hasText: 'GvnCse' }).waitFor();
    await tab(page, 'Specs').click();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('  - { drop: GvnCse, why: to see }');
    await page.locator('.row.phase.skipped', { hasText: 'GvnCse' }).waitFor();
    expect(await tab(page, 'Specs').getAttribute('aria-selected')).toBe('true');
    await done();
  });

  test('a changed knob is compared with the plan as it was', async () => {
    const { page, done } = await explorer();
    await tab(page, 'A/B').click();
    await page.getByText('Both arms are the same.').waitFor();
    await tab(page, 'Code').click();
    await page.locator('.row.phase', { hasText: 'OriDoPredication' }).click();
    await page.locator('#tab-knobs').click();
    await page.getByLabel('Value of DisablePredication').fill('true');
    await page.keyboard.press('Enter');
    await page
      .locator('.changed[role=status]', { hasText: 'differs first after OriDoPredication' })
      .waitFor();
    await tab(page, 'A/B').click();
    await page.locator('.metrics').first().waitFor();
    const text = await page.locator('.compare').innerText();
    expect(text).toMatch(/knob\s+DisablePredication\s+unset\s+true/);
    expect(text).toMatch(/Differs first after OriDoPredication/);
    expect(text).toMatch(/equal: the same memory in open worlds/);
    expect(text).toMatch(/HURT/);
    await done();
  });

  test('the flow graph has every block before and after', async () => {
    const { page, done } = await explorer();
    const unseen = new Unseen();
    const run = unseen.run(kernelSource('nested-conditions'));
    const at = run.phases.findIndex((p) => p.id === 'OriDoPredication');
    await page.locator('.row.phase', { hasText: 'OriDoPredication' }).click();
    await tab(page, 'Flow graph').click();
    await page.locator('.graph .box').first().waitFor();
    await page.locator('.graph').nth(1).locator('.box').first().waitFor();
    // Both panes open at the same block, one that changed, and move together.
    expect(await page.locator('.graph').first().locator('.box.differs').count()).toBeGreaterThan(0);
    await page
      .locator('.graph')
      .first()
      .evaluate((g) => (g.scrollTop += 200));
    await expect.poll(async () => new Set(await page.evaluate<number[]>(TOPS)).size).toBe(1);
    // The whole graph is smaller than its pane.
    await page.getByRole('button', { name: 'Whole graph', exact: true }).click();
    await expect.poll(() => page.evaluate<boolean>(FITS)).toBe(true);
    await page.getByRole('button', { name: 'Whole graph', exact: true }).click();
    const counts = [0, 1].map((k) => unseen.tables.fns[snapshotsOf(run)[at + k][0]].blocks.length);
    for (const k of [0, 1]) {
      expect(await page.locator('.graph').nth(k).locator('.box').count()).toBe(counts[k]);
      for (const box of await page.locator('.graph').nth(k).locator('.box').all())
        expect(await box.isVisible()).toBe(true);
    }
    await done();
  });

  test('source, PTX, Ori and machine code side by side: a click lights the same in all', async () => {
    const { page, done } = await explorer();
    await tab(page, 'Levels').click();
    const level = (of: string) => page.locator(`.level[data-level=${of}]`);
    const ours = level('machine').locator('.listing');
    await ours.locator('.line.hue').first().waitFor();
    // The source stands beside the PTX in its folder.
    await level('source').locator('code', { hasText: 'if (i >= n) return;' }).waitFor();
    await ours.locator('.line', { hasText: 'EXIT' }).first().click();
    const line = await level('ptx').locator('.lit .src').first().innerText();
    expect(await level('ptx').locator('.lit').first().innerText()).toMatch(/\bbra\b|\bret\b/);
    await level('ori')
      .locator('.lit .src', { hasText: new RegExp(`^${line}$`) })
      .waitFor();
    // What is under the pointer is lit instead, as long as it is there: a line of the source, with all that comes from it.
    const guard = level('source').locator('.line', { hasText: 'if (i >= n) return;' });
    // Columns follow the click, and show only what fits.
    await expect
      .poll(async () => {
        await level('source').evaluate((l) => {
          for (const e of [l, ...l.querySelectorAll('*')]) e.scrollTop = 0;
        });
        return guard.count();
      })
      .toBe(1);
    await guard.hover();
    expect(await guard.getAttribute('class')).toMatch(/\blit\b/);
    await expect.poll(() => level('ori').locator('.lit', { hasText: 'ISETP' }).count()).toBeGreaterThan(0);
    expect(await ours.locator('.lit', { hasText: 'ISETP' }).count()).toBeGreaterThan(0);
    const hue = /hue-\d/.exec((await guard.getAttribute('class'))!)![0];
    expect(await ours.locator('.lit', { hasText: 'ISETP' }).first().getAttribute('class')).toContain(hue);
    await guard.click();
    if (ptxasPresent()) {
      const theirs = level('ptxas').locator('.listing');
      await theirs.locator('.lit', { hasText: 'ISETP' }).first().waitFor();
    }
    // Columns that are not wanted give their place to the others.
    await page.getByLabel('PTX', { exact: true }).uncheck();
    await level('ptx').waitFor({ state: 'detached' });
    await page.getByLabel('PTX', { exact: true }).check();
    await done();
  });

  test('all phases at once: a column each, and a value is marked in all that have it', async () => {
    const { page, done } = await explorer();
    const unseen = new Unseen();
    const run = unseen.run(kernelSource('nested-conditions'));
    const versions = versionsOf(unseen.tables, run, 'nested');
    await tab(page, 'Phases').click();
    const columns = page.locator('.phase-column:not(.idle)');
    await columns.first().locator('.line.ins').first().waitFor();
    expect(await columns.locator('.phase-head .link').allInnerTexts()).toEqual(
      versions.map((v) =>
        v.phase < 0 ? 'as lowered' : `${run.phases[v.phase].position} ${run.phases[v.phase].id}`,
      ),
    );
    // The address of the last load by SSA, which renames it: marked wherever it is, under the name that it has there.
    await columns.first().locator('.line.ins', { hasText: 'IMAD R53' }).locator('.reg').first().click();
    await columns.last().locator('.line.current', { hasText: 'IMAD' }).waitFor();
    for (let i = 0; i < versions.length; i++)
      expect([i, (await columns.nth(i).locator('.hit').count()) > 0]).toEqual([i, true]);
    // Phases that changed nothing are folded, and say which they are.
    await page
      .getByRole('button', { name: /^6 phases changed nothing here/ })
      .first()
      .click();
    await page.locator('.phase-column.idle li').first().waitFor();
    expect(await page.locator('.phase-column.idle li').count()).toBe(6);
    await done();
  });

  test('the film shows each version of the function, and plays', async () => {
    const { page, done } = await explorer();
    const unseen = new Unseen();
    const run = unseen.run(kernelSource('nested-conditions'));
    const versions = versionsOf(unseen.tables, run, 'nested');
    await tab(page, 'Film').click();
    await page.setViewportSize({ width: 1440, height: 6000 });
    const place = page.getByLabel('Place in the film');
    for (const k of [0, 3, versions.length - 1]) {
      await place.fill(String(k));
      const fn = unseen.tables.fns[versions[k].fn];
      const texts = fn.blocks.flatMap((b) => {
        const { id, ins } = unseen.tables.blocks[b];
        return [`BB${id}`, ...ins.map((i) => unseen.tables.ins[i][0].trim())];
      });
      await expect
        .poll(async () => {
          const rows = await page.evaluate<[string, string][]>(ROWS);
          return rows.sort((a, b) => Number(a[0]) - Number(b[0])).map((r) => r[1]);
        })
        .toEqual(texts);
      await expect.poll(() => page.locator('.film-graph .box').count()).toBe(fn.blocks.length);
    }
    // A window of the usual height: drawing is what takes time.
    await page.setViewportSize({ width: 1024, height: 640 });
    await place.fill('0');
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(async () => Number(await place.inputValue()), { timeout: 30_000 }).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Pause' }).click();
    // By keyboard, one phase after the other.
    await place.fill('0');
    await place.focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('.film-title', { hasText: 'SetControlFlowOpLastInBB' }).waitFor();
    expect(await page.locator('.row.phase.selected .name').innerText()).toBe('SetControlFlowOpLastInBB');
    await done();
  });

  test('registers: who made one and who keeps it alive', async () => {
    const { page, done } = await explorer({ file: 'saxpy.sm_90.ptx' });
    await tab(page, 'Registers').click();
    await page.locator('.lane').first().waitFor();
    await page.locator('.cliff-name', { hasText: '32 registers: 64 warps' }).waitFor();
    const lane = page.locator('.lane.def').first();
    const register = await lane.getAttribute('data-reg');
    await lane.click();
    await page.locator('.told', { hasText: new RegExp(`^${register}, \\d+ bits, live at`) }).waitFor();
    expect(await page.locator('.told code').first().innerText()).toContain(` ${register},`);
    expect(await page.locator('.told code').last().innerText()).toContain(register!);
    await done();
  });

  test.each([
    [390, 844],
    [780, 437],
  ])('one part at a time at %i x %i', async (width, height) => {
    const { page, done } = await explorer();
    await page.setViewportSize({ width, height });
    const parts = page.getByRole('navigation', { name: 'Parts of the page' });
    await parts.getByRole('button', { name: 'Phases' }).click();
    await page.locator('.row.phase', { hasText: 'GeneralOptimizeEarly' }).click();
    await page.locator('.listing .ins .reg').first().click();
    await parts.getByRole('button', { name: 'Details' }).click();
    await page.locator('.history').waitFor();
    await page.locator('#tab-phase').click();
    await page.getByText('Switch off').waitFor();
    await parts.getByRole('button', { name: 'View', exact: true }).click();
    for (const view of VIEW_NAMES) {
      await tab(page, view).click();
      // Nothing sticks out of the page, and what is looked at has room.
      expect([view, await page.evaluate(SPILL)]).toEqual([view, 0]);
      const box = await page.locator('.view').boundingBox();
      expect([view, box!.width >= width - 1, box!.height > height * 0.6]).toEqual([view, true, true]);
    }
    await tab(page, 'Code').click();
    await done();
  });

  test('a kernel runs in the page, and both arms leave the same memory', async () => {
    const { page, done } = await explorer({ file: 'saxpy.sm_90.ptx' });
    await tab(page, 'Run').click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('optimized: right').waitFor();
    await page.getByText('equal memory').waitFor();
    expect(await page.locator('.launch-out').innerText()).toMatch(/warp instructions\s+\d+\s+\d+/);
    await page.getByRole('button', { name: 'Compare without a launch' }).click();
    await page.locator('.equal', { hasText: 'equal saxpy' }).waitFor();
    await done();
  });

  test('a run that does not end is stopped, and the page still works', async () => {
    const { page, done } = await explorer({ file: 'endless.ptx' });
    await tab(page, 'Run').click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    // While one runs, the page answers other questions.
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.launch').getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByLabel('Level').selectOption('1');
    await page.locator('.changed[role=status]', { hasText: '-O1' }).waitFor();
    await page.locator('.launch').getByRole('button', { name: 'Stop' }).click();
    await tab(page, 'Code').click();
    await page.locator('.listing .line.ins').first().waitFor();
    await done();
  });

  test('a link shows the same to somebody else', async () => {
    const { page, done } = await explorer();
    await page.locator('.row.phase', { hasText: 'OriDoPredication' }).click();
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.locator('.changed[role=status]', { hasText: 'OriDoPredication off' }).waitFor();
    await expect.poll(() => page.url().length).toBeGreaterThan(100);
    await page.waitForTimeout(600);
    const [link, said] = [page.url(), await outcome(page)];
    const other = await watchedPage(browser);
    await other.page.goto(link);
    await other.page.locator('.changed[role=status]', { hasText: 'OriDoPredication off' }).waitFor();
    expect((await outcome(other.page)).replace(/ ·.*/, '')).toBe(said.replace(/ ·.*/, ''));
    expect(await other.page.locator('.row.phase.selected .name').innerText()).toBe('OriDoPredication');
    expect(other.wrongs).toEqual([]);
    await other.page.context().close();
    await done();
  });

  test('10,000 instructions are as many rows as fit', async () => {
    const { page, done } = await explorer({ file: 'long.ptx' });
    await page.locator('.outcome', { hasText: /^10,00\d → / }).waitFor();
    await page.getByLabel('changes only').uncheck();
    expect(await page.locator('.listing .line').count()).toBeLessThan(150);
    await page.locator('.listing').focus();
    await page.keyboard.press('End');
    await page
      .locator('.listing .line', { hasText: /\b(RET|EXIT)\b/ })
      .first()
      .waitFor();
    expect(await page.locator('.listing .line').count()).toBeLessThan(150);
    await done();
  });

  test('a changed file is run again', async () => {
    const { page, done } = await explorer({ file: 'saxpy.sm_90.ptx' });
    const { text } = kernelSource('saxpy');
    served.changed('saxpy.sm_90.ptx', text.replace(/^.*fma\.rn\.f32.*$/m, ''));
    await page.locator('.outcome', { hasText: /^51 →/ }).waitFor();
    served.changed('saxpy.sm_90.ptx', text);
    await page.locator('.outcome', { hasText: /^52 →/ }).waitFor();
    await done();
  });

  test.each([false, true])(
    'nothing stands against those who cannot see or use a mouse (dark: %s)',
    async (dark) => {
      // Axe takes time for each element, of which a view of all phases has as many as the kernel has instructions in all of them.
      const { page, done } = await explorer({ dark, file: 'saxpy.sm_90.ptx' });
      await page.setViewportSize({ width: 1024, height: 640 });
      await page.locator('.row.phase', { hasText: 'GeneralOptimizeEarly' }).click();
      await page.locator('.listing .ins .reg').first().click();
      await page.evaluate(axe);
      for (const view of VIEW_NAMES) {
        await tab(page, view).click();
        if (view === 'Levels') await page.locator('.level[data-level=machine] .line').first().waitFor();
        if (view === 'Registers') await page.locator('.lane').first().waitFor();
        await page.waitForTimeout(60);
        // What stands beside the views is the same for all of them.
        expect([view, await page.evaluate(serious(dark, view === VIEW_NAMES[0]))]).toEqual([view, []]);
      }
      await done();
    },
  );

  test('every story opens where something is to be seen', async () => {
    const { page, wrongs } = await watchedPage(browser);
    const seen: Readonly<Record<string, string>> = {
      silicon: '.level[data-level=machine] .lit',
      switch: '.graph .box.only-before',
      guards: '.graph .box.only-before',
      rule: '.rules >> text=remainder-from-quotient',
      value: '.phase-column .hit',
      film: '.film-graph .box',
      uniform: '.lane',
      knob: '.compare >> text=DisablePredication',
    };
    expect(Object.keys(seen)).toEqual(STORIES.map((s) => s.id));
    // The first is opened by its address, the others each from the one before.
    await page.goto(`${served.address}#story=${STORIES[0].id}`);
    for (const s of STORIES) {
      await page.locator('.story', { hasText: s.text }).waitFor();
      await page.locator(seen[s.id]).first().waitFor();
      if (s.phase !== undefined)
        expect(await page.locator('.row.phase.selected .name').innerText()).toBe(s.phase);
      await page.locator('.story').getByRole('button', { name: /^Next/ }).click();
    }
    expect(wrongs).toEqual([]);
    await page.context().close();
  });

  test('a trace is one file that needs nothing else', async () => {
    const session = new Unseen().session;
    const file = join(dir, 'trace.html');
    const { writeFileSync } = await import('node:fs');
    const site = 'https://example.org/orrery/';
    writeFileSync(file, recordingPage({ ...session.recording(kernelSource('nested-conditions')), site }));
    const { page, wrongs } = await watchedPage(browser);
    await page.goto(pathToFileURL(file).href);
    await page.locator('.row.phase', { hasText: 'OriDoPredication' }).click();
    await page.locator('.listing .ins').first().click();
    await page.locator('.history').waitFor();
    await tab(page, 'Flow graph').click();
    await page.locator('.graph .box').first().waitFor();
    await tab(page, 'Run').click();
    await page.getByText('it has no engine, so kernels cannot be run here').waitFor();
    await page.getByTitle('Opens https://example.org/orrery/').first().waitFor();
    await tab(page, 'Source').click();
    await page.locator('.cm-content .cm-line').first().waitFor();
    expect(wrongs).toEqual([]);
    await page.context().close();
  });

  test('the site runs the engine in the browser, from a host that only sends files', async () => {
    const made = spawnSync(process.execPath, [join(ROOT, 'dist', 'tools', 'site.js'), join(dir, 'site')], {
      encoding: 'utf8',
    });
    expect(made.stdout).toMatch(/the explorer with \d+ kernels/);
    const host = await hostOf(join(dir, 'site'));
    const { page, wrongs } = await watchedPage(browser);
    await page.goto(host.address);
    await page.locator('.row.phase').first().waitFor();
    await page.getByLabel('Kernel').selectOption('gallery:matmul-tiled');
    await expect.poll(() => page.title()).toContain('matmul-tiled');
    await tab(page, 'Run').click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('equal memory').waitFor();
    expect(wrongs).toEqual([]);
    await page.context().close();
    host.close();
  });
});
