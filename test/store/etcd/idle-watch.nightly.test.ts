/** A watch on which nothing happens for longer than the time between pings stays open. */
import { describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { EtcdServer, whyNoEtcd } from '../../etcd-server.ts';
import { put, RecordingLog, SILENT, WatchRecorder } from '../support.ts';

/** etcd ends the streams of clients that ping more often than every 5 s; the second ping of ours is due after 12. */
const PINGED_TWICE_MS = 13_000;

const reason = whyNoEtcd();
const clock = createClock();

describe.skipIf(reason !== undefined)(`EtcdStore${reason === undefined ? '' : ` (${reason})`}`, () => {
  it('keeps an idle watch open over its pings', async () => {
    const server = await EtcdServer.start();
    const log = new RecordingLog();
    const writer = await openStore(server.url, { clock, log: SILENT });
    const store = await openStore(server.url, { clock, log });
    const watch = new WatchRecorder(store, '/', 1n);
    await new Promise<void>((resolve) => void clock.after(PINGED_TWICE_MS, resolve));
    await put(writer, '/a', '1');
    await watch.until((story) => story.length === 1);
    expect(log.messages).toEqual([]);
    watch.cancel();
    await Promise.all([writer.close(), store.close()]);
    await server.stop();
  });
});
