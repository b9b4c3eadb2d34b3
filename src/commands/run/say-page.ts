/** Tells the user where the page of a run is. */

import { isPaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { visible } from '../../base/visible.ts';
import { StoredJoinToken } from '../../cluster/job/join-token.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { pageAddress, pageLink } from '../base/page-link.ts';
import { isKept } from '../base/waiting.ts';

interface Place {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
}

/** Says where the page is, of each master that is somewhere else than the one before. */
export function pageSayer(run: Place): (address: string) => void {
  let said: string | undefined;
  return (address) => {
    if (address === said) return;
    said = address;
    void sayPage(run, address);
  };
}

/**
 * The link with the view token goes to a terminal alone, beside the log: a log is kept, and read by others. What the
 * token is may not be known to a store that does not answer; the link can be had later.
 */
async function sayPage({ host, store, keys }: Place, address: string): Promise<void> {
  if (process.stderr.isTTY !== true || isKept()) {
    host.log.info(`page at ${pageAddress(address)}; \`paddlet token view\` prints the link that opens it`);
    return;
  }
  try {
    const token = await new StoredJoinToken({ ...host, store, keys }).current();
    if (token !== undefined) process.stderr.write(`page: ${visible(pageLink(address, token))}\n`);
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    host.log.info(`page at ${pageAddress(address)}: its link cannot be shown, ${error.message}`);
  }
}
