import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactCredentials } from '../../../runtime/ffmpeg/redact.ts';

describe('redactCredentials', () => {
  it.each([
    ['rtsp://admin:hunter2@cam:554/live', 'rtsp://***@cam:554/live'],
    ['rtsp://admin@cam/live', 'rtsp://***@cam/live'],
    ['RTSP://admin:p@ss@cam/live', 'RTSP://***@cam/live'],
    ['rtsp://admin:pa/ss@cam/live', 'rtsp://***@cam/live'],
    ['http://cam/mjpg?user=me&pwd=hunter2&res=1', 'http://cam/mjpg?user=***&pwd=***&res=1'],
    ['rtsp://cam/user=admin;password=hunter2;x', 'rtsp://cam/user=admin;password=***;x'],
    ['http://host:8080/path@2x.jpg', 'http://host:8080/path@2x.jpg'],
    ['mail me@example.org, 5 monkeys', 'mail me@example.org, 5 monkeys'],
    ["[rtsp @ 0x1] 'rtsp://a:b@c/d': 401", "[rtsp @ 0x1] 'rtsp://***@c/d': 401"],
  ])('%s', (text, expected) => {
    expect(redactCredentials(text)).toBe(expected);
  });

  it('lets no password through, whatever it is made of', () => {
    const secret = fc.string({
      unit: fc.constantFrom(...'abcXYZ019!$%&*()_+-=~.,:@'),
      minLength: 6,
      maxLength: 20,
    });
    fc.assert(
      fc.property(secret, (password) => {
        const said = redactCredentials(`error: rtsp://operator:${password}@10.0.0.7:554/s1 failed`);
        expect(said).toBe('error: rtsp://***@10.0.0.7:554/s1 failed');
      }),
    );
  });
});
