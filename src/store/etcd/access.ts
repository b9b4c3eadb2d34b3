/** How the members are reached: what every connection and every call carries beside the request. */
import { type ChannelCredentials, credentials, Metadata } from '@grpc/grpc-js';

export interface EtcdAccess {
  /** Of the transport: plain TCP, or TLS with the certificates of the server and the client. */
  readonly credentials: ChannelCredentials;
  /**
   * What each call carries, for example the token of a user. Called once a call; a failure to get it fails the call.
   */
  readonly callMetadata: () => Promise<Metadata>;
}

/** Plain TCP, without a user. */
export const OPEN_ACCESS: EtcdAccess = {
  credentials: credentials.createInsecure(),
  callMetadata: async () => new Metadata(),
};
