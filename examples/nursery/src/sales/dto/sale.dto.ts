import { ApiPropertyOptional, ApiSchema, IntersectionType, OmitType } from '@nestjs/swagger';
import { IsOptionalNotNull, IsText, UuidDto } from 'durable-rest';
import { NewSaleDto } from './new-sale.dto.js';

/** A sale as it is stored. */
@ApiSchema({ name: 'Sale' })
export class SaleDto extends IntersectionType(UuidDto, OmitType(NewSaleDto, ['gardenId'])) {
  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({ description: 'The client that has recorded the sale' })
  soldBy?: string;
}
