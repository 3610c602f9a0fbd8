// The page in a real browser: what it shows of cameras, boxes and thresholds, and that a person can use it.
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenDetector, openDetector } from '#runtime';
import { ffmpegAvailable } from '../../support/ffmpeg-available.ts';
import { RtspServer } from '../../support/rtsp-server.ts';
import { type RunningSite, sample, startSite } from '../../support/running-site.ts';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const TOKEN = 'open-sesame';
const possible = BROWSER !== undefined && ffmpegAvailable;

let detector: OpenDetector;
let site: RunningSite;
let browser: Browser;
let rtsp: RtspServer;

beforeAll(async () => {
  if (!possible) return;
  detector = await openDetector(sample('model/edge-n-street.onnx'));
  // The clip over and over, at its own pace: the page is looked at while it runs.
  rtsp = await RtspServer.start({ input: ['-re', '-stream_loop', '-1', '-i', sample('clips/day.mp4')] });
  site = await startSite(
    detector,
    [
      { name: 'gate', framesPerSecond: 5, source: `rtsp://127.0.0.1:${rtsp.port}/live` },
      { name: 'yard', source: sample(`clips/nowhere/${'a_folder_of_a_long_name/'.repeat(4)}nowhere.mp4`) },
    ],
    { token: TOKEN },
  );
  browser = await chromium.launch({ executablePath: BROWSER as string, args: ['--no-sandbox'] });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await site?.stop();
  await rtsp?.close();
  await detector?.close();
});

async function openPage(width: number, height = 900): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage({ viewport: { width, height } });
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  await page.goto(site.url);
  await page.locator('[data-camera=gate] svg .box').first().waitFor();
  return { page, faults };
}

describe.skipIf(!possible)('the page (skipped without chromium or ffmpeg)', () => {
  it('shows the cameras, the boxes of the latest frame and how sure they are', {
    timeout: 60_000,
  }, async () => {
    const { page, faults } = await openPage(1280);
    const card = page.locator('[data-camera=gate]');
    expect(await card.locator('.state').textContent()).toBe('live');
    // Of one frame: the next one comes while the test asks.
    const [labels, sigmas] = await page.evaluate<[string[], number]>(
      `(() => { const card = document.querySelector('[data-camera=gate]');
        return [[...card.querySelectorAll('svg .box title')].map((title) => title.textContent),
          card.querySelectorAll('svg .sigma').length]; })()`,
    );
    expect(labels.length).toBeGreaterThan(0);
    for (const label of labels) expect(label).toMatch(/^(car|lorry|bus|bike|person) \d\.\d\d ±\d\.\d\d$/);
    expect(sigmas).toBe(labels.length);
    const broken = page.locator('[data-camera=yard]');
    await broken.locator('.state.failed').waitFor();
    expect(await broken.locator('.reason').textContent()).toMatch(/nowhere\.mp4/);
    await page
      .locator('#events li', { hasText: /gate: (car|person|lorry|bus|bike) came/ })
      .first()
      .waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  it('draws scores with their band over time', { timeout: 60_000 }, async () => {
    const { page } = await openPage(1280);
    await page.locator('[data-camera=gate] .lines summary').click();
    const chart = page.locator('[data-camera=gate] .tracks svg').first();
    await chart.waitFor();
    const band = await chart.locator('.band').getAttribute('points');
    expect(band?.split(' ').length).toBeGreaterThan(3);
    await page.close();
  });

  it('saves a threshold with the token, and says why not without', { timeout: 60_000 }, async () => {
    const { page } = await openPage(1280);
    const form = page.locator('[data-camera=gate] .thresholds');
    await form.locator('summary').click();
    await form.getByLabel('other classes').fill('0.45');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.locator('output', { hasText: 'changes need the token' }).waitFor();
    expect(site.control.camera('gate')?.thresholds.classes.has('*')).toBe(false);
    await form.getByLabel('Token').fill(TOKEN);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.locator('output', { hasText: 'saved' }).waitFor();
    expect(site.control.camera('gate')?.thresholds.classes.get('*')).toBe(0.45);
    await page.close();
  });

  it('fits a telephone: nothing lies beside the screen, everything can be reached by key', {
    timeout: 60_000,
  }, async () => {
    const { page } = await openPage(390, 800);
    const widest = await page.evaluate('document.documentElement.scrollWidth');
    expect(widest).toBeLessThanOrEqual(390);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
    expect(
      await page.evaluate("[...document.querySelectorAll('img')].every((image) => image.alt !== '')"),
    ).toBe(true);
    await page.close();
  });
});
