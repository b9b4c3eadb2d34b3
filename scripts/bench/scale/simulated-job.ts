/**
 * The job of a simulated cluster. Its record stands for all records of a push, and has one id for each pserver: what
 * computing them takes, and how many bytes they are, is what has been measured of real ones.
 */
import { jobFileSchema, resolveJob } from '../../../src/job/schema.ts';
import { settleRecords } from '../../../src/job/settle-records.ts';
import { noMetrics } from '../../../src/model/metrics.ts';
import type { Batch, Model, StepResult } from '../../../src/model/model.ts';
import { shardOfRow } from '../../../src/tensor/shard-hash.ts';
import { type ClusterShape, SMALL } from '../../../test/sim/shape.ts';
import { DATA_DIR, JOB_NAME, sizesOf, type Workload } from '../../../test/sim/workload.ts';
import type { ClusterSize } from './walls.ts';

const TABLE = 'rows';
/** Nothing is to end but the job: so much time passes before a lease ends, or an attempt is given up. */
const LONG = '10m';

export interface SimulatedJob {
  readonly size: ClusterSize;
  readonly tasks: number;
  readonly pushesPerTask: number;
  /** Time to compute one push. */
  readonly stepMs: number;
}

/** One unit for each pserver, and one shard for each unit. */
export const shapeOf = ({ pservers, trainers }: ClusterSize): ClusterShape => ({
  ...SMALL,
  ...{ pservers, mostPservers: pservers, trainers, shards: pservers, units: pservers },
});

export const DATA_PATH = `${DATA_DIR}/train/records`;

/** Undefined fields of the workload are for runs with faults. */
export function simulatedWorkload({ size, tasks, pushesPerTask, stepMs }: SimulatedJob): Workload {
  const file = jobFileSchema.parse({
    name: JOB_NAME,
    data: { train: 'train', format: 'libsvm', recordsPerTask: pushesPerTask, cache: 'off' },
    model: { type: 'lr' },
    optimizer: { type: 'sgd', learningRate: 1 },
    training: { batchSize: 1 },
    cluster: { ...sizesOf(shapeOf(size)), leaseTtl: LONG },
    tasks: { timeout: LONG },
    checkpoint: { interval: 'off' },
  });
  return {
    job: settleRecords(resolveJob(file), pushesPerTask),
    files: new Map(),
    records: Array.from({ length: tasks * pushesPerTask }, () => true),
    hopeless: new Set(),
    poison: undefined,
    createModel: (_, process) => modelThatTakes(() => process.processor?.spend(stepMs)),
    expected: () => ({}),
  };
}

/** All records of the job, which all machines see. */
export function simulatedData({ size, tasks, pushesPerTask }: SimulatedJob): Uint8Array {
  const features = idsOnEach(size.pservers)
    .map((id) => `${id}:1`)
    .join(' ');
  const lines = Array.from({ length: tasks * pushesPerTask }, (_, record) => `${record % 2} ${features}\n`);
  return new TextEncoder().encode(lines.join(''));
}

/** An id in each shard, in ascending order. */
function idsOnEach(shards: number): number[] {
  const found = new Map<number, number>();
  for (let id = 1; found.size < shards; id++) {
    const shard = shardOfRow(TABLE, BigInt(id), shards);
    if (!found.has(shard)) found.set(shard, id);
  }
  return [...found.values()].sort((a, b) => a - b);
}

function modelThatTakes(time: () => void): Model {
  const metricsOf = (records: number) => ({ ...noMetrics, records });
  return {
    type: 'simulated',
    input: 'sparse',
    task: 'binary',
    parameters: { dense: [], sparse: [{ name: TABLE, width: 1, initializer: { type: 'zeros' } }] },
    lookups: [0],
    step(batch: Batch): StepResult {
      time();
      const { records, sparse } = batch;
      return { dense: [], sparse: [new Float32Array(sparse[0]!.count)], metrics: metricsOf(records) };
    },
    evaluate: ({ records }) => ({ metrics: metricsOf(records), scores: new Float32Array(records) }),
  };
}
