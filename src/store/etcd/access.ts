/** How the members are reached: what every connection and every call carries beside the request. */
import type { SecureContextOptions } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { PaddletError } from '../../base/errors.ts';

/** Keys and certificates as PEM text. */
export interface StoreTls {
  /** Authorities that the server's certificate must come from; without them those that Node trusts. */
  readonly ca?: string | undefined;
  /** The client's own, when the server wants one; both or neither. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface StoreUser {
  readonly name: string;
  readonly password: string;
}

export interface StoreCredentials {
  readonly tls?: StoreTls | undefined;
  readonly user?: StoreUser | undefined;
}

export interface EtcdAccess {
  /** Credentials of the transport: plain TCP, or TLS with the certificates of the server and the client. */
  readonly credentials: ChannelCredentials;
  /** The same for `node:tls`; undefined for plain TCP. */
  readonly tls: SecureContextOptions | undefined;
  /** Each call carries a token that is got with this name and password. */
  readonly user: StoreUser | undefined;
}

/** `isTls`: the URL asks for it. `Usage` when the certificates cannot be used. */
export function etcdAccess(isTls: boolean, { tls = {}, user }: StoreCredentials): EtcdAccess {
  if (!isTls) return { credentials: credentials.createInsecure(), tls: undefined, user };
  const bytes = (pem: string | undefined): Buffer | null => (pem === undefined ? null : Buffer.from(pem));
  try {
    const made = credentials.createSsl(bytes(tls.ca), bytes(tls.key), bytes(tls.cert));
    return { credentials: made, tls: { ca: tls.ca, cert: tls.cert, key: tls.key }, user };
  } catch (error) {
    const hint =
      'check that --store-ca, --store-cert and --store-key are PEM files, and that the key belongs to the certificate';
    throw new PaddletError('Usage', `the certificates for the store cannot be used: ${(error as Error).message}`, {
      hint,
      cause: error,
    });
  }
}
