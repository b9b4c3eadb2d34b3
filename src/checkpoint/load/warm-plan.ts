/**
 * Warm start, first half: what a new job takes over from another job's checkpoint. Decided once, before the job begins,
 * and kept with the job: each pserver then loads from the same files whenever it starts again. Files are named by UUIDs
 * and never change, so naming them fixes their content.
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { CANDIDATE_BYTES } from '../../tensor/admission/admission.ts';
import { elementCount } from '../../tensor/blocks.ts';
import { optimizerLayout, type Trained, type TrainedSpec } from '../../tensor/optimizer.ts';
import type { DenseSpec, ParameterSpec, SparseSpec } from '../../tensor/spec.ts';
import { hasCandidates, placeOf, type RowLayout, rowBytes, type StoredTable } from '../../tensor/stored-tables.ts';
import { corrupt } from '../file/files.ts';
import { UUID_PATTERN } from '../file/paths.ts';
import { VALUES_ONLY } from '../file/row-pieces.ts';
import { damagedTensors } from '../file/scan.ts';
import { type CheckpointSet, expectWhole, nameExpression } from '../set/checkpoint-set.ts';
import { countRows } from '../set/shard-rows.ts';

const count = z.int().min(0);
const name = z.string().min(1).max(LIMITS.parameterNameBytes);

export const warmPlanSchema = z.strictObject({
  /** The folder, absolute. */
  from: z.string(),
  /** The job that the checkpoint is of. */
  job: z.string(),
  jobId: z.string(),
  files: z
    .array(z.strictObject({ path: z.string(), uuid: z.string().regex(UUID_PATTERN), bytes: count }))
    .min(1)
    .max(LIMITS.manifestFiles),
  optimizerState: z.boolean(),
  /** What is taken over: blocks of a dense parameter, rows or candidates of a table. */
  loaded: z.array(z.strictObject({ name, kind: z.enum(['dense', 'sparse', 'candidates']), rows: count, bytes: count })),
  /** Chosen, not in the checkpoint, and therefore all zeros at first. */
  zeroed: z.array(name),
  /** Not taken over: as the job's own initializers make them. */
  initialized: z.array(name),
  /** Variables of the checkpoint that are not loaded. */
  leftOut: z.array(name),
  /** Tables that are loaded without their candidates, because the two jobs have different admission rules. */
  candidatesLeftOut: z.array(name).optional(),
});
export type WarmPlan = z.infer<typeof warmPlanSchema>;

export interface WarmWish {
  readonly from: string;
  readonly vars: readonly string[];
  readonly optimizerState: boolean;
  readonly missing: 'fail' | 'initialize' | 'zero';
}

export interface PlanWarmOptions {
  readonly wish: WarmWish;
  /** The new job's. */
  readonly spec: TrainedSpec;
  /** Bytes read since the last call. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * What is taken over of the files at `wish.from`. Checks every file whole, by its checksums. Throws `JobInvalid` when
 * the checkpoint does not fit the job (width, shape, optimizer, a chosen variable that is missing),
 * `CheckpointMissing`, `CheckpointCorrupt`.
 */
export async function planWarmStart(set: CheckpointSet, options: PlanWarmOptions): Promise<WarmPlan> {
  expectWhole(set);
  const { wish, spec, onBytes } = options;
  const { facts, parts } = set;
  const names = [...spec.dense, ...spec.sparse].map((one) => one.name);
  const chosen = chooseNames(names, wish.vars);
  const known = new Set([...facts.parameters.dense, ...facts.parameters.sparse].map((one) => one.name));
  const missing = chosen.filter((one) => !known.has(one));
  if (missing.length > 0 && wish.missing === 'fail') {
    throw misfit(`${missing.join(', ')} is missing; the checkpoint contains ${[...known].join(', ')}`, wish.from, {
      hint: 'choose other variables with warmStart.vars, or set warmStart.missing to initialize or zero',
    });
  }
  const taken = new Set(chosen.filter((one) => known.has(one)));
  refuseMisfits(set, spec, taken, wish.from);
  if (wish.optimizerState) refuseOtherOptimizers(set, spec, taken, wish.from);
  const loaded = await contentOf(set, spec, taken, wish.optimizerState);
  for (const { reader } of parts) {
    const damaged = await damagedTensors(reader.source, onBytes);
    if (damaged.length > 0) throw corrupt(reader.path, `damaged: ${damaged.join(', ')}`);
  }
  const zeroed = wish.missing === 'zero' ? missing : [];
  const candidatesLeftOut = facts.parameters.sparse
    .filter(hasCandidates)
    .map((there) => there.name)
    .filter((one) => taken.has(one) && !keepsCandidates(facts.parameters, spec, one));
  return {
    from: wish.from,
    job: facts.jobName,
    jobId: facts.jobId,
    files: parts.map(({ path, reader }) => ({ path, uuid: reader.facts.uuid, bytes: reader.source.bytes })),
    optimizerState: wish.optimizerState,
    loaded,
    zeroed,
    initialized: names.filter((one) => !taken.has(one) && !zeroed.includes(one)),
    leftOut: [...known].filter((one) => !taken.has(one)),
    ...(candidatesLeftOut.length > 0 && { candidatesLeftOut }),
  };
}

function misfit(what: string, from: string, options: { hint?: string } = {}): PaddletError {
  return new PaddletError('JobInvalid', `warmStart: the checkpoint in ${from} does not fit the job: ${what}`, options);
}

function chooseNames(names: readonly string[], patterns: readonly string[]): string[] {
  const expressions = patterns.map((pattern) => {
    const expression = nameExpression(pattern);
    if (!names.some((one) => expression.test(one))) {
      throw new PaddletError(
        'JobInvalid',
        `warmStart.vars: ${pattern} does not match a parameter or table of the model`,
        {
          hint: `choose from the parameters and tables of the model: ${names.join(', ')}`,
        },
      );
    }
    return expression;
  });
  return names.filter((one) => expressions.some((expression) => expression.test(one)));
}

function refuseMisfits({ facts }: CheckpointSet, spec: ParameterSpec, taken: ReadonlySet<string>, from: string): void {
  const shapeOf = (of: ParameterSpec, wanted: string): string | undefined => {
    const dense = of.dense.find((one) => one.name === wanted);
    if (dense !== undefined) return `a dense parameter of shape [${dense.shape.join(', ')}]`;
    const sparse = of.sparse.find((one) => one.name === wanted);
    return sparse && `a table of width ${sparse.width}`;
  };
  for (const one of taken) {
    const there = shapeOf(facts.parameters, one);
    const here = shapeOf(spec, one);
    if (there !== here) throw misfit(`${one} is ${there} in the checkpoint, but ${here} in the job`, from);
  }
}

function refuseOtherOptimizers(
  { facts }: CheckpointSet,
  spec: TrainedSpec,
  taken: ReadonlySet<string>,
  from: string,
): void {
  const all = ({ dense, sparse }: TrainedSpec): readonly Trained<DenseSpec | SparseSpec>[] => [...dense, ...sparse];
  const there = new Map(all(facts.parameters).map(({ name: one, optimizer }) => [one, optimizer.type]));
  for (const { name: one, optimizer } of all(spec)) {
    if (!taken.has(one) || there.get(one) === optimizer.type) continue;
    throw misfit(
      `the optimizer of ${one} is ${there.get(one)} in the checkpoint, but ${optimizer.type} in the job`,
      from,
      {
        hint: 'set warmStart.optimizerState: false to load only the values',
      },
    );
  }
}

/** Whether both jobs give rows to the ids of a table by the same counts. */
function keepsCandidates(there: TrainedSpec, here: TrainedSpec, table: string): boolean {
  const [old, own] = [there, here].map(({ sparse }) => sparse.find((one) => one.name === table)?.admission);
  return old?.type === 'count' && own?.type === 'count' && old.min === own.min;
}

async function contentOf(
  { facts, shards }: CheckpointSet,
  spec: TrainedSpec,
  taken: ReadonlySet<string>,
  withState: boolean,
): Promise<WarmPlan['loaded']> {
  const stateOf = ({ optimizer }: Trained<DenseSpec | SparseSpec>): RowLayout =>
    withState ? { ...optimizerLayout(optimizer), seen: false } : VALUES_ONLY;
  const isTaken = (one: DenseSpec | SparseSpec): boolean => taken.has(one.name);
  const loaded: WarmPlan['loaded'] = [];
  for (const dense of spec.dense.filter(isTaken)) {
    const parameter = facts.parameters.dense.findIndex((one) => one.name === dense.name);
    let blocks = 0;
    for (const { blocksIn, shard } of shards) blocks += (await blocksIn.blockPlaces(shard, parameter)).length;
    const state = stateOf(dense);
    const bytes = 4 * elementCount(dense) * (1 + state.slots.length) + (state.steps ? 4 * blocks : 0);
    loaded.push({ name: dense.name, kind: 'dense', rows: blocks, bytes });
  }
  for (const sparse of spec.sparse.filter(isTaken)) {
    const rowsIn = async (kind: StoredTable['kind']): Promise<number> => {
      const table = placeOf(facts.parameters, kind, sparse.name);
      let rows = 0;
      for (const source of shards) rows += await countRows(source, table);
      return rows;
    };
    const rows = await rowsIn('sparse');
    loaded.push({ name: sparse.name, kind: 'sparse', rows, bytes: rows * rowBytes(sparse.width, stateOf(sparse)) });
    if (!keepsCandidates(facts.parameters, spec, sparse.name)) continue;
    const candidates = await rowsIn('candidates');
    const bytes = candidates * CANDIDATE_BYTES;
    loaded.push({ name: sparse.name, kind: 'candidates', rows: candidates, bytes });
  }
  return loaded;
}

/** The model's parameters, those that the plan wants to begin at zero with that initializer. */
export function withZeros<D extends DenseSpec, S extends SparseSpec>(
  spec: { readonly dense: readonly D[]; readonly sparse: readonly S[] },
  zeroed: readonly string[],
): { readonly dense: readonly D[]; readonly sparse: readonly S[] } {
  if (zeroed.length === 0) return spec;
  const isZeroed = new Set(zeroed);
  const zeros = <T extends DenseSpec | SparseSpec>(one: T): T =>
    isZeroed.has(one.name) ? { ...one, initializer: { type: 'zeros' } } : one;
  return { dense: spec.dense.map(zeros), sparse: spec.sparse.map(zeros) };
}
