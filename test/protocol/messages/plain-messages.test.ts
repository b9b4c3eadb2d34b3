/** What is recognized without the schemas is what they accept, unchanged. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replySchema, requestSchema } from '../../../src/protocol/messages/messages.ts';
import { isPlainPullOrPush, isPlainReply } from '../../../src/protocol/messages/plain-messages.ts';
import { mangled, replies, requests } from '../frames/header-messages.ts';

describe('pulls, pushes and answers recognized by hand', () => {
  it('are those that the schemas accept', () => {
    fc.assert(
      fc.property(requests, replies, (request, reply) => {
        expect(isPlainPullOrPush(request)).toBe(true);
        expect(requestSchema.parse(request)).toEqual(request);
        expect(isPlainReply(reply)).toBe(true);
        expect(replySchema.parse(reply)).toEqual(reply);
      }),
    );
  });

  it('are none that the schemas refuse', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(mangled, requests, replies, fc.anything()), (header) => {
        if (isPlainPullOrPush(header)) expect(requestSchema.parse(header)).toEqual(header);
        else if (isPlainReply(header)) expect(replySchema.parse(header)).toEqual(header);
        else refused++;
      }),
      { numRuns: 4000 },
    );
    expect(refused).toBeGreaterThan(1000);
  });

  it('leave no field out: one missing is refused', () => {
    fc.assert(
      fc.property(fc.oneof(requests, replies), fc.nat(), (header, n) => {
        const keys = Object.keys(header).filter((key) => key !== 'used' && key !== 'batch');
        const rest = { ...header };
        delete rest[keys[n % keys.length]!];
        expect(isPlainPullOrPush(rest) || isPlainReply(rest)).toBe(false);
      }),
    );
  });
});
