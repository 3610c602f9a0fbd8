// The zone of a clock, as a command line says it.
import { ConfigError } from '#core';

/** @param text `+08:00`, `-0330` or `Z` @returns s east of Greenwich @throws ConfigError for anything else */
export function parseZone(text: string): number {
  if (text === 'Z' || text === 'UTC') return 0;
  const found = /^([+-])(\d{2}):?(\d{2})$/.exec(text);
  const [hours, minutes] = [Number(found?.[2]), Number(found?.[3])];
  if (found !== null && hours <= 14 && minutes < 60) {
    return (found[1] === '-' ? -1 : 1) * (3600 * hours + 60 * minutes);
  }
  throw new ConfigError(`timezone=${text} is no offset from UTC`, {
    hint: 'write timezone=+08:00 (east of Greenwich), or timezone=Z',
  });
}
