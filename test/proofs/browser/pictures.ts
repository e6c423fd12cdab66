import { chromium } from 'playwright-core';
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { ProgramFolder } from '../../support/program.js';

// npm run pictures: makes the pictures of README anew, with Chromium and a real terminal.

const IMAGES = new URL('../../../docs/images/', import.meta.url).pathname;
const WIDTH = 1_000;
const ESC = '\u001B';
/** The colours of the log, by their codes. */
const COLOURS: Readonly<Record<string, string>> = {
  '32': '#7ec699',
  '33': '#e0c46c',
  '36': '#78b9d6',
  '39': 'inherit',
  '90': '#8a929b',
};

function toHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const coloured = escaped.replaceAll(
    new RegExp(`${ESC}\\[(\\d+)m`, 'g'),
    (_, code: string) => `</span><span style="color: ${COLOURS[code] ?? 'inherit'}">`,
  );
  return `<body style="margin: 0; background: #1d2126; color: #e6e8ea">
    <pre style="margin: 0; padding: 20px; white-space: pre-wrap; overflow-wrap: anywhere;
      font: 14px/1.5 'DejaVu Sans Mono', monospace"><span>${coloured}</span></pre>`;
}

const [found] = spawnSync('which', ['chromium', 'google-chrome'], {
  encoding: 'utf8',
}).stdout.split('\n');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? found ?? '',
  chromiumSandbox: process.getuid?.() !== 0,
});
const folder = await ProgramFolder.create();
try {
  const program = folder.startWith(['sh', '-c', 'exec script -qefc "$*" /dev/null', 'sh'], {
    PORT: '3000',
    TERM: 'xterm-256color',
  });
  const [, link = ''] = await program.printed(/Docs +(\S+)/);
  const [curl] = await program.printed(/^curl .*'(?=\s)/m);
  const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
  await program.printed(/POST \/plants 200 .*\r\n/);
  const shown = program.output.replaceAll('\r', '').trimEnd();
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 100 } });
  await page.setContent(
    toHtml(
      `$ npm start\nCompiling the program\n${shown}\n\n$ curl -X POST ...   (in a second terminal)\n${stdout}`,
    ),
  );
  await page.screenshot({ path: `${IMAGES}terminal.png`, fullPage: true });

  await page.setViewportSize({ width: WIDTH, height: 1_000 });
  await page.goto(link);
  await page.locator('#operations-plants-createPlant .opblock-summary-control').click();
  await page.locator('.opblock.is-open .execute').click();
  const answer = page.locator('.opblock.is-open .live-responses-table');
  await answer.locator('.response-col_status').filter({ hasText: '200' }).waitFor();
  // The box is relative to the viewport.
  await page.evaluate(() => scrollTo(0, 0));
  const box = await answer.boundingBox();
  const height = Math.ceil((box?.y ?? 0) + (box?.height ?? 0));
  await page.screenshot({
    path: `${IMAGES}swagger-ui.png`,
    fullPage: true,
    clip: { x: 0, y: 0, width: WIDTH, height },
  });
  await program.end('SIGINT');
} finally {
  await browser.close();
  await folder.remove();
}
