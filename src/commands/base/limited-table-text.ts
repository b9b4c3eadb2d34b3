/** A table with admission, eviction or a bound, for people. */
import { counted } from '../../base/counted.ts';
import type { TableReport } from '../../protocol/messages/table-report.ts';
import { bytesText } from './bytes-text.ts';

/** `952.4 kB, 95 % of 1.0 MB`. */
export function tableSizeText({ bytes, boundBytes }: TableReport): string {
  if (boundBytes === undefined) return bytesText(bytes);
  return `${bytesText(bytes)}, ${Math.round((100 * bytes) / Math.max(1, boundBytes))} % of ${bytesText(boundBytes)}`;
}

/** A table in a sentence, for the result of a job. */
export function limitedTableText(table: TableReport): string {
  const { rows, candidates, admitted, notAdmitted, refused, evicted } = table;
  const counts = [
    `${admitted} admitted`,
    ...(notAdmitted === 0 ? [] : [`${notAdmitted} not admitted`]),
    ...(refused === 0 ? [] : [`${refused} refused`]),
    ...goneText('at the bound', evicted.bound),
    ...goneText('as unseen', evicted.unseen),
  ];
  const has = [
    counted(rows, 'row'),
    ...(candidates === 0 ? [] : [counted(candidates, 'candidate')]),
    tableSizeText(table),
  ];
  return `${table.name}: ${has.join(', ')}; ${counts.join(', ')}`;
}

function goneText(why: string, { rows, candidates }: TableReport['evicted']['bound']): string[] {
  const parts = [
    ...(rows === 0 ? [] : [counted(rows, 'row')]),
    ...(candidates === 0 ? [] : [counted(candidates, 'candidate')]),
  ];
  return parts.length === 0 ? [] : [`${parts.join(' and ')} evicted ${why}`];
}
