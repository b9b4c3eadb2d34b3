import type { Session } from '../../protocol/messages/channel.ts';

/** Runs with a signal that aborts when the connection of the request ends. */
export async function whileOpen<T>(session: Session, run: (closed: AbortSignal) => Promise<T>): Promise<T> {
  const closed = new AbortController();
  const cancel = session.onClosed(() => closed.abort());
  try {
    return await run(closed.signal);
  } finally {
    cancel();
  }
}
