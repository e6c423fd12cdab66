import type { Compared, Comparison } from './measure/compare.js';
import type { Setting } from './measure/round.js';
import { formatNumber } from './table.js';

const WIDTH = 760;
const LABELS = 250;
const VALUES = 150;
const BAR = 22;
const GAP = 14;
const TOP = 76;

/**
 * Draws a comparison as bars, the fastest first, with a line from the slowest to the fastest round.
 * The background is transparent, and the text follows the reader's colour scheme.
 */
export function drawChart(
  { contestants }: Comparison,
  { connections, rounds, seconds }: Pick<Setting, 'connections' | 'rounds' | 'seconds'>,
): string {
  const [ours] = contestants;
  if (ours === undefined) throw new RangeError('there is nothing to draw');
  const height = TOP + contestants.length * (BAR + GAP) + 14;
  const sorted = [...contestants].sort((a, b) => b.rate.median - a.rate.median);
  const most = Math.max(...contestants.map(({ rate }) => rate.max));
  const scale = (rate: number): number => (rate / most) * (WIDTH - LABELS - VALUES);
  const subtitle =
    `creates per second, median of ${rounds} rounds of ${seconds} s, ${connections} connections; ` +
    `the disk flushes in ${formatNumber(ours.flushMs.median, 2)} ms`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Durable creates per second">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #59636e; }
  .bar { fill: #8b949e; }
  .first { fill: #2da44e; }
  .spread { stroke: #1f2328; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .quiet { fill: #9198a1; }
    .spread { stroke: #f0f6fc; }
  }
</style>
<text class="title" x="8" y="22">Durable creates per second</text>
<text class="quiet" x="8" y="42">${subtitle}</text>
<text class="quiet" x="8" y="60">×: the rate of ${escape(ours.title)} as a multiple of this one</text>
${sorted.map((contestant, index) => drawBar(contestant, index, contestant === ours, scale)).join('\n')}
</svg>
`;
}

function drawBar(
  { title, rate, ratio }: Compared,
  index: number,
  isOurs: boolean,
  scale: (rate: number) => number,
): string {
  const y = TOP + index * (BAR + GAP);
  const middle = y + BAR / 2;
  const min = (LABELS + scale(rate.min)).toFixed(1);
  const max = (LABELS + scale(rate.max)).toFixed(1);
  const times = isOurs ? '' : ` <tspan class="quiet">${formatNumber(ratio.median, 2)}×</tspan>`;
  return [
    `<text x="${LABELS - 10}" y="${middle + 5}" text-anchor="end">${escape(title)}</text>`,
    `<rect class="${isOurs ? 'bar first' : 'bar'}" x="${LABELS}" y="${y}" width="${scale(rate.median).toFixed(1)}" height="${BAR}" rx="3"/>`,
    `<path class="spread" d="M${min} ${middle}H${max}"/>`,
    `<text x="${Number(max) + 8}" y="${middle + 5}">${formatNumber(rate.median)}${times}</text>`,
  ].join('\n');
}

function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
