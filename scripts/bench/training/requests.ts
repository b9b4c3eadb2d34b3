/**
 * Push and pull alone: the pservers of a job, and clients that ask for the same ids in the same batches as its trainers
 * and push gradients of the same widths, computed from nothing. What is left for training to lose.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Roles } from '../one-pserver.ts';
import type { ClientOptions, Exchanged } from './requests-client.ts';

export interface RequestsOptions {
  readonly executable: string;
  readonly job: Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly data: { readonly recordsPerTask: number };
    readonly training: { readonly batchSize: number };
    readonly cluster: { readonly pservers: number; readonly trainers: number };
  };
  readonly dataFolder: string;
  /** The training file. */
  readonly path: string;
  readonly forMs: number;
}

/** Records a second whose rows were pulled and pushed, after a pass in which the rows came to be. */
export async function measureRequests(options: RequestsOptions): Promise<number> {
  const { executable, job, dataFolder, path, forMs } = options;
  const roles = new Roles(executable);
  const clients: ChildProcess[] = [];
  try {
    const file = join(roles.folder, 'job.json');
    writeFileSync(file, JSON.stringify(job));
    roles.start('master', file, '--data-dir', dataFolder);
    for (let index = 0; index < job.cluster.pservers; index++) {
      roles.start('pserver', '--index', `${index}`, '--dir', 'roles');
    }
    for (let part = 0; part < job.cluster.trainers; part++) {
      clients.push(startClient({ storeUrl: roles.storeUrl, name: job.name, path, part, parts: job.cluster.trainers }));
    }
    await Promise.all(clients.map((client) => answerOf(client)));
    const exchanged = clients.map((client) => answerOf(client) as Promise<Exchanged>);
    for (const client of clients) client.send({ forMs });
    return (await Promise.all(exchanged)).reduce((sum, { records, seconds }) => sum + records / seconds, 0);
  } finally {
    for (const client of clients) client.kill('SIGKILL');
    roles.end();
  }
}

const startClient = (options: ClientOptions): ChildProcess =>
  fork(join(import.meta.dirname, 'requests-client.ts'), [JSON.stringify(options)]);

async function answerOf(client: ChildProcess): Promise<unknown> {
  const ended = once(client, 'exit').then(([code]) => {
    throw new Error(`a client of the pservers ended with ${code}`);
  });
  ended.catch(() => {});
  const [answer] = (await Promise.race([once(client, 'message'), ended])) as [unknown];
  return answer;
}
