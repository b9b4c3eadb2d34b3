/** The page in a real browser: how it looks with each of the samples, and what it does when the role goes away. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { PageData } from '../../src/page/page-data.ts';
import { BROWSER_FLAGS, findBrowser } from '../executable/browser.ts';
import { ROOT } from '../source-files.ts';
import { type PageServer, servePage, TOKEN } from './page-server.ts';
import { SAMPLES } from './samples.ts';

const program = findBrowser();
const PICTURES = join(ROOT, 'build/page');
const WIDTHS = { phone: 360, desktop: 1280 } as const;
const SCHEMES = ['light', 'dark'] as const;

let browser: Browser;

async function serve(data: PageData, port?: number): Promise<PageServer> {
  const server = await servePage(data, port);
  onTestFinished(() => server.close());
  return server;
}

interface Opened {
  readonly page: Page;
  /** Errors and warnings of the console, and exceptions. */
  readonly complaints: readonly string[];
  /** All that the page asked for, WebSockets included. */
  readonly requests: readonly string[];
}

async function open(url: string, fragment = `#view=${TOKEN}`, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce' });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'log') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error.stack)));
  page.on('request', (request) => requests.push(request.url()));
  page.on('websocket', (socket) => requests.push(socket.url()));
  await page.goto(`${url}${fragment}`);
  await page.locator('main').waitFor();
  return { page, complaints, requests };
}

/** What axe finds at fault, each with the places. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}

describe.skipIf(program === undefined)('the page in a browser (skipped without Chromium)', () => {
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    browser = await chromium.launch({ executablePath: program!, args: [...BROWSER_FLAGS] });
  });
  afterAll(() => browser?.close());

  describe.each(Object.keys(SAMPLES) as (keyof typeof SAMPLES)[])('%s', (name) => {
    test.each(SCHEMES)('asks for nothing else, complains of nothing, and is accessible: %s', async (colorScheme) => {
      const server = await serve(SAMPLES[name]);
      for (const [size, width] of Object.entries(WIDTHS)) {
        const viewport = { width, height: 900 };
        const { page, complaints, requests } = await open(server.url, undefined, { colorScheme, viewport });
        await page.locator('.live.on').waitFor();
        await page.screenshot({ path: join(PICTURES, `${name}-${size}-${colorScheme}.png`), fullPage: true });
        const inner = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
        expect(inner, size).toEqual([width, width]);
        expect(await faultsOf(page), size).toEqual([]);
        expect(complaints, size).toEqual([]);
        const { host } = new URL(server.url);
        expect(requests, size).toEqual([server.url, `ws://${host}/view`]);
      }
      expect(server.strayRequests).toEqual([]);
    });
  });

  test('a wide screen has three columns', async () => {
    const server = await serve(SAMPLES.copies);
    const { page } = await open(server.url, undefined, { viewport: { width: 1700, height: 900 } });
    const columns = ['curves', 'cluster', 'records'].map((name) => page.locator(`.panel-${name}`));
    const lefts = await Promise.all(columns.map(async (column) => (await column.boundingBox())!.x));
    expect(new Set(lefts).size).toBe(3);
    await page.screenshot({ path: join(PICTURES, 'copies-wide-light.png'), fullPage: true });
  });

  test('new data replace what is shown', async () => {
    const server = await serve(SAMPLES.training);
    const { page, complaints } = await open(server.url);
    await page.getByText('Nothing is blocking the job.').waitFor();
    server.push(SAMPLES.dead);
    await page.getByText('Pserver 1 does not answer; 8 units have no primary.').waitFor();
    await page.getByText('No live pserver has unit 7.').waitFor();
    server.push({ ...SAMPLES.none });
    await page.getByText('This store does not have a job yet.').waitFor();
    server.push(SAMPLES.done);
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('curves stay when they are not told again, and the pointer reads them', async () => {
    const server = await serve(SAMPLES.training);
    const { page } = await open(server.url);
    const chart = page.getByRole('img', { name: /^Log loss after/ });
    await chart.waitFor();
    const { curves, ...rest } = SAMPLES.training;
    server.push({ ...rest, job: { ...rest.job!, name: 'renamed' } });
    await page.getByRole('heading', { level: 1, name: 'renamed' }).waitFor();
    expect(curves).toBeDefined();
    expect(await chart.count()).toBe(1);
    await chart.hover();
    await page.locator('.chart .at').first().filter({ hasText: /^at / }).waitFor();
  });

  test('markup in a name is text', async () => {
    const server = await serve(SAMPLES.done);
    const { page } = await open(server.url);
    const link = page.getByRole('link', { name: 'fm <b>1</b>' });
    expect(await link.getAttribute('href')).toBe(`?job=fm%20%3Cb%3E1%3C%2Fb%3E#view=${TOKEN}`);
  });

  test('a job is asked for by its name', async () => {
    const server = await serve(SAMPLES.none);
    const { page, requests } = await open(server.url, `?job=a%20b#view=${TOKEN}`);
    await page.getByText('This store does not have a job a b.').waitFor();
    expect(requests.at(-1)).toBe(`ws://${new URL(server.url).host}/view?job=a%20b`);
  });

  test('a wrong token is refused, and the page says what to do', async () => {
    const server = await serve(SAMPLES.training);
    const { page } = await open(server.url, `#view=${'00'.repeat(32)}`);
    await page.getByRole('alert').getByText('the link lacks the view token of this job').waitFor();
    await page.getByText('paddlet ui').waitFor();
    await page.getByText('paddlet token rotate').waitFor();
    expect(await page.getByText('Nothing is blocking the job.').count()).toBe(0);
    expect(await faultsOf(page)).toEqual([]);
  });

  test.each([
    ['', 'This page needs its full link'],
    ['#view=5a5a', 'This link is incomplete'],
  ])('without a token (%s) it says how to get one, and connects to nothing', async (fragment, title) => {
    const server = await serve(SAMPLES.training);
    const { page, requests } = await open(server.url, fragment);
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText('paddlet token view').waitFor();
    expect(requests).toEqual([server.url]);
    expect(await faultsOf(page)).toEqual([]);
  });

  test('it shows what it has while the role is away, and what is new when it is back', async () => {
    const first = await servePage(SAMPLES.training);
    const { page } = await open(first.url);
    await page.locator('.live.on').waitFor();
    await first.close();
    await page.getByText('Not connected.').waitFor();
    await page.getByText(/This page shows the state of .* ago\./).waitFor();
    await page.locator('.live.off').filter({ hasText: 'not live for' }).waitFor();
    await page.getByText('Nothing is blocking the job.').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await serve(SAMPLES.dead, first.port);
    await page.getByText('Pserver 1 does not answer; 8 units have no primary.').waitFor();
    await page.locator('.live.on').waitFor();
    expect(await page.getByText('Not connected.').count()).toBe(0);
  });

  test('while the role knows nothing newer, the page says so', async () => {
    const server = await serve(SAMPLES.training);
    const { page } = await open(server.url);
    await page.locator('.live.on').waitFor();
    server.push({ ...SAMPLES.training, problem: 'the store does not answer' });
    await page.getByText('the store does not answer').waitFor();
    await page.locator('.live.off').waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });

  test('long lists are cut until all is asked for', async () => {
    const server = await serve(SAMPLES.large);
    const { page } = await open(server.url);
    const rows = page.locator('table.processes tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(14);
    expect(await rows.first().textContent()).toContain('pserver 40');
    await page.getByRole('button', { name: 'Show all 129 processes' }).press('Enter');
    await expect.poll(() => rows.count()).toBe(129);
  });
});
