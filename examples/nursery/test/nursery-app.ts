import type { NestExpressApplication } from '@nestjs/platform-express';
import { TestApplication } from 'durable-rest/testing';
import { createApp } from '../src/app.js';

/** The program, with a store and a port of its own. */
export class NurseryApp extends TestApplication {
  protected createApp(): Promise<NestExpressApplication> {
    return createApp();
  }

  /** Creates a variety. Resolves with its id. */
  async createVariety(name: string): Promise<number> {
    const { body } = await this.post('/varieties', JSON.stringify({ name }));
    return (body as { id: number }).id;
  }

  /** Plants a new variety, and sells one plant of it. */
  async sellPlant(): Promise<void> {
    const gardenId = '00000000-0000-4000-8000-000000000001';
    const key = { gardenId, varietyId: await this.createVariety('Monstera') };
    const planting = { ...key, plantedOn: '2026-11-22', quantity: 5 };
    await this.post('/plantings', JSON.stringify(planting));
    const soldAt = '2026-11-23T10:00:00Z';
    const sale = { ...key, quantity: 1, price: 24.9, isPaid: true, soldAt };
    await this.post('/sales', JSON.stringify(sale));
  }
}
