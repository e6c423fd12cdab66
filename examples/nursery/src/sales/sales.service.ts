import { Injectable } from '@nestjs/common';
import { ApiError, inRange, type JsonPage, StoreUnavailableError } from 'durable-rest';
import { DataSource } from 'typeorm';
import { writeCsv } from '../csv.js';
import { PlantingsService } from '../plantings/plantings.service.js';
import type { ListSalesDto } from './dto/list-sales.dto.js';
import type { NewSaleDto } from './dto/new-sale.dto.js';
import type { SaleDto } from './dto/sale.dto.js';
import type { Sale } from './sale.entity.js';
import { SaleErrors } from './sales.errors.js';
import { SalesRepository } from './sales.repository.js';
import { SalesSettings } from './sales.settings.js';

@Injectable()
export class SalesService {
  constructor(
    private readonly sales: SalesRepository,
    private readonly plantings: PlantingsService,
    private readonly store: DataSource,
    private readonly settings: SalesSettings,
  ) {}

  /**
   * Takes the plants from their garden, and records the sale.
   *
   * @throws ApiError 404901, 409905, 409921, 503921
   */
  async create({ gardenId, ...sale }: NewSaleDto, soldBy: string | undefined): Promise<SaleDto> {
    const { varietyId, quantity } = sale;
    if (quantity > this.settings.SALES_MAX_QUANTITY) throw new ApiError(SaleErrors.TOO_MANY);
    try {
      const stored = await this.store.transaction(async (manager) => {
        await this.plantings.take({ gardenId, varietyId }, quantity, manager);
        return await this.sales.add({ ...sale, soldBy }, manager);
      });
      return toDto(stored);
    } catch (error) {
      // A client that takes this as a failure would sell the plants twice.
      if (error instanceof StoreUnavailableError) throw new ApiError(SaleErrors.MAY_BE_SOLD);
      throw error;
    }
  }

  /** @throws ApiError 40003, 50300 */
  list({ from, before, ...page }: ListSalesDto): Promise<JsonPage> {
    return this.sales.page({ sort: 'soldAt', ...page }, { soldAt: inRange({ from, before }) });
  }

  /** Writes all sales as CSV. */
  export(): AsyncIterable<string> {
    return writeCsv(this.sales, ['id', 'varietyId', 'quantity', 'price', 'isPaid', 'soldAt']);
  }

  /** @throws ApiError 404921, 50300 */
  async read(id: string): Promise<SaleDto> {
    const sale = await this.sales.find(id);
    if (sale === undefined) throw new ApiError(SaleErrors.SALE_NOT_FOUND);
    return toDto(sale);
  }

  /** @throws ApiError 404921, 50300 */
  async remove(id: string): Promise<void> {
    if (!(await this.sales.remove(id))) throw new ApiError(SaleErrors.SALE_NOT_FOUND);
  }
}

function toDto({ soldBy, details, ...sale }: Sale): SaleDto {
  const dto: SaleDto = { ...sale };
  if (soldBy !== null) dto.soldBy = soldBy;
  if (details !== null) dto.details = details;
  return dto;
}
