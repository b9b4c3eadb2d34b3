/** The page of a real job in a real browser, while the processes of the job are stopped, killed and started again. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { ROOT } from '../source-files.ts';
import { BROWSER_FLAGS, findBrowser } from './browser.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { JOB_FOLDER, liveProcesses, oneOf, ROLES, startRun } from './run.ts';

const program = findBrowser();
const PICTURES = join(ROOT, 'build/page');
const WHERE = ['--dir', JOB_FOLDER];
const linkSchema = z.object({ link: z.url() });
/** Of what the page says when something changes: leases end after 15 s. */
const PATIENCE = { timeout: 120_000 };

const linkOf = async (place: Place): Promise<string> =>
  linkSchema.parse(await place.json('token', 'view', ...WHERE)).link;

async function openPage(link: string): Promise<Page> {
  const browser = await chromium.launch({ executablePath: program!, args: [...BROWSER_FLAGS] });
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(link);
  return page;
}

/** A line of `paddlet ui`, which goes on. */
async function startUi(place: Place): Promise<string> {
  const ui = place.start('ui', ['ui', ...WHERE, '--json']);
  onTestFinished(() => void ui.kill('SIGKILL'));
  await expect.poll(() => ui.out, PATIENCE).toContain('\n');
  return linkSchema.parse(JSON.parse(ui.out)).link;
}

describe.skipIf(program === undefined)('the page of a real job (skipped without Chromium)', () => {
  test('is right while trainers stop, pservers and the master die, and when the job has stopped and ended', async () => {
    mkdirSync(PICTURES, { recursive: true });
    const picture = (name: string) => page.screenshot({ path: join(PICTURES, `real-${name}.png`), fullPage: true });
    const place = openPlace();
    const training = { ...UNHURRIED_JOB.training, passes: 24 };
    const evaluation = { metric: 'auc' };
    const job = await plantedJob(place, { ...UNHURRIED_JOB, name: 'clicks', training, evaluation });
    const slowly = 'trainer.dealt:delay=300';
    const { running, args, store } = await startRun(place, job, slowly, 'clicks');
    await place.json('status', ...WHERE, '--until', 'running', '--timeout', '10m');
    const processes = await liveProcesses(place, ROLES);
    const link = await linkOf(place);
    const page = await openPage(link);
    await page.locator('.live.on').waitFor(PATIENCE);
    await page.getByText('Nothing is blocking the job.').waitFor(PATIENCE);
    await store.passesOver(1, running);
    await page.getByRole('img', { name: /^Log loss after/ }).waitFor(PATIENCE);
    await store.passesOver(4, running);
    await picture('training');
    // The picture of the README, docs/images/page.png.
    await page.screenshot({ path: join(PICTURES, 'readme.png') });

    const trainer = oneOf(processes, 'trainer');
    process.kill(trainer.pid, 'SIGSTOP');
    await page
      .getByText(/^Trainer [0-9a-f]{8} at .* does not answer/)
      .first()
      .waitFor(PATIENCE);
    await picture('stopped-trainer');
    process.kill(trainer.pid, 'SIGCONT');
    await page.getByText('Nothing is blocking the job.').waitFor(PATIENCE);

    const pserver = oneOf(processes, 'pserver');
    process.kill(pserver.pid, 'SIGSTOP');
    await page
      .getByText(/^Pserver \d .*does not answer/)
      .first()
      .waitFor(PATIENCE);
    await picture('dead-pserver');
    process.kill(pserver.pid, 'SIGKILL');
    await page.getByText('Nothing is blocking the job.').waitFor(PATIENCE);

    // The page is not loaded again: it connects by itself, at the address that it has.
    const before = oneOf(await liveProcesses(place, ROLES), 'master');
    process.kill(before.pid, 'SIGKILL');
    await page.locator('.live:not(.on)').waitFor(PATIENCE);
    await page.locator('.live.on').waitFor(PATIENCE);
    await page.getByText('Nothing is blocking the job.').waitFor(PATIENCE);
    const after = oneOf(await liveProcesses(place, ROLES), 'master');
    expect(after.pid).not.toBe(before.pid);
    expect(await linkOf(place)).toBe(link);

    await place.json('token', 'rotate', ...WHERE);
    await page
      .getByText(/token of this job was changed/)
      .first()
      .waitFor(PATIENCE);
    await place.json('stop', ...WHERE);
    await running.ended;
    await page.goto(await startUi(place));
    await page.getByText('No process of the job is running.').first().waitFor(PATIENCE);
    await picture('at-rest');
    await resultOf(place.start('run again', args));
    await page.getByRole('heading', { name: 'Result' }).waitFor(PATIENCE);
    await picture('finished');
  });
});
