/** The peers that train by themselves. All read the data before they are timed. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ENGINE_OPTIONS } from '../../build-steps/engine-options.ts';
import { compileNative } from '../native.ts';
import { findPython } from '../python.ts';

const run = promisify(execFile);

export type ModelName = 'lr' | 'fm' | 'softmax' | 'mlp';

export interface Task {
  readonly model: ModelName;
  /** Files, as `DataSet.plain`. */
  readonly plain: readonly string[];
  readonly passes: number;
  readonly learningRate: number;
  readonly batchSize: number;
  readonly job: unknown;
  /** Folder of the job's relative paths. */
  readonly dataFolder: string;
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

export interface Printed {
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
    if (model === 'mlp') return undefined;
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
    if (model === 'fm' || model === 'mlp') return undefined;
    const script = join(import.meta.dirname, 'sklearn-peer.py');
    // Ten classes are ten models to it.
    const passes = model === 'softmax' ? 1 : PASSES;
    const { stdout } = await run(python, [script, model, `${passes}`, `${learningRate}`, ...plain]);
    return toTrained(stdout, passes);
  };
}

/** The model of the job in one process, without a wire. */
export function alonePeer(folder: string): Peer {
  const script = join(import.meta.dirname, 'alone.ts');
  return async ({ job, dataFolder, passes }) => {
    const path = join(folder, 'alone.json');
    writeFileSync(path, JSON.stringify(job));
    const { stdout } = await run(process.execPath, [...ENGINE_OPTIONS, script, path, dataFolder]);
    return toTrained(stdout, passes);
  };
}
