/** Which model a table suits, and what its label is to the model. Pure. */
import { PaddletError } from '../../base/errors.ts';
import type { ColumnFacts, FrequentText } from '../../data/inspection/column-profile.ts';
import { isTwoWords, positiveOf } from '../../data/inspection/label.ts';
import type { TableLook } from '../../data/inspection/table.ts';
import { type TypedColumn, typeOf } from '../../data/inspection/types.ts';
import type { NamedModel } from '../../model/registry.ts';

export interface ModelChoice {
  readonly type: NamedModel;
  readonly task: 'binary' | 'multiclass' | 'regression';
  /** Settings of the label's column beside its type, and why they are so. */
  readonly label: Readonly<Record<string, readonly string[]>>;
  readonly why: string;
}

/** Number of values whose texts an inspection keeps. */
const CLASSES = 100;
/** Numbers of so few values are classes. */
const FEW = 20;
/** Labels that binary models take as they are, sorted. */
const BINARY = ['0,1', '-1,1', '+1,-1'];
/** What ends a label in one file and not in another, as in adult.test of UCI. */
const ENDING = /[.,;\s]+$/;
/** Models of numbers only. */
export const isOfNumbers = (type: NamedModel): boolean => type === 'softmax' || type === 'mlp';

const OTHER_LABEL = 'choose another column with --label';
const OTHER = 'choose another model with --model lr or --model fm, or another label with --label';
const SOFTMAX = 'use --model softmax or mlp, which take numeric columns, or choose another label with --label';

/** Truth values of formats that have them count as 1 and 0 where a number is expected. */
export const isTruth = ({ stored }: ColumnFacts): boolean => stored === 'boolean';

/** Columns that a model of dense inputs takes: whole numbers of few values as the numbers that they are. */
export const isDense = (facts: ColumnFacts, { type, isCode }: TypedColumn): boolean =>
  type === 'number' ||
  (type === 'category' && !isCode && (isTruth(facts) || (facts.textRecords === 0 && facts.numberRecords > 0)));

/** `test`: a second file, whose labels may be written otherwise. Throws `Usage` where no model takes the label. */
export function chooseModel(look: TableLook, wanted: NamedModel | undefined, test?: TableLook): ModelChoice {
  const at = look.label!.column;
  const facts = look.columns[at]!;
  const refuse = (message: string, hint: string): never => {
    throw new PaddletError('Usage', `the label ${facts.name} ${message}`, { hint });
  };
  const { distinct, top } = typeOf(facts);
  if (distinct < 2) refuse('has only one value', OTHER_LABEL);
  const hasNumbers = look.columns.some((column, place) => place !== at && isDense(column, typeOf(column)));
  if (wanted !== undefined && isOfNumbers(wanted) && !hasNumbers) {
    throw new PaddletError('Usage', `${wanted} needs numeric columns, but no column is numeric`, { hint: OTHER });
  }
  const areInteractions = look.columns.some(({ isId }) => isId);
  // A rating depends on the pair, which lr does not see.
  const usual = areInteractions ? 'fm' : 'lr';
  const words = wordsOf(facts);
  if (words !== undefined && wanted !== 'softmax') {
    return {
      ...{ type: wanted ?? usual, task: 'binary' },
      ...binaryLabel(
        facts,
        words,
        test?.columns.find(({ name }) => name === facts.name),
      ),
    };
  }
  const areNumbers = facts.textRecords === 0;
  const areClasses = distinct <= (areNumbers ? FEW : CLASSES);
  const type = wanted ?? (areClasses && hasNumbers && !areInteractions ? 'softmax' : usual);
  if (type !== 'softmax' && !(type === 'mlp' && (areClasses || !areNumbers))) {
    const hint = areClasses && !areInteractions ? SOFTMAX : OTHER_LABEL;
    if (!areNumbers) refuse(`has ${distinct} values, but ${type} predicts one of two values, or a number`, hint);
    return { type, task: 'regression', label: {}, why: `${distinct} different numbers` };
  }
  if (distinct > CLASSES) refuse(`has ${distinct} values: too many classes`, areNumbers ? OTHER : OTHER_LABEL);
  return {
    type,
    task: 'multiclass',
    ...classLabel(
      top.map(({ text }) => text),
      areNumbers,
    ),
  };
}

/** The two values of a label; `True`, `TRUE` and `true` are one, counted together under its most frequent spelling. */
function wordsOf(facts: ColumnFacts): readonly FrequentText[] | undefined {
  const { distinct, top } = typeOf(facts);
  if (distinct === 2) return top;
  const words = [...Map.groupBy(top, ({ text }) => text.toLowerCase()).values()].map((spellings) => ({
    text: spellings[0]!.text,
    count: spellings.reduce((sum, { count }) => sum + count, 0),
  }));
  // In other words, upper case may carry a meaning.
  return top.length === distinct && words.length === 2 && isTwoWords(words) ? words : undefined;
}

function binaryLabel(
  facts: ColumnFacts,
  values: readonly FrequentText[],
  ofTest: ColumnFacts | undefined,
): Pick<ModelChoice, 'label' | 'why'> {
  const plain = values
    .map(({ text }) => text)
    .sort()
    .join();
  const two = positiveOf(values);
  const areTruth = isTruth(facts) && (ofTest === undefined || isTruth(ofTest));
  if (two === undefined || areTruth || BINARY.includes(plain))
    return { label: {}, why: 'its values fit a binary model' };
  const spelled = (text: string): string[] => {
    const isWord = isTwoWords(values);
    const bareOf = (other: string): string => {
      const bare = other.replace(ENDING, '');
      return isWord ? bare.toLowerCase() : bare;
    };
    const others = [...typeOf(facts).top, ...(ofTest?.top ?? [])].map((other) => other.text);
    return [...new Set([text, ...others.filter((other) => bareOf(other) === bareOf(text))])];
  };
  const share = (values.find(({ text }) => text === two.positive)?.count ?? 0) / facts.records;
  return {
    label: { positive: spelled(two.positive), negative: spelled(two.negative) },
    why: `${JSON.stringify(two.positive)} counts as positive: ${two.why}, ${(100 * share).toFixed(1)} % of the records`,
  };
}

/** The classes 0, 1, … in the order of numbers, or of the alphabet. */
function classLabel(texts: readonly string[], areNumbers: boolean): Pick<ModelChoice, 'label' | 'why'> {
  const classes = [...texts].sort((a, b) => (areNumbers ? Number(a) - Number(b) : a < b ? -1 : 1));
  const why = `${classes.length} classes`;
  const isCounted = classes.every((text, place) => text === String(place));
  return { label: isCounted ? {} : { classes }, why };
}
