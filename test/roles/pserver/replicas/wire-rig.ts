/** Requests between two pservers as they arrive, of the job of updates.ts. */
import { decodeFrame, encodeFrame } from '../../../../src/protocol/frames/frame.ts';
import type { Received } from '../../../../src/protocol/messages/channel.ts';
import { PARTS, PASSES, TASKS } from './updates.ts';

export const FIELDS = { job: 'job', batchPlanId: 'plan' };
export const JOB = { ...PARTS, tasks: TASKS, passes: PASSES };
export const ENDS = { primary: { index: 0, token: '7' }, member: { index: 2, token: '18446744073709551615' } };

const REQUEST_ID = 1;
/** What the receiver has counted up to. */
export const OWN_ORDER = 77;

/** As it arrives: after the frame, with segments in the memory of the frame. */
export function arrived<H>(header: H, segments: readonly Uint8Array[] = []): Received<H> & { overwrite: () => void } {
  const { buffers } = encodeFrame({ kind: 'request', requestId: REQUEST_ID, header, segments });
  const memory = new Uint8Array(Buffer.concat(buffers));
  const frame = decodeFrame(memory);
  return {
    header: frame.header as H,
    segmentCount: frame.segments.length,
    segment: (at) => frame.segments[at]!,
    free: () => {},
    overwrite: () => memory.fill(0xff),
  };
}
