/** The checks of the machine itself. */
import { join, resolve } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { freeDiskBytes, machine } from '../../host/machine.ts';
import { NO_JOIN_TOKEN } from '../../protocol/join/token.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import { openStore } from '../../store/open-store.ts';
import { SHARD_ACTION } from '../../tensor/parameters.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { versionLine } from '../version.ts';
import type { Check } from './check.ts';

const GB = 1e9;
const LEAST_MEMORY_BYTES = 1 * GB;
const LEAST_DISK_BYTES = 1 * GB;

/** What `ownStore` tries. A transaction of these keys is several times what SQLite keeps in memory by default. */
const LEASE_TTL_MS = 5_000;
const TRIED_KEYS = 8;
const TRIED_VALUE = 'x'.repeat(32_768);

export function machineChecks(host: Host, dir: string): Check[] {
  return [
    { name: 'program', run: async () => ({ status: 'ok', detail: versionLine() }) },
    { name: 'memory', run: async () => memory() },
    { name: 'kernels', run: async () => kernels() },
    { name: 'network', run: () => network(host) },
    { name: 'disk', run: () => disk(host, resolve(dir)) },
  ];
}

const gb = (bytes: number): string => `${(bytes / GB).toFixed(1)} GB`;

function memory(): { status: 'ok' | 'warn'; detail: string; hint?: string } {
  const { cores, memoryBytes, memoryLimitBytes } = machine();
  const limit = memoryLimitBytes === undefined ? '' : `, of which this process may use ${gb(memoryLimitBytes)}`;
  const detail = `${cores} cores, ${gb(memoryBytes)}${limit}`;
  if ((memoryLimitBytes ?? memoryBytes) >= LEAST_MEMORY_BYTES) return { status: 'ok', detail };
  return { status: 'warn', detail, hint: 'a small cluster on one machine needs about 1 GB of memory' };
}

/** Applies one gradient and reads the values back: WebAssembly with SIMD is available and computes correctly. */
function kernels(): { status: 'ok'; detail: string } {
  const parameters = createParameters({
    spec: {
      dense: [
        {
          name: 'w',
          shape: [4],
          initializer: { type: 'constant', value: 1 },
          optimizer: { type: 'sgd', learningRate: 0.5, l2: 0 },
        },
      ],
      sparse: [],
    },
    seed: 1,
    shards: 1,
  });
  parameters.addShard(0);
  const block = new Uint32Array([0]);
  const gradient = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);
  parameters.push([], [{ parameter: 0, blocks: block, gradients: gradient }], new Uint8Array([SHARD_ACTION.apply]));
  const values = new Float32Array(4);
  parameters.pullDense(0, block, new Uint8Array(values.buffer));
  const expected = [0.5, 0, -0.5, -1];
  if (values.some((value, at) => value !== expected[at])) {
    throw new PaddletError('Internal', `one step of SGD gave ${values.join(', ')} instead of ${expected.join(', ')}`);
  }
  return { status: 'ok', detail: 'WebAssembly with SIMD works; one step of SGD is exact' };
}

/** Opens a port as a role does and asks it over HTTP. */
async function network(host: Host): Promise<{ status: 'ok'; detail: string }> {
  const { clock, random, log } = host;
  const server = await createWebSocketNetwork({ clock, random, log, joinToken: NO_JOIN_TOKEN }).listen({
    listen: '127.0.0.1:0',
    handler: () => {
      throw new PaddletError('WrongRole', 'this is paddlet doctor');
    },
    http: async () => ({ status: 200, contentType: 'text/plain', body: 'ok' }),
  });
  try {
    const answer = await fetch(`http://127.0.0.1:${server.port}/healthz`, { headers: { connection: 'close' } });
    const body = await answer.text();
    if (body !== 'ok')
      throw new PaddletError(
        'Internal',
        `expected the answer ok from a port on 127.0.0.1, got ${answer.status} ${body}`,
      );
    return { status: 'ok', detail: `opened port ${server.port} on 127.0.0.1 and reached it over HTTP` };
  } finally {
    await server.close();
  }
}

/** Writes a file the way a checkpoint is written. */
async function disk(
  { disk, random }: Host,
  folder: string,
): Promise<{ status: 'ok' | 'warn'; detail: string; hint?: string }> {
  await disk.makeFolder(folder);
  const path = join(folder, `doctor-${random.uuid()}`);
  const file = await disk.create(`${path}.partial`);
  try {
    await file.write(new Uint8Array(4096), 0);
    await file.sync();
    await file.close();
    await disk.rename(`${path}.partial`, path);
    await disk.syncFolder(folder);
  } finally {
    await disk.remove(`${path}.partial`);
    await disk.remove(path);
  }
  const free = await freeDiskBytes(folder);
  const detail = `wrote, synced and renamed a file in ${folder}; ${gb(free)} free`;
  if (free >= LEAST_DISK_BYTES) return { status: 'ok', detail };
  return { status: 'warn', detail, hint: 'free disk space: checkpoints and decompressed data need it' };
}

/** For a job whose store is a file in its folder: makes such a store, and changes it as the processes of a job do. */
export function ownStoreCheck(host: Host, dir: string): Check {
  return { name: 'store', after: 'disk', run: () => ownStore(host, resolve(dir)) };
}

async function ownStore(host: Host, folder: string): Promise<{ status: 'ok'; detail: string }> {
  const path = join(folder, `doctor-${host.random.uuid()}.db`);
  const store = await openStore(`sqlite:${path}`, host);
  try {
    const { leaseId } = await store.leaseGrant(LEASE_TTL_MS);
    const puts = Array.from({ length: TRIED_KEYS }, (_, index) => ({
      put: `/doctor/${index}`,
      value: TRIED_VALUE,
      leaseId,
    }));
    // Values that are there already: SQLite keeps the old ones until the transaction ends.
    for (let round = 0; round < 2; round++) await store.txn({ if: [], then: puts });
    await store.leaseRevoke(leaseId);
  } finally {
    await store.close();
    for (const end of ['', '-wal', '-shm']) await host.disk.remove(`${path}${end}`);
  }
  return { status: 'ok', detail: `created a store in ${folder} and wrote to it` };
}
