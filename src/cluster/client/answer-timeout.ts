/**
 * How long to wait for the answer to a request: its receiver may hold one with `maxWaitMs` for that time before it
 * answers.
 */
export function answerTimeoutMs(header: object, withoutWaitMs: number): number {
  return 'maxWaitMs' in header && typeof header.maxWaitMs === 'number'
    ? withoutWaitMs + header.maxWaitMs
    : withoutWaitMs;
}
