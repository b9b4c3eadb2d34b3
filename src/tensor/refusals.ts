/** The refusals of parameter memory, worded once. */
import { PaddletError } from '../base/errors.ts';

export const badMessage = (message: string): PaddletError => new PaddletError('BadMessage', message);

export const wrongShard = (name: string, shard: number): PaddletError =>
  new PaddletError('WrongShard', `${name}: this pserver does not have shard ${shard}`, { details: { name, shard } });

export const unknownParameter = (what: string, index: number): PaddletError =>
  new PaddletError('UnknownParameter', `no ${what} number ${index}`, { details: { index } });
