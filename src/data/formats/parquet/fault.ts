/** What is wrong with the bytes of a Parquet file: its message says what; the catcher knows where. */
import { PaddletError } from '../../../base/errors.ts';

export class Fault extends Error {
  override readonly name = 'Fault';
}

export const damaged = (place: string, fault: string): PaddletError =>
  new PaddletError('DataInvalid', `${place}: ${fault}`, {
    hint: 'the file is damaged: copy it again, or write it again',
  });

export const unsupported = (place: string, what: string): PaddletError =>
  new PaddletError('DataInvalid', `${place}: ${what}`, {
    hint: 'write the file again without this feature, or leave the column out of data.columns',
  });
