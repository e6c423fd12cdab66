import { BUILD, type Proof } from '../proof.js';
import { findChromium } from './find-chromium.js';

export default {
  summary: 'uses Swagger UI in Chromium as a user does',
  takes: '30 s',
  needs: "Chromium (Debian's package chromium, or CHROMIUM with its path)",
  before: BUILD,
  options: { screenshots: { summary: 'takes the pictures of the documents', isSwitch: true } },
  run: async () => {
    if (findChromium() === undefined) return ['Chromium is not installed, and CHROMIUM names none'];
    await import('./swagger-ui.js');
    return [];
  },
} satisfies Proof;
