// Names, events and errors pass through here, so that no password of a camera reaches a screen, a log or a file.

/** `scheme://user:secret@` as written; a secret may hold an unescaped `@`. */
const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi;

/** A secret with an unescaped `/`, told from `host:8080/path@2x` by the port's digits. */
const USER_INFO_WITH_SLASH = /([a-z][a-z0-9+.-]*:\/\/)[^\s/:@?#"'<>]+:(?!\d+[/?#])[^\s"'<>]*@/gi;

const SECRET_PARAMETER =
  /([?&;](?:user(?:name)?|usr|login\w*|pass(?:word|wd|phrase)?|pwd|psw|secret|token|access_token|auth|key|api_?key|sig(?:nature)?)=)[^&;\s"'<>]*/gi;

/** Replaces user and password of every URL, and secret query values, by `***`. */
export function redactCredentials(text: string): string {
  return text
    .replace(USER_INFO, '$1***@')
    .replace(USER_INFO_WITH_SLASH, '$1***@')
    .replace(SECRET_PARAMETER, '$1***');
}
