import { inNewFolder } from '../../support/new-folder.js';
import { BUILD, type Proof } from '../proof.js';
import { stopUnderLoad } from './stop-under-load.js';

/** Clients that keep their connections open and send nothing; every second stop has some. */
const IDLE_CLIENTS = 8;

export default {
  summary: 'stops the program under keep-alive clients, each of whose requests must be answered',
  takes: '2 s per stop',
  before: BUILD,
  options: { stops: { summary: 'how many stops', default: '10' } },
  run: async (options) => {
    const all: string[] = [];
    await inNewFolder(async (folder) => {
      for (let stop = 1; stop <= options.number('stops'); stop++) {
        const idle = stop % 2 === 0 ? IDLE_CLIENTS : 0;
        const { answers, faults, ms } = await stopUnderLoad(folder, idle);
        console.log(`stop ${stop}: ${answers} answers, ${ms} ms, ${faults.length} faults`);
        all.push(...faults);
      }
    });
    return all;
  },
} satisfies Proof;
