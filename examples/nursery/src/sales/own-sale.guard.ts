import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ApiError, getCaller } from 'durable-rest';
import type { Request } from 'express';
import { SaleErrors } from './sales.errors.js';
import { SalesRepository } from './sales.repository.js';

/** Lets only the client that has recorded a sale change it. */
@Injectable()
export class OwnSaleGuard implements CanActivate {
  constructor(private readonly sales: SalesRepository) {}

  /** @throws ApiError 403921 */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { params } = context.switchToHttp().getRequest<Request<{ id: string }>>();
    const sale = await this.sales.find(params.id.toLowerCase());
    const client = getCaller(context)?.client ?? null;
    if (sale !== undefined && sale.soldBy !== client) throw new ApiError(SaleErrors.NOT_YOUR_SALE);
    return true;
  }
}
