import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import type { CreateVarietyDto } from './create-variety.dto.js';
import { Variety } from './variety.entity.js';

@Injectable()
export class VarietiesService {
  constructor(@InjectRepository(Variety) private readonly varieties: Repository<Variety>) {}

  create({ name }: CreateVarietyDto): Promise<Variety> {
    return this.varieties.save({ name } as Variety);
  }

  findAll(): Promise<Variety[]> {
    return this.varieties.find({ order: { name: 'ASC', id: 'ASC' } });
  }

  async findOne(id: number): Promise<Variety> {
    const variety = await this.varieties.findOneBy({ id });
    if (variety === null) throw new NotFoundException(`There is no variety ${id}`);
    return variety;
  }

  async remove(id: number): Promise<void> {
    const { affected } = await this.varieties.delete({ id });
    if (affected === 0) throw new NotFoundException(`There is no variety ${id}`);
  }
}
