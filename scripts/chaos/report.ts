/** What is printed when a chaos run is over. */
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import type { ReferenceResult } from '../../test/sync/reference-loop.ts';
import type { Cluster } from './cluster.ts';
import type { InMoves } from './in-moves.ts';
import type { ChaosJob } from './jobs.ts';
import type { MoveWatch } from './moves.ts';

export interface Reported {
  readonly cluster: Cluster;
  readonly job: ChaosJob;
  /** In sync mode. */
  readonly plain: ReferenceResult | undefined;
  /** With --moves. */
  readonly moving: { readonly watch: MoveWatch; readonly inMoves: InMoves } | undefined;
  /** Faults by target and kind. */
  readonly hit: ReadonlyMap<string, number>;
  /** Dropped pushes by address of the pserver, as far as they were seen. */
  readonly dropped: ReadonlyMap<string, number>;
  /** The recovery number. */
  readonly recovery: string | undefined;
  readonly result: JobResult | undefined;
  readonly logs: string;
  readonly seconds: number;
  readonly print: (line: string) => void;
}

export function report(of: Reported): void {
  const { cluster, job, moving, plain, hit, dropped, recovery, result, print } = of;
  const table = (rows: Iterable<readonly [string, unknown]>): void => {
    for (const [what, value] of rows) print(`  ${what.padEnd(34)} ${String(value)}`);
  };
  print(`\nfaults (${[...hit.values()].reduce((sum, count) => sum + count, 0)})`);
  table([...hit].sort());
  if (moving !== undefined) {
    const { watch, inMoves } = moving;
    print(`moves (${watch.moved}, and ${watch.adopted} units taken over from the dead)`);
    const inThem = [...inMoves.hits].sort();
    print(`struck in a move (${inThem.reduce((sum, [, count]) => sum + count, 0)})`);
    table(inThem);
  }
  print('ends');
  table([...cluster.ends].sort());
  print('account');
  const repaired = masterLogs(of).flatMap((log) =>
    [...log.matchAll(/recovery \d+: replaying (\d+) tasks/g)].map(([, count]) => Number(count)),
  );
  table([
    ['passes × records', `${job.job.training.passes} × ${job.records} = ${job.job.training.passes * job.records}`],
    ['applied', result?.records.applied],
    ['lost', result?.records.lost],
    ...(plain === undefined ? [] : ([['digests', digestsText(plain, result)]] as const)),
    ['read', result?.records.read],
    ['duplicate', result?.records.duplicate],
    ['pushes dropped as duplicates, seen', [...dropped.values()].reduce((sum, count) => sum + count, 0)],
    ['recoveries', recovery ?? 0],
    ['tasks repaired (in rounds)', `${repaired.reduce((sum, count) => sum + count, 0)} (${repaired.length})`],
    ['test', JSON.stringify(result?.metrics.test)],
    ['seconds', of.seconds.toFixed(1)],
    ['machine load (1 min)', loadavg()[0]?.toFixed(1)],
  ]);
}

function digestsText(plain: ReferenceResult, result: Pick<ReferenceResult, 'modelDigest' | 'stateDigest'> | undefined) {
  const digests = (['modelDigest', 'stateDigest'] as const).map((digest) => {
    const isSame = plain[digest] === result?.[digest];
    return `${digest} ${plain[digest].slice(0, 12)} ${isSame ? 'is the same' : `is ${result?.[digest]?.slice(0, 12)}`}`;
  });
  return `of a plain loop: ${digests.join(', ')}`;
}

const masterLogs = ({ logs }: Reported): string[] =>
  readdirSync(logs)
    .filter((name) => /^master.*\.log$/.test(name))
    .map((name) => readFileSync(join(logs, name), 'utf8'));
