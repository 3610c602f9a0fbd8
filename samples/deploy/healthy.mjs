// Exit code 0 where the site of this container answers; for HEALTHCHECK, in images without curl.
const port = process.env['EDGE_PORT'] ?? '8080';
try {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(4000) });
  process.exitCode = response.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
