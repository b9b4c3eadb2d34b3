/** A dead process whose port another process of the job has: it is not the process that answers there. */
import { expect, onTestFinished, test } from 'vitest';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import { asyncPserver, workingTrainer } from '../../cluster/role-infos.ts';
import { TOKEN, testToken } from '../../protocol/join.ts';
import { fixedRandom, MemoryLog, realClock } from '../../protocol/rig.ts';
import { put } from '../../store/support.ts';
import { runCommand } from '../run-command.ts';
import { keys, storedJob } from '../saved-job.ts';

const parts = { clock: realClock, random: fixedRandom, joinToken: testToken, log: new MemoryLog() };

async function answering(info: RoleInfo): Promise<string> {
  const server = await createWebSocketNetwork(parts).listen({
    listen: '127.0.0.1:0',
    advertise: '127.0.0.1',
    http: async () => undefined,
    handler: async () => ({ header: { type: 'info', info } }),
  });
  onTestFinished(() => server.close());
  return `127.0.0.1:${server.port}`;
}

test('status and why tell it from the process that answers', async () => {
  const { cwd, folder, store, record } = await storedJob();
  await put(store, keys.token, Buffer.from(TOKEN).toString('hex'));
  const trainer = await answering(workingTrainer);
  const pserver = await answering(asyncPserver(1, 512));
  const dead = '00000000-2c4f-4a53-9a58-0c5b7b1d2f10';
  for (const id of [dead, workingTrainer.id])
    await put(store, keys.trainer(id), JSON.stringify({ address: trainer, job: record.id }));
  for (const index of [0, 1]) await put(store, keys.ps(index), pserver);
  const run = async (...words: string[]): Promise<string> =>
    (await runCommand([...words, '--dir', folder], { cwd })).out;

  const status = await run('status');
  expect(status).toMatch(/^why: Pserver 0 has ended: pserver 1 has its address \S+\.$/m);
  expect(status).toMatch(/^ {2}its lease expires within 5 s, and then another process takes its place$/m);
  expect(status).toMatch(/^and: Trainer 00000000 has ended: trainer 5a8f6e0e has its address \S+\.$/m);
  expect(status).toMatch(/^pserver +0 +127\S+ +has ended; pserver 1 has its address$/m);
  expect(status).toMatch(/^pserver +1 +17 /m);
  expect(status).toMatch(/^trainer +00000000 +127\S+ +has ended; trainer 5a8f6e0e has its address$/m);
  expect(status).toMatch(/^trainer +5a8f6e0e +17 /m);
  expect(await run('why')).toContain(`Pserver 0 has ended: pserver 1 has its address ${pserver}.`);
  const { processes } = JSON.parse(await run('status', '--json'));
  expect(processes.map(({ answers }: { answers: boolean }) => answers)).toEqual([false, true, false, true]);
});
