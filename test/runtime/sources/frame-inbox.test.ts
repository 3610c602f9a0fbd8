import { describe, expect, it } from 'vitest';
import { FrameInbox } from '../../../runtime/sources/frame-inbox.ts';

function item(name: number, released: number[]) {
  return { name, release: () => released.push(name) };
}

describe('FrameInbox', () => {
  it('hands out the newest and gives the others back', async () => {
    const released: number[] = [];
    const inbox = new FrameInbox<ReturnType<typeof item>>({ policy: 'newest' });
    for (const name of [1, 2, 3]) inbox.push(item(name, released));
    expect((await inbox.next())?.name).toBe(3);
    expect(released).toEqual([1, 2]);
    expect(inbox.dropped).toBe(2);
  });

  it('hands out all, and stops and starts the decoder', async () => {
    const calls: string[] = [];
    const inbox = new FrameInbox<ReturnType<typeof item>>({
      policy: 'all',
      onFull: () => calls.push('full'),
      onSpace: () => calls.push('space'),
    });
    for (const name of [1, 2, 3]) inbox.push(item(name, []));
    expect(calls).toEqual(['full']);
    const names = [await inbox.next(), await inbox.next(), await inbox.next()].map((frame) => frame?.name);
    expect(names).toEqual([1, 2, 3]);
    expect(calls).toEqual(['full', 'space']);
    expect(inbox.dropped).toBe(0);
  });

  it('ends after what waits, or at once with an error that gives it back', async () => {
    const released: number[] = [];
    const closed = new FrameInbox<ReturnType<typeof item>>({ policy: 'all' });
    closed.push(item(1, released));
    closed.close();
    expect((await closed.next())?.name).toBe(1);
    expect(await closed.next()).toBeUndefined();
    const failed = new FrameInbox<ReturnType<typeof item>>({ policy: 'all' });
    failed.push(item(2, released));
    failed.fail(new Error('cut'));
    failed.push(item(3, released));
    await expect(failed.next()).rejects.toThrow('cut');
    expect(released).toEqual([2, 3]);
  });

  it('wakes the one who waits', async () => {
    const inbox = new FrameInbox<ReturnType<typeof item>>({ policy: 'newest' });
    const waiting = inbox.next();
    inbox.push(item(7, []));
    expect((await waiting)?.name).toBe(7);
    const end = inbox.next();
    inbox.close();
    expect(await end).toBeUndefined();
  });
});
