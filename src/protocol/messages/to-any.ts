/** Messages that every role answers. */
import * as z from 'zod';
import { message } from './fields.ts';

export const anyRoleMessages = {
  /** What this role is and does, for `status` and `doctor`. */
  info: message(
    'info',
    () => ({}),
    () => ({ info: z.record(z.string(), z.unknown()) }),
  ),
};
