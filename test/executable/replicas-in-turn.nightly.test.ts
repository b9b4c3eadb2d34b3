/** All pservers with copies of each other's units are killed in turn: the survivors lead on with every update. */
import { test } from 'vitest';
import { expectNothingLost } from './killed-copies.ts';

test('SIGKILL of one pserver after the other: nothing is lost', () => expectNothingLost([1, 0, 2]));
