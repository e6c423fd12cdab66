import { expect, it } from '@jest/globals';
import { parseMountPoints } from './mounts.js';

it.each<readonly [what: string, lines: readonly string[], paths: readonly string[]]>([
  ['no mount', [], []],
  [
    'a folder and a file in it, with and without optional words',
    [
      '22 28 0:20 / /proc rw,nosuid - proc proc rw',
      '36 35 98:0 /mnt1 /data rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue',
      '37 36 98:0 /srv/plants.db /data/plants.db ro - ext3 /dev/root rw',
    ],
    ['/proc', '/data', '/data/plants.db'],
  ],
  [
    'several mounts on one path',
    [
      '40 36 98:0 /a.db /data/plants.db rw - ext4 /dev/sda rw',
      '41 40 98:0 /b.db /data/plants.db rw - ext4 /dev/sda rw',
    ],
    ['/data/plants.db'],
  ],
  [
    'a blank, a tab, a line feed and a backslash in a path',
    [String.raw`40 36 98:0 /x /my\040plants/a\011b\012c\134040.db rw - ext4 /dev/sda rw`],
    ['/my plants/a\tb\nc\\040.db'],
  ],
  [
    'other alphabets, which have no escapes',
    ['40 36 98:0 / /gärten/植物.db rw - ext4 /dev/sda rw'],
    ['/gärten/植物.db'],
  ],
  [
    'blanks in the other words',
    [String.raw`40 36 0:50 /my\040host /data rw - 9p C:\134plants\040here rw,x=a\040b`],
    ['/data'],
  ],
])('the list of mounts with %s', (_, lines, paths) => {
  const text = lines.map((line) => `${line}\n`).join('');
  expect([...parseMountPoints(text)]).toEqual(paths);
});
