/** Rules between `training.classWeights` and the classes that the model has. */
import { taskOf } from '../model/registry.ts';
import type { JobFile } from './schema.ts';

interface Broken {
  readonly path: readonly string[];
  readonly atKey: boolean;
  readonly message: string;
}

export function classWeightRules({ data, model, training }: JobFile): Broken[] {
  const task = taskOf(model);
  const path = ['training', 'classWeights'];
  const names = Object.keys(training.classWeights ?? {});
  if (names.length > 0 && task === 'regression') {
    const message = `only for models with classes: ${model.type} has task regression; give the records weights instead`;
    return [{ path, atKey: true, message }];
  }
  const texts = classTextsOf(data);
  return names.flatMap((name) => {
    const message = task === 'binary' ? notBinary(name) : notClass(name, texts);
    return message === undefined ? [] : [{ path: [...path, name], atKey: true, message }];
  });
}

function notBinary(name: string): string | undefined {
  if (name === '0' || name === '1') return undefined;
  return name === '-1'
    ? 'expected 0 or 1: records with label -1 belong to class 0; name class 0'
    : `expected 0 or 1, the classes of a binary model, got ${name}`;
}

/** How many classes there are is known of the data, unless the job lists their texts. */
function notClass(name: string, texts: readonly string[] | undefined): string | undefined {
  if (!/^(0|[1-9]\d{0,9})$/.test(name)) {
    const number = texts?.indexOf(name) ?? -1;
    return `expected the number of a class, counted from 0, got ${name}${number < 0 ? '' : `, which is ${number}`}`;
  }
  if (texts === undefined || Number(name) < texts.length) return undefined;
  return `expected a class from 0 to ${texts.length - 1}: the label column has ${texts.length} classes`;
}

/** Texts of the label column, in the order of the classes. */
const classTextsOf = ({ columns = {} }: JobFile['data']): readonly string[] | undefined =>
  Object.values(columns)
    .map((column) => (typeof column === 'object' && 'classes' in column ? column.classes : undefined))
    .find((texts) => texts !== undefined);
