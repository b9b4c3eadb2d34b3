/** The columns of a file as a job reads them, for people. */
import type { JobLook, ReadColumn } from '../../data/inspection/job-columns.ts';
import { countText, fitted, left, numbersText, percent, right, type Screen, short } from './inspection-text.ts';

export function jobLookText(look: JobLook, job: string, screen: Screen): string {
  const { path, records, isWhole, bad, labels, columns } = look;
  const all = records + bad.records;
  const head = `${path} as ${job} reads it: ${isWhole ? '' : 'the first '}${all} records, ${bad.records} of them bad`;
  const rows = columns.map((column) => [
    column.name,
    column.type,
    column.missing === 0 ? '' : percent(column.missing / Math.max(1, records)),
    column.ids === undefined ? '' : countText(column.ids.distinct, column.ids.isExact),
    factsText(column, labels, records, screen),
  ]);
  const body = fitted(
    screen,
    [...left('column', 'type'), ...right('missing', 'distinct'), ...left('what it has')],
    rows,
  );
  const notes = bad.first.map(({ line, reason }) => `line ${line}: ${reason}`);
  return [head, body, notes.join('\n')].filter((text) => text !== '').join('\n\n');
}

function factsText(
  { type, ids, numbers, normalized }: ReadColumn,
  labels: JobLook['labels'],
  records: number,
  screen: Screen,
): string {
  if (type === 'label')
    return labels.map(({ label, count }) => `${short(label)} ${percent(count / records)}`).join(', ');
  if (ids !== undefined) {
    const pairs =
      ids.collisions === 0 ? 'no collisions: ids are the numbers' : `${ids.collisions.toExponential(1)} collisions`;
    return ids.sharing === undefined ? pairs : `${percent(ids.sharing)} share a bucket`;
  }
  if (numbers === undefined) return '';
  const range = normalized === undefined ? 'a category by quantiles' : `as ${normalized.map(short).join(' to ')}`;
  return `${numbersText(numbers, screen)}; ${range}`;
}
