/**
 * What a kind of store declares about itself beyond the contract that all kinds keep; checked by
 * `capability-contract.ts`.
 */
export interface Capabilities {
  /** Processes that open the same URL share the data. */
  readonly sharedBetweenProcesses: boolean;
  /** Data and leases are still there after the last connection was closed and the server, if any, restarted. */
  readonly survivesRestart: boolean;
  /** The data can be wiped or replaced under an open connection, which then answers `StoreReplaced`. */
  readonly canBeReplaced: boolean;
  /** Leases are granted for whole steps of this length: what is asked for is rounded up. */
  readonly leaseTtlStepMs: number;
}
