// A site that may be printed: its secrets are replaced, everything else stays as it is.
import { redactCredentials } from '../ffmpeg/index.ts';
import type { Site } from './site.ts';

const HIDDEN = '***';

/** Hides user and password of sources, of an inference server and of the broker, the server's token, and the path of the hook, which often is one. */
export function redactSite(site: Site): Site {
  const { mqtt, server, webhook } = site;
  return {
    ...site,
    device: redactCredentials(site.device),
    cameras: site.cameras.map((camera) => ({ ...camera, source: redactCredentials(camera.source) })),
    ...(mqtt && {
      mqtt: {
        ...mqtt,
        url: redactCredentials(mqtt.url),
        ...(mqtt.username !== undefined && { username: HIDDEN }),
        ...(mqtt.password !== undefined && { password: HIDDEN }),
      },
    }),
    ...(server && { server: { ...server, ...(server.token !== undefined && { token: HIDDEN }) } }),
    ...(webhook && { webhook: { ...webhook, url: `${originOf(webhook.url)}/${HIDDEN}` } }),
  };
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : HIDDEN;
}
