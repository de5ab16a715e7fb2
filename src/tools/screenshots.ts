// Writes the pictures of src/web/README.md from the built page. Needs Chromium at /usr/bin/chromium, or at the path in CHROMIUM.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { serve } from '../cli/explore/explore-server.ts';
import { galleryEntry } from '../cli/explore/gallery.ts';
import { ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import { ROOT } from '../spec/node-cache.ts';

const out = join(ROOT, 'src', 'web', 'images');
const kernel = galleryEntry('nested-conditions')!;
mkdirSync(out, { recursive: true });
const server = await serve(
  { files: [kernel], request: {}, documents: {}, live: false, ptxas: ptxasPresent() },
  0,
);
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const tab = (name: string) => page.getByRole('tab', { name, exact: true }).click();
/** Selects a phase, also one that changed nothing. */
const phase = async (name: string): Promise<void> => {
  const search = page.getByPlaceholder('Find phase');
  await search.fill(name);
  await page.locator('.row.phase', { hasText: name }).first().click();
  await search.fill('');
};

/** The pictures by name, with the steps that lead to each. Each continues from the state of the previous one. */
const PICTURES: Readonly<Record<string, (p: Page) => Promise<void>>> = {
  code: async () => {
    await phase('GeneralOptimizeEarly');
    await page.locator('.listing .ins.changed .reg').first().click();
  },
  graph: async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await phase('OriDoPredication');
    await tab('Flow graph');
    await page.locator('.graph').nth(1).locator('.box').first().waitFor();
  },
  run: async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await tab('Run');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('equal memory').waitFor();
  },
  compare: async () => {
    await tab('Code');
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.locator('.changed[role=status]').waitFor();
    await tab('A/B');
    await page.locator('.metrics').waitFor();
  },
  order: async () => {
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.locator('.changed[role=status]').waitFor({ state: 'detached' });
    await tab('Code');
    await phase('OriReassociateAndCommon');
    await page.getByLabel('Move behind').selectOption('GeneralOptimizeMid');
    await page.locator('.banner').waitFor();
  },
};

/** Pictures of the views that were added to the row above; each opens its own. */
const VIEWS: Readonly<Record<string, (p: Page) => Promise<void>>> = {
  levels: async (p) => {
    await tab('Levels');
    await p.locator('.level[data-level=machine] .line.hue').first().waitFor();
    await p.locator('.level[data-level=source] .line', { hasText: 'int x = a[i]' }).click();
  },
  phases: async (p) => {
    await p.getByRole('button', { name: 'Pipeline' }).click();
    await tab('Phases');
    await p
      .locator('.phase-column')
      .first()
      .locator('.line', { hasText: 'IMAD R53' })
      .locator('.reg')
      .first()
      .click();
  },
  film: async (p) => {
    await tab('Film');
    await p.getByLabel('Place in the film').fill('2.6');
    await p.locator('.film-graph .box').first().waitFor();
  },
  registers: async (p) => {
    await p.emulateMedia({ colorScheme: 'dark' });
    await tab('Registers');
    await p.locator('.lane.def').nth(2).click();
  },
};

await page.goto(server.address);
await page.locator('.row.phase').first().waitFor();
for (const [name, show] of [...Object.entries(PICTURES), ...Object.entries(VIEWS)]) {
  if (name === 'levels') {
    await page.goto('about:blank');
    await page.goto(server.address);
    await page.locator('.listing .line').first().waitFor();
  }
  await show(page);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(out, `${name}.png`) });
}
await browser.close();
server.close();
