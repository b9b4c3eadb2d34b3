/** Questions to the user of a terminal. */
import { createInterface } from 'node:readline/promises';
import { PaddletError } from '../../base/errors.ts';

/** Whether there is a user to ask: input and stderr are a terminal. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** True for `y` or `yes`. Throws `Interrupted` when aborted. */
export async function askYesNo(question: string, signal: AbortSignal): Promise<boolean> {
  // Without `terminal`, Ctrl-C stays a signal, and the end of the input an empty answer.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (signal.aborted) throw new PaddletError('Interrupted', 'the question was not answered; paddlet changed nothing');
    throw error;
  } finally {
    lines.close();
  }
}
