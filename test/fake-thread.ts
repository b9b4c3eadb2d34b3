import type { Thread } from '../src/base/seams.ts';

/** A thread that is told what to do by the test. */
export class FakeThread<To, From> implements Thread {
  readonly sent: To[] = [];
  isClosed = false;
  tell: (message: From) => void = () => {};
  fail: (error: Error) => void = () => {};
  send(message: unknown): void {
    this.sent.push(message as To);
  }
  onMessage(run: (message: unknown) => void): void {
    this.tell = run;
  }
  onEnd(run: (error: Error) => void): void {
    this.fail = run;
  }
  async close(): Promise<void> {
    this.isClosed = true;
  }
}
