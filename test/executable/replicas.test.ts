/** A pserver whose units have copies is killed: the survivors lead on with every update. */
import { test } from 'vitest';
import { expectNothingLost } from './killed-copies.ts';

test('SIGKILL of a pserver when all units have their copies: nothing is lost', () => expectNothingLost([1]));
