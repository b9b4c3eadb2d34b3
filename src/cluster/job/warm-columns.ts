/**
 * Whether a job with a warm start reads its columns as the job did that its parameters come from. Rows of a table go by
 * ids, which follow from what a column is; dense parameters go by the order in which a model reads columns.
 */
import { canonicalJson } from '../../base/canonical-json.ts';
import { PaddletError } from '../../base/errors.ts';
import { type Column, makesFeatures, vocabularyOf } from '../../data/columns/column.ts';
import { readsOf } from '../../data/columns/inputs.ts';
import type { Model } from '../../model/model.ts';
import type { JobRecord } from './job-record.ts';

export interface WarmSide {
  readonly record: JobRecord;
  readonly model: Model;
}

export interface WarmColumns {
  readonly there: WarmSide;
  readonly here: WarmSide;
  /** What is taken over. */
  readonly loaded: readonly { readonly name: string }[];
  /** The folder, for messages. */
  readonly from: string;
}

/** Throws `JobInvalid` where a parameter that is taken over would mean something else in the job. */
export function refuseOtherColumns({ there, here, loaded, from }: WarmColumns): void {
  if (loaded.length === 0) return;
  const [old, own] = [there.record.job.data, here.record.job.data];
  const refuse = (what: string, before: unknown, now: unknown): never => {
    const values = `${JSON.stringify(before) ?? 'none'} in the job of ${from}, ${JSON.stringify(now) ?? 'none'} in this job`;
    throw new PaddletError('JobInvalid', `warmStart: ${what}: ${values}`, {
      hint: 'copy data.columns and model from that job, or use warmStart.vars to leave out the parameters that depend on them',
    });
  };
  const compare = (what: string, before: unknown, now: unknown): void => {
    if (canonicalJson(before ?? null) !== canonicalJson(now ?? null)) refuse(what, before, now);
  };
  if (old.columns === undefined || own.columns === undefined) {
    compare(
      'data.columns differ',
      old.columns?.map(({ name }) => name),
      own.columns?.map(({ name }) => name),
    );
    return;
  }
  const known = new Map(old.columns.map((column) => [column.name, column]));
  for (const column of own.columns) {
    const before = known.get(column.name);
    if (before === undefined || !(makesFeatures(before) || makesFeatures(column))) continue;
    const [was, is] = [kindOf(before), kindOf(column)];
    for (const field of Object.keys({ ...was, ...is })) {
      compare(`data.columns.${column.name}.${field} differs`, was[field], is[field]);
    }
  }
  const names = new Set(loaded.map(({ name }) => name));
  const [before, now] = [ordersOf(there, names), ordersOf(here, names)];
  for (const what of new Set([...before.keys(), ...now.keys()])) compare(what, before.get(what), now.get(what));
}

/** What decides the ids of a column and the numbers that go with them, by the field of the job file. */
function kindOf(column: Column): Record<string, unknown> {
  const { type } = column;
  switch (type) {
    case 'number':
      return {
        type,
        normalize: column.quantiles === undefined ? column.normalize : undefined,
        quantiles: column.quantiles,
      };
    case 'category':
    case 'categories':
      return { type, ids: column.ids, vocabulary: vocabularyOf(column), buckets: column.buckets };
    case 'cross':
      return { type, of: column.of, buckets: column.buckets };
    default:
      return { type };
  }
}

/** Lists whose order matters to what is taken over, by what they are. */
function ordersOf({ record, model }: WarmSide, loaded: ReadonlySet<string>): Map<string, readonly string[]> {
  const orders = new Map<string, readonly string[]>();
  const columns = record.job.data.columns ?? [];
  const { dense, sparse } = model.parameters;
  const reads = readsOf({ columns, input: model.input, reads: model.reads });
  if (dense.some(({ name }) => loaded.has(name))) {
    orders.set('number columns differ, or their order', reads.numbers);
    if (model.input === 'columns') {
      sparse.forEach(({ name, width }, table) => {
        // The weights of a linear part are added up, in whatever order.
        if (width > 1) orders.set(`columns of ${name} differ, or their order`, reads.sparse[model.lookups[table]!]!);
      });
    }
    const label = columns.find((column) => column.type === 'label');
    if (model.task === 'multiclass' && label?.classes !== undefined)
      orders.set('classes of the label differ', label.classes);
  }
  // The vectors of a feature are cut into one for each field.
  if (model.readsFields && loaded.has('v')) orders.set('columns differ, or their order', reads.sparse.flat());
  return orders;
}
