/** The join token of a job, as both ends of a connection see it. */

/** What the processes of a job know and strangers do not: LIMITS.joinTokenBytes random bytes, kept in the store. */
export interface JoinToken {
  /** As it is, as far as known; undefined while there is none. May wait for the store, and throw its errors. */
  current(): Promise<Uint8Array | undefined>;
  /** Asks the store again, as a peer seems to know another one; where that is too early, the same as `current`. */
  refresh(): Promise<Uint8Array | undefined>;
}

/** Token of a process without a job: no connection can join. */
export const NO_JOIN_TOKEN: JoinToken = { current: async () => undefined, refresh: async () => undefined };
