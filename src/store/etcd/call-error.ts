/** How a call to etcd fails, in gRPC's words and in the store's. */
import { status as STATUS } from '@grpc/grpc-js';
import { PaddletError } from '../../base/errors.ts';

/** Answers of the server itself that say that nothing was done; any other failure leaves a sent request in doubt. */
const REFUSALS: ReadonlySet<number> = new Set([
  STATUS.INVALID_ARGUMENT,
  STATUS.NOT_FOUND,
  STATUS.PERMISSION_DENIED,
  STATUS.RESOURCE_EXHAUSTED,
  STATUS.FAILED_PRECONDITION,
  STATUS.OUT_OF_RANGE,
  STATUS.UNIMPLEMENTED,
  STATUS.UNAUTHENTICATED,
]);

/** A failed call, before the store's user sees it. */
export class EtcdCallError extends Error {
  override readonly name = 'EtcdCallError';
  /** The gRPC status of the server's refusal; undefined when it was unreachable or silent. */
  readonly status: number | undefined;
  /** The server may have carried out the request. */
  readonly isInDoubt: boolean;
  /** The server does not know the user's token, or knows it no more: nothing was done. */
  readonly isTokenRefused: boolean;

  constructor(message: string, facts: { status?: number | undefined; isInDoubt: boolean }) {
    super(message);
    this.status = facts.status;
    this.isInDoubt = facts.isInDoubt;
    this.isTokenRefused = facts.status === STATUS.UNAUTHENTICATED || message.includes(OLD_AUTH_REVISION);
  }
}

/**
 * etcd's own constants (rpctypes/error.go): these have the code of an invalid argument, and only their text tells them
 * apart.
 */
const OLD_AUTH_REVISION = 'etcdserver: revision of auth store is old';
const NO_USER = 'etcdserver: user name is empty';
const WRONG_PASSWORD = 'etcdserver: authentication failed, invalid user ID or password';
const AUTH_IS_OFF = 'etcdserver: authentication is not enabled';

/** What the operator has to change, by what etcd says. */
const ACCESS_HINTS: ReadonlyMap<string, string> = new Map([
  [NO_USER, 'this etcd requires a user: set PADDLET_STORE_USER and PADDLET_STORE_PASSWORD'],
  [WRONG_PASSWORD, 'check PADDLET_STORE_USER and PADDLET_STORE_PASSWORD, or the flags of the same names'],
  [AUTH_IS_OFF, 'this etcd does not use authentication: omit --store-user and PADDLET_STORE_USER'],
  ['etcdserver: permission denied', 'give the user of the store read and write permission for the prefix /paddlet/'],
]);

/** `error` is one that gRPC reports: it has a status code. */
export function callError(error: Error): EtcdCallError {
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined;
  const isRefusal = code !== undefined && REFUSALS.has(code);
  return new EtcdCallError(error.message, { status: isRefusal ? code : undefined, isInDoubt: !isRefusal });
}

/** What a failed call means to the store's user; any other error is returned as it is. */
export function asStoreError(url: string, error: unknown): unknown {
  if (!(error instanceof EtcdCallError)) return error;
  const { status, message } = error;
  const text = `store ${url}: ${message}`;
  const details = { why: message };
  const accessHint = [...ACCESS_HINTS].find(([said]) => message.includes(said))?.[1];
  if (accessHint !== undefined)
    return new PaddletError('StoreInvalid', text, { hint: accessHint, details, cause: error });
  if (status === undefined) {
    if (error.isInDoubt) return new PaddletError('StoreUnknownOutcome', text, { details, cause: error });
    const hint = 'check the address in --store or PADDLET_STORE, and that etcd is running there';
    return new PaddletError('StoreUnavailable', text, { hint, details, cause: error });
  }
  switch (status) {
    case STATUS.INVALID_ARGUMENT:
      return new PaddletError('StoreLimit', text, { cause: error });
    case STATUS.NOT_FOUND:
      return new PaddletError('LeaseGone', text, { cause: error });
    case STATUS.OUT_OF_RANGE:
      return new PaddletError('StoreCompacted', text, { cause: error });
    case STATUS.RESOURCE_EXHAUSTED:
    case STATUS.FAILED_PRECONDITION:
    case STATUS.UNAUTHENTICATED:
      return new PaddletError('StoreUnavailable', text, { details, cause: error });
    default:
      return new PaddletError('StoreInvalid', text, { cause: error });
  }
}
