/** The peers that train by themselves: one thread of C, and scikit-learn. Both read the data before they are timed. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compileNative } from '../native.ts';
import { findPython } from '../python.ts';

const run = promisify(execFile);

export type ModelName = 'lr' | 'fm' | 'softmax';

export interface Task {
  readonly model: ModelName;
  /** Files, as `DataSet.plain`. */
  readonly plain: readonly string[];
  readonly passes: number;
  readonly learningRate: number;
  readonly batchSize: number;
}

export interface Trained {
  readonly recordsPerSecond: number;
  /** Mean of the last pass; not known of scikit-learn. */
  readonly loss?: number;
  readonly readSeconds: number;
  /** Microseconds of processor time, without reading. */
  readonly cpuPerRecord: number;
}

/** Undefined: this peer cannot train it, or is missing here. */
export type Peer = (task: Task) => Promise<Trained | undefined>;

interface Printed {
  readonly readMs: number;
  readonly trainMs: number;
  readonly cpuMs: number;
  readonly records: number;
  readonly loss?: number;
}

const toTrained = (out: string, passes: number): Trained => {
  const { readMs, trainMs, cpuMs, records, loss } = JSON.parse(out) as Printed;
  return {
    recordsPerSecond: (1000 * records * passes) / trainMs,
    readSeconds: readMs / 1000,
    cpuPerRecord: (1000 * cpuMs) / (records * passes),
    ...(loss === undefined ? {} : { loss }),
  };
};

/** Undefined without a C compiler. */
export function nativePeer(folder: string): Peer | undefined {
  const binary = compileNative('training', folder);
  if (binary === undefined) return undefined;
  return async ({ model, plain, passes, learningRate, batchSize }) => {
    const ofBatches = model === 'softmax' ? [`${batchSize}`] : [];
    const { stdout } = await run(binary, [model, ...plain, `${passes}`, `${learningRate}`, ...ofBatches]);
    return toTrained(stdout, passes);
  };
}

/** It repeats itself exactly: more passes tell no more. */
const PASSES = 3;

/** Undefined where it is missing. */
export async function sklearnPeer(): Promise<Peer | undefined> {
  const python = await findPython('import sklearn');
  if (python === undefined) return undefined;
  return async ({ model, plain, learningRate }) => {
    if (model === 'fm') return undefined;
    const script = join(import.meta.dirname, 'sklearn-peer.py');
    // Ten classes are ten models to it.
    const passes = model === 'softmax' ? 1 : PASSES;
    const { stdout } = await run(python, [script, model, `${passes}`, `${learningRate}`, ...plain]);
    return toTrained(stdout, passes);
  };
}
