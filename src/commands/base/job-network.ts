/** The network of a command about one job: it knows the job's join token from the store. */
import type { Host } from '../../base/seams.ts';
import { StoredJoinToken } from '../../cluster/job/join-token.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

export const jobNetwork = (host: Host, store: Store, keys: Keys): Network =>
  createWebSocketNetwork({ ...host, joinToken: new StoredJoinToken({ ...host, store, keys }) });
