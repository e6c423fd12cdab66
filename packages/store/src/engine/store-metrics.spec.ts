import { expect, it } from '@jest/globals';
import { QueueMetrics, StoreMetrics } from './store-metrics.js';

it('the rows that wait in several queues of one operation are added up at each scrape', async () => {
  const metrics = new StoreMetrics();
  for (const rows of [2, 3]) new QueueMetrics(metrics, 'plants', 'page', 'read', () => rows);
  for (const scrape of ['first', 'second']) {
    const text = await metrics.registry.metrics();
    expect(`${scrape}: ${text}`).toContain('store_queue_rows{table="plants",operation="page"} 5\n');
  }
});
