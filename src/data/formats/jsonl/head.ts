/** How a file of JSON lines begins. */
import { PaddletError } from '../../../base/errors.ts';
import { otherThanText, refuseOldLineEnds } from '../../appearance.ts';
import { isBlank, markBytes, NEWLINE } from '../../ascii.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import { layoutByPath } from '../../columns/layout.ts';
import type { FileHead } from '../text/form.ts';

const SHOWN_CHARACTERS = 40;
const SHOWN_LINES = 50;

export function headOf(path: string, bytes: Uint8Array, isWhole: boolean, spec: ColumnSpec): FileHead | undefined {
  const appearance = otherThanText([Buffer.from(bytes.subarray(0, SHOWN_CHARACTERS)).toString('latin1')]);
  if (appearance !== undefined) {
    throw new PaddletError('DataInvalid', `${path} is ${appearance.what}`, { hint: appearance.hint });
  }
  refuseOldLineEnds(path, bytes);
  const offset = markBytes(bytes);
  let at = offset;
  while (at < bytes.length && (isBlank(bytes[at]!) || bytes[at] === NEWLINE)) at++;
  if (at === bytes.length)
    return isWhole ? undefined : { layout: layoutByPath(spec), names: undefined, offset, line: 1 };
  const lines = Buffer.from(bytes.subarray(at)).toString('latin1').split('\n', SHOWN_LINES);
  // The last one may be cut off.
  const [first = '', second = '{'] = (isWhole || lines.length === 1 ? lines : lines.slice(0, -1))
    .map((line) => line.trim())
    .filter(Boolean);
  const other = formOf(first, second);
  if (other !== undefined) {
    throw new PaddletError('DataInvalid', `${path} ${other.what}, not an object on each line`, {
      hint: `convert it to JSON lines: jq -c ${other.filter} OLD > NEW`,
    });
  }
  return { layout: layoutByPath(spec), names: undefined, offset, line: 1 };
}

/** What two lines are of, as `json.dump`, `jq .` and others write it. */
function formOf(first: string, second: string): { readonly what: string; readonly filter: string } | undefined {
  if (first.startsWith('[') && first.endsWith(']') && second.startsWith('[')) {
    return { what: 'has an array on each line', filter: `'{a: .[0], b: .[1]}'` };
  }
  if (first.startsWith('[')) return { what: 'is one JSON array', filter: `'.[]'` };
  const isOver = first.startsWith('{') && !first.endsWith('}') && !second.startsWith('{');
  return isOver ? { what: 'is JSON with records over several lines', filter: '.' } : undefined;
}
