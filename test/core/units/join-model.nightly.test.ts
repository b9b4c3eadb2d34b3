/** The larger shapes of join-model.test.ts. */
import { it } from 'vitest';
import { expectComplete } from './join-shapes.ts';

it('it joins again', () => expectComplete({ nodes: 2, updates: 0, faults: { join: 2, silence: 1 } }, 20_000));

it('the head changes while a copy is made', () =>
  expectComplete({ nodes: 3, updates: 0, faults: { join: 2 } }, 20_000));
