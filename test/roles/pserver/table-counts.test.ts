/** What a pserver reports about tables with admission, eviction or a bound: in its answers, and on /metrics. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { summedTables, tableReport } from '../../../src/protocol/messages/table-report.ts';
import { OwnedShards } from '../../../src/roles/pserver/held/owned-shards.ts';
import { registerPserverMetrics } from '../../../src/roles/pserver/metrics.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import { rowsPart, SGD } from '../../tensor/fixture.ts';
import { firstHeads } from './held/owned-heads.ts';

const table = { width: 1, initializer: { type: 'zeros' }, optimizer: SGD } as const;
const job = {
  spec: {
    dense: [],
    sparse: [
      { ...table, name: 'plain' },
      { ...table, name: 'aged', hasSeen: true },
      { ...table, name: 'bounded', admission: { type: 'count', min: 2 } as const, hasSeen: true, shardBytes: 80 },
    ],
  },
  ...{ shards: 1, units: 1, tasks: 1 },
  looks: { shards: 1, evictions: [undefined, { unseenUpdates: 2 }, undefined], seenRange: 2 ** 32, spread: 64 },
};

function owned(): OwnedShards {
  const parameters = createParameters({ spec: job.spec, seed: 1, shards: 1 });
  parameters.addShard(0);
  return new OwnedShards(job, firstHeads([0]), { parameters, ledgers: new Map(), seqs: new Map() });
}

const shards = owned();
let pushes = 0;
const push = (...ids: readonly bigint[][]): void => {
  const position = { pass: 0, task: 0, push: pushes++, last: false, good: pushes };
  const sparse = ids.map((some, at) => rowsPart(at, some, new Float32Array(some.length)));
  shards.apply({ type: 'push', push: position, shards: [0], dense: [], sparse, rateScale: 1 });
};

const NONE = { rows: 0, candidates: 0 };

it('is exact about rows, candidates and bytes, and counts what updates did', () => {
  push([1n], [1n, 2n], [7n]);
  push([1n], [2n], [7n]);
  expect(shards.tables()).toEqual([
    {
      ...{ name: 'aged', rows: 2, candidates: 0, bytes: 2 * 16, updated: 1, admitted: 2, notAdmitted: 0 },
      refused: 0,
      evicted: { bound: NONE, unseen: NONE },
    },
    {
      ...{ name: 'bounded', rows: 1, candidates: 0, bytes: 16, boundBytes: 80, updated: 0, admitted: 1 },
      ...{ notAdmitted: 1, refused: 0, evicted: { bound: NONE, unseen: NONE } },
    },
  ]);
  push([], [2n], []);
  push([], [2n], [8n, 9n]);
  push([], [2n], [10n]);
  const [aged, bounded] = shards.tables();
  // A look has removed the row that only the first push named.
  expect(aged).toMatchObject({ rows: 1, evicted: { bound: NONE, unseen: { rows: 1, candidates: 0 } } });
  // A quarter of the bound has room for one candidate.
  expect(bounded).toMatchObject({ rows: 1, candidates: 1, bytes: 32, notAdmitted: 3, refused: 1 });
  expect(bounded!.evicted).toEqual({ bound: { rows: 0, candidates: 1 }, unseen: NONE });
});

it('fits the schema, and is summed over pservers', () => {
  const tables = shards.tables().map((one) => tableReport.parse(one));
  const [aged, bounded] = summedTables([tables, tables, owned().tables()]);
  expect(aged).toMatchObject({ rows: 2, bytes: 32, admitted: 4, evicted: { unseen: { rows: 2 } } });
  expect(bounded).toMatchObject({ candidates: 2, boundBytes: 240, refused: 2, evicted: { bound: { candidates: 2 } } });
  expect(summedTables([])).toEqual([]);
});

it('has series on /metrics, by table and cause', async () => {
  const registry = new Registry();
  registerPserverMetrics(
    registry,
    { monotonicMs: () => 0 },
    () => shards.stats(),
    () => undefined,
    () => undefined,
    () => shards.tables(),
  );
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('paddlet_pserver_table_'));
  expect(lines).toEqual([
    'paddlet_pserver_table_rows{table="aged"} 1',
    'paddlet_pserver_table_rows{table="bounded"} 1',
    'paddlet_pserver_table_candidates{table="aged"} 0',
    'paddlet_pserver_table_candidates{table="bounded"} 1',
    'paddlet_pserver_table_bytes{table="aged"} 16',
    'paddlet_pserver_table_bytes{table="bounded"} 32',
    'paddlet_pserver_table_bound_bytes{table="bounded"} 80',
    'paddlet_pserver_table_updated_total{table="aged"} 4',
    'paddlet_pserver_table_updated_total{table="bounded"} 0',
    'paddlet_pserver_table_admitted_total{table="aged"} 2',
    'paddlet_pserver_table_admitted_total{table="bounded"} 1',
    'paddlet_pserver_table_not_admitted_total{table="aged"} 0',
    'paddlet_pserver_table_not_admitted_total{table="bounded"} 3',
    'paddlet_pserver_table_refused_total{table="aged"} 0',
    'paddlet_pserver_table_refused_total{table="bounded"} 1',
    'paddlet_pserver_table_evicted_total{table="aged",cause="bound",kind="rows"} 0',
    'paddlet_pserver_table_evicted_total{table="aged",cause="bound",kind="candidates"} 0',
    'paddlet_pserver_table_evicted_total{table="aged",cause="unseen",kind="rows"} 1',
    'paddlet_pserver_table_evicted_total{table="aged",cause="unseen",kind="candidates"} 0',
    'paddlet_pserver_table_evicted_total{table="bounded",cause="bound",kind="rows"} 0',
    'paddlet_pserver_table_evicted_total{table="bounded",cause="bound",kind="candidates"} 1',
    'paddlet_pserver_table_evicted_total{table="bounded",cause="unseen",kind="rows"} 0',
    'paddlet_pserver_table_evicted_total{table="bounded",cause="unseen",kind="candidates"} 0',
  ]);
});
