// Who may ask: on the loopback everybody may look; off it, and to change anything, only those with the token.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../site/site-addresses.ts';

export interface AccessRules {
  readonly host: string;
  readonly token?: string;
}

export interface Access {
  /** Whether the name that the browser asked for is ours: a page elsewhere may point its own name at this address. */
  isOurName(request: FastifyRequest): boolean;
  mayLook(request: FastifyRequest): boolean;
  /** Needs the token everywhere: where there is none, nothing can be changed. */
  mayChange(request: FastifyRequest): boolean;
  holdsToken(request: FastifyRequest): boolean;
}

export const TOKEN_COOKIE = 'edge_detect_token';

export function createAccess({ host, token }: AccessRules): Access {
  const digest = token === undefined ? undefined : digestOf(token);
  const holdsToken = (request: FastifyRequest) => {
    const given = tokenOf(request);
    // Digests have one length, so that the time tells nothing of the token.
    return digest !== undefined && given !== undefined && timingSafeEqual(digestOf(given), digest);
  };
  const open = isLoopback(host);
  return {
    isOurName(request) {
      if (!open) return true;
      const name = request.headers.host?.replace(/:\d+$/, '') ?? '';
      return isLoopback(name);
    },
    mayLook: (request) => open || holdsToken(request),
    mayChange: holdsToken,
    holdsToken,
  };
}

function tokenOf({ headers, query }: FastifyRequest): string | undefined {
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer !== undefined) return bearer;
  const [, cookie] = new RegExp(`(?:^|;\\s*)${TOKEN_COOKIE}=([^;]+)`).exec(headers.cookie ?? '') ?? [];
  if (cookie !== undefined) return decodeURIComponent(cookie);
  const { token } = (query ?? {}) as { readonly token?: unknown };
  return typeof token === 'string' ? token : undefined;
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
