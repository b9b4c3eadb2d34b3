/** The page of a role, or of `paddlet ui`: its HTML text, and a feed for each job that browsers look at. */
import type { Page } from '../../cluster/listen.ts';
import { PAGE_HTML, PAGE_SECURITY_POLICY } from '../../page/generated/page.ts';
import type { HttpAnswer, Viewer } from '../../protocol/messages/channel.ts';

const PAGE: HttpAnswer = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: PAGE_HTML,
  headers: {
    'content-security-policy': PAGE_SECURITY_POLICY,
    // The link has the view token in its fragment, which browsers do not send: this is for those that might.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  },
};

/** `add` makes a browser look at the job that it names, or at the one that the page is about. */
export function servePage(add: (job: string | undefined, viewer: Viewer) => void, close: () => Promise<void>): Page {
  return {
    http: async (path) => (path === '/' ? PAGE : undefined),
    onViewer: (viewer) => add(jobIn(viewer), viewer),
    close,
  };
}

const jobIn = ({ path }: Viewer): string | undefined =>
  new URLSearchParams(path.split('?').slice(1).join('?')).get('job') ?? undefined;
