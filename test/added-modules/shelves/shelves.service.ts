import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Shelf } from './shelf.entity.js';

@Injectable()
export class ShelvesService {
  constructor(@InjectRepository(Shelf) private readonly shelves: Repository<Shelf>) {}

  create(name: string): Promise<Shelf> {
    return this.shelves.save({ name, pots: [] });
  }

  findAll(): Promise<Shelf[]> {
    return this.shelves.find({ relations: { pots: true } });
  }

  async findOne(id: number): Promise<Shelf> {
    const shelf = await this.shelves.findOneBy({ id });
    if (shelf === null) throw new NotFoundException(`There is no shelf ${id}`);
    return shelf;
  }
}
