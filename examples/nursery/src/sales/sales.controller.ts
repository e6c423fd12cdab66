import { Body, Controller, Delete, Get, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  ApiCreated,
  ApiErrors,
  ApiNoContent,
  ApiOk,
  ApiPage,
  ApiStream,
  ApiTag,
  Caller,
  type JsonPage,
  type RequestCaller,
  RequireScopes,
  UuidDto,
} from 'durable-rest';
import { PlantingErrors } from '../plantings/plantings.errors.js';
import { ListSalesDto } from './dto/list-sales.dto.js';
import { NewSaleDto } from './dto/new-sale.dto.js';
import { SaleDto } from './dto/sale.dto.js';
import { OwnSaleGuard } from './own-sale.guard.js';
import { SaleErrors } from './sales.errors.js';
import { SalesService } from './sales.service.js';

@ApiTag('sales', 'The sales of the nursery')
@RequireScopes('sales')
@Controller('sales')
export class SalesController {
  constructor(private readonly sales: SalesService) {}

  @Post()
  @ApiOperation({ operationId: 'createSale', summary: 'Sell plants of a garden' })
  @ApiCreated(SaleDto, 'The sale was recorded')
  @ApiErrors(
    PlantingErrors.PLANTING_NOT_FOUND,
    PlantingErrors.QUANTITY_OUT_OF_RANGE,
    SaleErrors.TOO_MANY,
    SaleErrors.MAY_BE_SOLD,
  )
  create(@Body() sale: NewSaleDto, @Caller() { client }: RequestCaller): Promise<SaleDto> {
    return this.sales.create(sale, client);
  }

  @Get()
  @ApiOperation({ operationId: 'listSales', summary: 'List sales, in the order of their times' })
  @ApiPage(SaleDto, 'A page of sales')
  list(@Query() query: ListSalesDto): Promise<JsonPage> {
    return this.sales.list(query);
  }

  @Get('export')
  @ApiOperation({ operationId: 'exportSales', summary: 'Export all sales' })
  @ApiStream('text/csv; charset=utf-8', 'A line for each sale')
  export(): AsyncIterable<string> {
    return this.sales.export();
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readSale', summary: 'Read a sale' })
  @ApiOk(SaleDto, 'The sale')
  @ApiErrors(SaleErrors.SALE_NOT_FOUND)
  read(@Param() { id }: UuidDto): Promise<SaleDto> {
    return this.sales.read(id);
  }

  @Delete(':id')
  @UseGuards(OwnSaleGuard)
  @ApiOperation({ operationId: 'removeSale', summary: 'Remove a sale of your own' })
  @ApiNoContent('The sale was removed')
  @ApiErrors(SaleErrors.SALE_NOT_FOUND, SaleErrors.NOT_YOUR_SALE)
  remove(@Param() { id }: UuidDto): Promise<void> {
    return this.sales.remove(id);
  }
}
