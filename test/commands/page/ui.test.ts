/** `paddlet ui` and `paddlet token view`: the page of jobs in a store, and the links to it. */
import { expect, it, onTestFinished } from 'vitest';
import { newJoinToken, parseJoinToken } from '../../../src/cluster/job/join-token.ts';
import { historyText, NO_HISTORY, withTrained } from '../../../src/core/history.ts';
import { PAGE_HTML, PAGE_SECURITY_POLICY } from '../../../src/page/generated/page.ts';
import type { PageData } from '../../../src/page/page-data.ts';
import { viewTokenOf } from '../../../src/protocol/join/view-token.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { openViewer, proveTo } from '../../protocol/viewing.ts';
import { put } from '../../store/support.ts';
import { runCommand, startCommand } from '../run-command.ts';
import { keys, type StoredJob, storedJob } from '../saved-job.ts';

async function startUi(job: StoredJob, ...flags: string[]) {
  const ui = startCommand(['ui', '--dir', job.folder, '--json', ...flags], { cwd: job.cwd });
  await expect.poll(() => ui.said.out).toContain('\n');
  const { link } = JSON.parse(ui.said.out) as { link: string };
  const { host, hash } = new URL(link);
  const stop = async () => {
    process.emit('SIGINT');
    return ui.ended;
  };
  onTestFinished(async () => void (await stop()));
  return { ui, link, host, token: Buffer.from(hash.slice('#view='.length), 'hex'), stop };
}

async function look(host: string, token: Uint8Array, path = '/view'): Promise<PageData> {
  const viewer = await openViewer(host, { path });
  await proveTo(viewer, token, host);
  const message = await viewer.next();
  viewer.ws.close();
  await viewer.closed;
  if (message.type !== 'data') throw new Error(JSON.stringify(message));
  return message.data;
}

it('serves the page with its policy, on the origin of the link alone', async () => {
  const { host, link, stop } = await startUi(await storedJob());
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#view=[0-9a-f]{64}$/);
  const page = await fetch(`http://${host}/`);
  expect(await page.text()).toBe(PAGE_HTML);
  expect(page.headers.get('content-security-policy')).toBe(PAGE_SECURITY_POLICY);
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect((await fetch(`http://${host}/metrics`)).status).toBe(404);
  await expect(fetch(`http://${host}/`, { headers: { origin: 'http://evil.example' } })).resolves.toMatchObject({
    status: 403,
  });
  expect((await stop()).code).toBe(130);
});

it('shows a job that does not run, with its curves', async () => {
  const job = await storedJob();
  const sums = { records: 100, weight: 100, loss: 50, correct: 50, squaredError: 25, pass: 0, timeMs: 1_000 };
  await put(job.store, keys.history, historyText(withTrained(NO_HISTORY, sums)));
  const { host, token } = await startUi(job);
  const data = await look(host, token);
  expect(data).toMatchObject({
    servedBy: 'ui',
    jobs: [{ name: 'small' }],
    job: { name: 'small', phase: 'stopped', processes: [] },
    curves: [{ name: 'train', trained: [100] }],
  });
  expect(data.job?.why).toHaveLength(1);
});

it('lists the jobs of a store with several, and shows the one that is asked for', async () => {
  const job = await storedJob();
  const other = keysOf('/paddlet/other');
  await put(job.store, other.job, (await job.store.get(keys.job))!.value.replaceAll('"small"', '"other"'));
  await put(job.store, other.psDesired, '1');
  await put(job.store, other.passesDesired, '1');
  const { host, token } = await startUi(job);
  const list = await look(host, token);
  expect(list.jobs.map(({ name }) => name)).toEqual(['other', 'small']);
  expect(list).not.toHaveProperty('job');
  expect(await look(host, token, '/view?job=other')).toMatchObject({ job: { name: 'other' } });
  expect(await look(host, token, '/view?job=small')).toMatchObject({ job: { name: 'small' } });
  // Neither a job that is missing nor what cannot be a name shows anything else.
  expect(await look(host, token, '/view?job=none')).not.toHaveProperty('job');
  expect(await look(host, token, `/view?job=${encodeURIComponent('../../other')}`)).not.toHaveProperty('job');
});

it('refuses the view token of the job: its own is another one', async () => {
  const job = await storedJob();
  await put(job.store, keys.token, newJoinToken({ uuid: () => crypto.randomUUID(), fraction: () => 0 }));
  const { host } = await startUi(job);
  const entry = (await job.store.get(keys.token))!;
  await expect(look(host, viewTokenOf(parseJoinToken(entry)))).rejects.toThrow('refused');
});

it('`token view` prints the link of the master, and says what to do without one', async () => {
  const job = await storedJob();
  const view = () => runCommand(['token', 'view', '--dir', job.folder], { cwd: job.cwd });
  const none = await view();
  expect(none).toMatchObject({ out: '', err: expect.stringContaining('paddlet ui') });
  expect(none.code).not.toBe(0);
  await put(job.store, keys.token, 'a'.repeat(64));
  await put(job.store, keys.masterAddr, 'master.example:7164');
  const token = Buffer.from(viewTokenOf(new Uint8Array(32).fill(0xaa))).toString('hex');
  expect(await view()).toMatchObject({ code: 0, out: `http://master.example:7164/#view=${token}\n` });
});
