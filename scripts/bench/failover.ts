/**
 * `npx node scripts/bench/failover.ts [--kills 100] [--pservers 3] [--replicas 2] [--at-once 1] [--proof guard|none]
 * [--ttl 15s] [--store sqlite|etcd]`: how long no push of a job with replicas counts when a pserver is killed.
 *
 * A client pushes without end. Each time that `/pserver_cluster_status` says OK, random pservers get SIGKILL. The time
 * is that from the signal to the acknowledgement of a push that was sent after it: each push changes all units, so it
 * counts in those of which the dead were primary. With `--proof guard` each pserver has a parent that ends its lease;
 * with `none` the lease runs out. In the end every acknowledged push is read back: exit code 1 if one is lost or counts
 * twice.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { EtcdServer } from '../../test/etcd-server.ts';
import { type Acknowledged, Recorder, recordedJob } from '../../test/executable/recorded-pushes.ts';
import { median, percentile } from './figure.ts';
import { HandCluster } from './replicated/hand-cluster.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    pservers: { type: 'string', default: '3' },
    replicas: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '1' },
    proof: { type: 'string', default: 'guard' },
    /** Default: so long that no lease runs out where there is proof, else 2 s. */
    ttl: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    tasks: { type: 'string', default: '2' },
    /** A folder that is kept, with the logs. */
    folder: { type: 'string' },
    'log-level': { type: 'string', default: 'info' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const [kills, pservers, replicas, atOnce] = [values.kills, values.pservers, values.replicas, values['at-once']].map(
  Number,
) as [number, number, number, number];
const isGuarded = values.proof === 'guard';
const leaseTtl = values.ttl ?? (isGuarded ? '15s' : '2s');
const JOB = 'bench-failover';
/** Kills. */
const SHOWN_EVERY = 20;
const BOUNDS_MS = [50, 100, 200, 300, 400, 500, 700, 1000, 1500, 2000, 2500, 3000, 5000, 10_000];
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
mkdirSync(folder, { recursive: true });
const print = (line: string): void => void process.stdout.write(`${line}\n`);

function histogram(times: readonly number[]): string[] {
  let below = 0;
  return [...BOUNDS_MS, Number.POSITIVE_INFINITY].flatMap((bound) => {
    const upTo = times.filter((ms) => ms <= bound).length;
    const count = upTo - below;
    below = upTo;
    const label = bound === Number.POSITIVE_INFINITY ? 'more' : `≤ ${bound} ms`;
    return count === 0 ? [] : [`${label.padStart(10)} ${String(count).padStart(4)} ${'#'.repeat(count)}`];
  });
}

/** Different ones, in no order. */
function some(count: number): number[] {
  const all = Array.from({ length: pservers }, (_, index) => index);
  return Array.from({ length: count }, () => all.splice(Math.floor(Math.random() * all.length), 1)[0]!);
}

const etcd = values.store === 'etcd' ? await EtcdServer.start() : undefined;
const storeUrl = etcd?.url ?? `sqlite:${join(folder, 'store.db')}`;
const cluster = new HandCluster({
  ...{ paddlet: resolve(values.paddlet), folder, storeUrl, isGuarded },
  job: recordedJob(folder, JOB, { pservers, replicas, leaseTtl }),
  env: { PADDLET_LOG_LEVEL: values['log-level'] },
});
cluster.start(pservers);
const recorder = await Recorder.open({
  ...{ storeUrl, job: JOB },
  onFatal: (error) => {
    throw error;
  },
});
recorder.start(Number(values.tasks));

/** The first push that was begun after that and is acknowledged. */
function nextPush(sinceMs: () => number): Promise<Acknowledged> {
  const { promise, resolve: found } = Promise.withResolvers<Acknowledged>();
  recorder.onAcknowledged = (push) => {
    if (push.beganMs > sinceMs()) found(push);
  };
  return promise;
}

await recorder.untilStatus('OK', pservers);
print(`${pservers} pservers, ${replicas} copies, ${atOnce} killed at once, proof: ${values.proof}, lease ${leaseTtl}`);
print(`load ${loadavg()[0]!.toFixed(1)}`);
const times: number[] = [];
const repairs: number[] = [];
for (let kill = 0; kill < kills; kill++) {
  await recorder.untilStatus('OK', pservers);
  const victims = some(atOnce);
  let killedMs = Number.POSITIVE_INFINITY;
  const next = nextPush(() => killedMs);
  const unhealthy = recorder.untilStatus('UNHEALTHY');
  const killing = victims.map((index) => cluster.kill(index));
  killedMs = performance.now();
  const { endedMs } = await next;
  times.push(endedMs - killedMs);
  await Promise.all([...killing, unhealthy]);
  await recorder.untilStatus('OK', pservers);
  repairs.push(performance.now() - killedMs);
  if (values['log-level'] === 'debug')
    print(`${victims.join()} ${times.at(-1)!.toFixed(0)} ms at ${new Date().toISOString()}`);
  else if (times.length % SHOWN_EVERY === 0)
    print(`${times.length} kills, median so far ${median(times).toFixed(0)} ms`);
}
await recorder.stop();
const { pushes, lost, twice, total } = await recorder.readBack();
const ms = (value: number): string => `${value.toFixed(0)} ms`;
print(
  `no push counted: median ${ms(median(times))}, 99 % ${ms(percentile(times, 0.99))}, most ${ms(Math.max(...times))}`,
);
print(`OK again after:  median ${ms(median(repairs))}, most ${ms(Math.max(...repairs))}`);
for (const line of histogram(times)) print(line);
print(
  `${pushes} acknowledged pushes read back: ${lost.length} lost, ${twice.length} twice; the sum of all is ${total}`,
);
const restored = recorder.history.filter(({ recovery }) => recovery > 0).length;
print(`${recorder.wrong.length} reads in between were wrong; recovery numbers above 0: ${restored}`);
print(`load ${loadavg()[0]!.toFixed(1)}`);
const isWhole = lost.length + twice.length + recorder.wrong.length + restored === 0 && total === pushes;
for (const line of [...lost, ...twice, ...recorder.wrong].slice(0, 20)) print(line);
cluster.killAll();
await recorder.close();
await etcd?.stop();
if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
process.exit(isWhole ? 0 : 1);
