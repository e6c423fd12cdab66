import { ApiProperty } from '@nestjs/swagger';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('varieties')
export class Variety {
  @PrimaryGeneratedColumn()
  @ApiProperty({ description: 'The id of the variety', example: 1 })
  id!: number;

  @Column()
  @ApiProperty({ description: 'The name of the variety', example: 'Monstera deliciosa' })
  name!: string;
}
