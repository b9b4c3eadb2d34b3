/** Runs this program once more, as the child of this process, which guards it. */
import type { Host } from '../../base/seams.ts';
import { type ProcessEnd, spawnSelf } from '../../host/processes.ts';
import { onStopSignal } from '../../host/stop-signals.ts';
import { FORWARDED } from '../../host/tether.ts';
import { guard } from '../../roles/launcher/guard.ts';
import { ProofOfDeath } from '../../roles/launcher/proof-of-death.ts';
import { openStore } from '../../store/open-store.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { QUIET_LOG } from './quiet-log.ts';
import { type CredentialFlags, storeCredentials } from './store-credentials.ts';

/** How long a child may take to end its own lease when its guard has died. */
const STOP_LIMIT_MS = 5_000;

export interface Guarded {
  readonly name: string;
  /** The command line of the child. */
  readonly args: readonly string[];
  readonly url: string;
  readonly flags: CredentialFlags;
}

/** How the child ended. */
export async function runGuarded(host: Host, { name, args, url, flags }: Guarded): Promise<ProcessEnd> {
  const credentials = storeCredentials(url, flags);
  const { signal } = new AbortController();
  const store = (): Promise<Store> =>
    // The child waits for the store, too, and logs it.
    retryUntilAnswered({ ...host, log: QUIET_LOG, store: { url }, signal }, () =>
      openStore(url, { ...host, access: 'write', credentials }),
    );
  return guard({
    name,
    proof: new ProofOfDeath({ ...host, url, store }),
    spawn: (onLease) => spawnSelf(args, { tether: { parent: 'guard', stopLimitMs: STOP_LIMIT_MS }, onLease }),
    onSignal: (run) => {
      for (const one of FORWARDED) onStopSignal(one, () => run(one));
    },
  });
}
