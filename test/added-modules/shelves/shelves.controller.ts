import { Body, Controller, Get, Param, ParseIntPipe, Post } from '@nestjs/common';
import { IsString, Length } from 'class-validator';
import type { Shelf } from './shelf.entity.js';
import { ShelvesService } from './shelves.service.js';

export class CreateShelfDto {
  @IsString()
  @Length(1, 100)
  name!: string;
}

/** A controller as Nest's documentation writes it. */
@Controller('shelves')
export class ShelvesController {
  constructor(private readonly shelves: ShelvesService) {}

  @Post()
  create(@Body() { name }: CreateShelfDto): Promise<Shelf> {
    return this.shelves.create(name);
  }

  @Get()
  findAll(): Promise<Shelf[]> {
    return this.shelves.findAll();
  }

  @Get(':id')
  findOne(@Param('id', ParseIntPipe) id: number): Promise<Shelf> {
    return this.shelves.findOne(id);
  }
}
