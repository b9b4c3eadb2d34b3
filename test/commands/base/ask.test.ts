import { expect, test } from 'vitest';
import { askYesNo } from '../../../src/commands/base/ask.ts';

test('a question that is interrupted says that nothing was changed', async () => {
  await expect(askYesNo('Delete it?', AbortSignal.abort())).rejects.toMatchObject({
    code: 'Interrupted',
    message: 'the question was not answered; paddlet changed nothing',
  });
});
