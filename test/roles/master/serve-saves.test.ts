/** Only a trainer with a registration is chosen to save the model: the master sees when it dies. */
import { expect, it } from 'vitest';
import { createHandler } from '../../../src/roles/master/serve.ts';
import type { MasterState } from '../../../src/roles/master/state.ts';

const handle = createHandler(
  () =>
    ({
      record: { id: 'j', batchPlanId: 'c' },
      isHeld: () => true,
      trainers: { addresses: new Map([['a', 'localhost:1']]) },
      saves: { request: () => Promise.resolve({ pass: 1, choice: 1 }) },
    }) as unknown as MasterState,
  () => ({}),
);

async function ask(trainer: string): Promise<unknown> {
  const header = { type: 'requestSaveModel', job: 'j', batchPlanId: 'c', trainer, blockMs: 1 };
  const request = { header } as unknown as Parameters<typeof handle>[0];
  return (await handle(request, {} as Parameters<typeof handle>[1])).header;
}

it('chooses no trainer that is not registered', async () => {
  expect(await ask('a')).toEqual({ type: 'requestSaveModel', chosen: { pass: 1, choice: 1 } });
  expect(await ask('b')).toEqual({ type: 'requestSaveModel' });
});
