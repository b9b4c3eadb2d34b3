/** The frames of joining: the only ones before both ends have proved that they know the token. */
import * as z from 'zod';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { bad, encodeFrame, type FrameLimits } from '../frames/frame.ts';
import type { Link, ReceivedFrame } from '../frames/link.ts';
import { toErrorHeader } from '../messages/error-header.ts';

/** Limits for what strangers may send. */
export const JOIN_LIMITS: FrameLimits = {
  frameBytes: LIMITS.joinFrameBytes,
  frameHeaderBytes: LIMITS.joinFrameBytes,
  frameSegments: 0,
};

const bytes = (count: number) => z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === count);
const nonce = bytes(LIMITS.joinNonceBytes);
const proof = bytes(LIMITS.joinProofBytes);

/** In this order: from the role, from the client, from the role. */
export const challengeSchema = z.strictObject({ type: z.literal('challenge'), nonce });
export const proofSchema = z.strictObject({ type: z.literal('proof'), nonce, proof });
export const welcomeSchema = z.strictObject({ type: z.literal('welcome'), proof });

export type JoinHeader = z.infer<typeof challengeSchema> | z.infer<typeof proofSchema> | z.infer<typeof welcomeSchema>;

export function sendJoin(link: Link, header: JoinHeader): void {
  const { buffers, byteLength } = encodeFrame({ kind: 'join', requestId: 0, header, segments: [] }, JOIN_LIMITS);
  link.send(buffers, byteLength, () => {});
}

/** An error that concerns the connection. */
export function sendRefusal(link: Link, error: PaddletError): void {
  const frame = { kind: 'error', requestId: 0, header: toErrorHeader(error), segments: [] } as const;
  const { buffers, byteLength } = encodeFrame(frame);
  link.send(buffers, byteLength, () => {});
}

/** The header of a frame of joining; `BadFrame` for any other frame. */
export function joinHeaderOf<T extends JoinHeader>(frame: ReceivedFrame, schema: z.ZodType<T>): T {
  if (frame.kind !== 'join') throw bad('kind', `a ${frame.kind} before the join token was proved`);
  if (frame.requestId !== 0) throw bad('request id', `${frame.requestId} in a frame of joining, not 0`);
  const parsed = schema.safeParse(frame.header);
  if (!parsed.success) throw bad('header', 'not a message that is expected while joining');
  return parsed.data;
}

/** Errors of strangers, and of the store: neither is a bug. */
export const asPaddletError = (error: unknown): PaddletError => {
  if (isPaddletError(error)) return error;
  throw error;
};
