/** Rules between splits, sampling and the rest of a job. */
import { formatOf } from '../data/formats/registry.ts';
import { taskOf } from '../model/registry.ts';
import type { JobFile } from './schema.ts';
import { fromOf, typeOf } from './selection.ts';

interface Broken {
  readonly path: readonly string[];
  readonly message: string;
}

export function selectionRules({ data, model }: JobFile): Broken[] {
  const broken: Broken[] = [];
  const refuse = (field: string[], message: string): void => void broken.push({ path: ['data', ...field], message });
  for (const field of ['split', 'negativeSampling'] as const) {
    const isHere = data[field] !== undefined;
    if (isHere && formatOf(data.format).input === 'dense') refuse([field], `not supported for format ${data.format}`);
  }
  const task = taskOf(model);
  if (data.negativeSampling !== undefined && task !== 'binary') {
    refuse(['negativeSampling'], `only for binary models: ${model.type} has task ${task}`);
  }
  return [...broken, ...splitRules(data)];
}

function splitRules(data: JobFile['data']): Broken[] {
  const { split, columns = {}, test } = data;
  if (split === undefined) return [];
  const broken: Broken[] = [];
  const refuse = (field: string[], message: string): void => void broken.push({ path: ['data', ...field], message });
  if (test !== undefined) refuse(['test'], 'not with data.split, which holds test records out of the training files');
  if ((split.test === undefined) === (split.from === undefined)) refuse(['split'], 'expected either test or from');
  if (split.by !== undefined) {
    const type = typeOf(columns[split.by]);
    if (type !== 'category' && type !== 'group') {
      refuse(['split', 'by'], `${split.by} is not a column of type category or group`);
    }
    if (split.test === undefined) refuse(['split', 'by'], 'only with test');
  }
  if (split.from === undefined) return broken;
  if (!Object.values(columns).some((column) => typeOf(column) === 'time')) {
    refuse(['split', 'from'], 'needs a column of type time');
  }
  if (Number.isNaN(fromOf(data))) refuse(['split', 'from'], 'expected a time such as 2024-06-01 or 2024-06-01T12:00');
  return broken;
}
