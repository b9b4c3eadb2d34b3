/**
 * A process with the client of a trainer and no model: `requests.ts` starts one for each trainer of the job. It says
 * when it has pushed each of its batches once; then it is told for how long to continue, and tells how many records
 * that were.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createParameterClient,
  type Gradients,
  type ParameterClient,
} from '../../../src/cluster/client/parameter-client.ts';
import { modelOf } from '../../../src/cluster/job/job-model.ts';
import { type JobRecord, readJobRecord } from '../../../src/cluster/job/job-record.ts';
import { openLiveCluster } from '../../../src/commands/base/live-cluster.ts';
import { createHost, ownIdentity } from '../../../src/host/host.ts';
import { defaultChroot, keysOf } from '../../../src/store/keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { elementCount } from '../../../src/tensor/blocks.ts';
import { createIdRouter, type IdList, type IdRouter } from '../../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';

export interface ClientOptions {
  readonly storeUrl: string;
  /** Name of the job. */
  readonly name: string;
  readonly path: string;
  /** Which of its clients this is, of how many. */
  readonly part: number;
  readonly parts: number;
}

export interface Exchanged {
  readonly records: number;
  readonly seconds: number;
}

interface Task {
  readonly task: number;
  readonly batches: readonly { readonly ids: IdList; readonly records: number }[];
}

const options = JSON.parse(process.argv[2]!) as ClientOptions;
const never = new AbortController().signal;
const host = createHost({ logLevel: 'error', logFormat: 'text', identity: ownIdentity('bench') });
const keys = keysOf(defaultChroot(options.name));

async function findJob(): Promise<{ store: Awaited<ReturnType<typeof openStore>>; record: JobRecord }> {
  const store = await openStore(options.storeUrl, host);
  for (;;) {
    const record = (await store.get(keys.job)) && (await readJobRecord(store, keys));
    if (record !== undefined) return { store, record };
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** The distinct ids of each batch of the tasks that are of this client. */
function readTasks({ job }: JobRecord, router: IdRouter): Task[] {
  const lines = readFileSync(options.path, 'latin1').trimEnd().split('\n');
  const { recordsPerTask } = job.data;
  const { batchSize } = job.training;
  const tasks: Task[] = [];
  for (let task = options.part; task * recordsPerTask < lines.length; task += options.parts) {
    const ofTask = lines.slice(task * recordsPerTask, (task + 1) * recordsPerTask);
    const batches: { ids: IdList; records: number }[] = [];
    for (let at = 0; at < ofTask.length; at += batchSize) {
      const some = ofTask.slice(at, at + batchSize);
      batches.push({ ids: distinctIds(some, router), records: some.length });
    }
    tasks.push({ task, batches });
  }
  return tasks;
}

function distinctIds(lines: readonly string[], router: IdRouter): IdList {
  const ids = lines.flatMap((line) => [...line.matchAll(/ (\d+):/g)].map(([, id]) => Number(id)));
  const halves = new Uint32Array(2 * ids.length);
  ids.forEach((id, at) => {
    halves[2 * at] = id;
  });
  const { ids: distinct, distinct: count } = router.dedupe(new Uint8Array(halves.buffer), ids.length);
  return { ids: distinct.slice(0, 8 * count), count };
}

/** Like a trainer: one push is on its way while the rows of the next batch are pulled. */
class Exchange {
  readonly #client: ParameterClient;
  readonly #spec: ParameterSpec;
  readonly #tasks: readonly Task[];
  /** An array of which every gradient is the beginning. */
  readonly #floats: Float32Array;
  #pass = 0;

  constructor(client: ParameterClient, spec: ParameterSpec, tasks: readonly Task[]) {
    this.#client = client;
    this.#spec = spec;
    this.#tasks = tasks;
    const most = Math.max(...tasks.flatMap(({ batches }) => batches.map(({ ids }) => ids.count)));
    const ofRows = spec.sparse.map(({ width }) => most * width);
    this.#floats = new Float32Array(Math.max(...ofRows, ...spec.dense.map(elementCount))).fill(0.001);
  }

  /** One pass, or what of passes takes so long. */
  async run(forMs: number | undefined): Promise<Exchanged> {
    const beganMs = performance.now();
    const isOver = (): boolean => forMs !== undefined && performance.now() - beganMs >= forMs;
    let records = 0;
    do {
      for (const task of this.#tasks) {
        if (isOver()) break;
        records += await this.#runTask(task);
      }
      this.#pass += 1;
    } while (forMs !== undefined && !isOver());
    return { records, seconds: (performance.now() - beganMs) / 1000 };
  }

  async #runTask({ task, batches }: Task): Promise<number> {
    let pushing: Promise<unknown> = Promise.resolve();
    let good = 0;
    for (const [push, { ids, records }] of batches.entries()) {
      const [pulled] = await Promise.all([this.#client.pull(this.#idsOfTables(ids), never), pushing]);
      this.#client.recycle(pulled);
      good += records;
      const header = { pass: this.#pass, task, push, last: push === batches.length - 1, good };
      pushing = this.#client.push(header, this.#gradients(ids), never);
    }
    await pushing;
    return good;
  }

  #idsOfTables(ids: IdList): IdList[] {
    return this.#spec.sparse.map(() => ids);
  }

  #gradients(ids: IdList): Gradients {
    const { dense, sparse } = this.#spec;
    return {
      ids: this.#idsOfTables(ids),
      dense: dense.map((one) => this.#floats.subarray(0, elementCount(one))),
      sparse: sparse.map(({ width }) => this.#floats.subarray(0, ids.count * width)),
    };
  }
}

const { store, record } = await findJob();
const { shards } = record.job.cluster;
const router = createIdRouter({ shards });
const { group } = openLiveCluster({ host, store, keys, record }, (error) => {
  throw error;
});
const spec = modelOf(record).parameters;
const exchange = new Exchange(createParameterClient({ spec, shards, group, router }), spec, readTasks(record, router));
await exchange.run(undefined);
const told = once(process, 'message');
process.send!('ready');
const [{ forMs }] = (await told) as [{ forMs: number }];
process.send!(await exchange.run(forMs));
