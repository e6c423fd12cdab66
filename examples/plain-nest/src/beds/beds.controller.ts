import {
  Body,
  ConflictException,
  Controller,
  Get,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post,
  Query,
} from '@nestjs/common';
import type { Bed } from './bed.entity.js';
import { ListBedsDto, NewBedDto, PlantDto } from './beds.dto.js';
import { BedsRepository } from './beds.repository.js';

@Controller('beds')
export class BedsController {
  constructor(private readonly beds: BedsRepository) {}

  @Post()
  async create(@Body() { name, room }: NewBedDto): Promise<Bed> {
    return await this.beds.add({ name, room });
  }

  @Get()
  async list(
    @Query() { limit, after }: ListBedsDto,
  ): Promise<{ beds: readonly Bed[]; next: string | undefined }> {
    const { rows, next } = await this.beds.list({ limit, after, sort: 'name' });
    return { beds: rows, next };
  }

  @Get(':id')
  async find(@Param('id', ParseUUIDPipe) id: string): Promise<Bed> {
    const bed = await this.beds.find(id);
    if (bed === undefined) throw new NotFoundException();
    return bed;
  }

  /** The function decides inside the commit, where no other request can change the bed. */
  @Post(':id/plants')
  async plant(
    @Param('id', ParseUUIDPipe) id: string,
    @Body() { plants }: PlantDto,
  ): Promise<Bed | undefined> {
    return await this.beds.change(id, (bed) => {
      if (bed === undefined) throw new NotFoundException();
      if (bed.room < plants) throw new ConflictException(`The bed has room for ${bed.room}`);
      return { ...bed, room: bed.room - plants };
    });
  }
}
