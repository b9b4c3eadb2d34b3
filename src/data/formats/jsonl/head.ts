/** How a file of JSON lines begins. */
import { PaddletError } from '../../../base/errors.ts';
import { otherThanText } from '../../appearance.ts';
import { BOM, isBlank, NEWLINE } from '../../ascii.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import type { FileHead } from '../text/form.ts';
import { layoutOf } from './paths.ts';

const SHOWN_CHARACTERS = 40;
const OPEN_BRACKET = 91;

export function headOf(path: string, bytes: Uint8Array, isWhole: boolean, spec: ColumnSpec): FileHead | undefined {
  const other = otherThanText([Buffer.from(bytes.subarray(0, SHOWN_CHARACTERS)).toString('latin1')]);
  if (other !== undefined) throw new PaddletError('DataInvalid', `${path} is ${other.what}`, { hint: other.hint });
  const offset = BOM.every((byte, at) => bytes[at] === byte) ? BOM.length : 0;
  let at = offset;
  while (at < bytes.length && (isBlank(bytes[at]!) || bytes[at] === NEWLINE)) at++;
  if (at === bytes.length) return isWhole ? undefined : { layout: layoutOf(spec), names: undefined, offset, line: 1 };
  const newline = bytes.indexOf(NEWLINE, at);
  const first = Buffer.from(bytes.subarray(at, newline < 0 ? bytes.length : newline))
    .toString('latin1')
    .trim();
  // One value over all lines, as `json.dump` and `jq .` write it.
  if (bytes[at] === OPEN_BRACKET || (newline >= 0 && /^\{(?:.*[^\]}][[{,])?$/.test(first))) {
    const what = bytes[at] === OPEN_BRACKET ? 'one JSON array' : 'JSON with records over several lines';
    const filter = bytes[at] === OPEN_BRACKET ? `'.[]'` : '.';
    throw new PaddletError('DataInvalid', `${path} is ${what}, not an object on each line`, {
      hint: `write it as JSON lines: jq -c ${filter} OLD > NEW`,
    });
  }
  return { layout: layoutOf(spec), names: undefined, offset, line: 1 };
}
