/** Where the page starts. */
import { render } from 'preact';
import { App } from './app.tsx';
import { Connection, type View } from './connection.ts';
import { percentText } from './format.ts';
import { LinkHelp } from './notices.tsx';
import { tokenInLink } from './view-token.ts';

const root = document.getElementById('page')!;
const inLink = tokenInLink(location.hash);

function show(view: View): void {
  render(<App view={view} />, root);
  const job = view.data?.job;
  const share = job?.progress.share;
  const progress = share === undefined || job?.phase === 'done' ? '' : `${percentText(share)} · `;
  document.title = job === undefined ? 'paddlet' : `${progress}${job.name} (${job.phase}) · paddlet`;
}

// Another token is another start.
addEventListener('hashchange', () => location.reload());
if (inLink.kind === 'token') {
  const connection = new Connection(inLink.token, show);
  show({ link: { kind: 'connecting' }, curves: [] });
  connection.open();
} else {
  render(<LinkHelp isBroken={inLink.kind === 'broken'} />, root);
}
