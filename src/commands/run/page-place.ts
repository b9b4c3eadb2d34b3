/** Where the page of a run is: told to the user, and kept when the master is started again. */
import { isPaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { StoredJoinToken } from '../../cluster/job/join-token.ts';
import { parseAddress } from '../../protocol/websocket/address.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { pageAddress, pageLink } from '../base/page-link.ts';
import { PORT_VARIABLE } from '../base/role-command.ts';

interface Place {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
}

export class PagePlace {
  readonly #run: Place;
  #address: string | undefined;

  constructor(run: Place) {
    this.#run = run;
  }

  /** A master is registered there. */
  isAt(address: string): void {
    if (address === this.#address) return;
    this.#address = address;
    void sayPage(this.#run, address);
  }

  /** For the environment of the next master. */
  settings(): Record<string, string> {
    if (this.#address === undefined) return {};
    return { [PORT_VARIABLE]: String(parseAddress(this.#address).port) };
  }
}

/**
 * The link with the view token goes to a terminal alone, beside the log: a log is kept, and read by others. What the
 * token is may not be known to a store that does not answer; the link can be had later.
 */
async function sayPage({ host, store, keys }: Place, address: string): Promise<void> {
  if (process.stderr.isTTY !== true) {
    host.log.info(`page at ${pageAddress(address)}; \`paddlet token view\` prints the link that opens it`);
    return;
  }
  try {
    const token = await new StoredJoinToken({ ...host, store, keys }).current();
    if (token !== undefined) process.stderr.write(`page: ${pageLink(address, token)}\n`);
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    host.log.info(`page at ${pageAddress(address)}: its link cannot be shown, ${error.message}`);
  }
}
