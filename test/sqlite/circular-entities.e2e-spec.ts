import { expect, it } from '@jest/globals';
import { ProjectCopy } from '../support/project-copy.js';

/** One of two entities in two files that refer to each other. */
function writeEntity(name: string, other: string, type: string): string {
  return `
import { Entity, JoinColumn, OneToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm';
import { ${other} } from './${other.toLowerCase()}.js';

@Entity()
export class ${name} {
  @PrimaryGeneratedColumn()
  id!: number;

  @OneToOne(() => ${other})
  @JoinColumn()
  other!: ${type};
}
`;
}

it.each([
  ['as classes stop the start, with what to write', 'Profile', /write Relation<\w+> in place of/],
  // The start goes on to the tables, which this test does not make.
  ['as Relation<> are taken', 'Relation<Profile>', /has no table .* list the migration/],
])('entities in two files that refer to each other %s', async (_, type, line) => {
  const project = await ProjectCopy.create();
  try {
    const back = type.replace('Profile', 'User');
    await project.add('entities', 'src/profile.ts', writeEntity('Profile', 'User', back));
    await project.add('entities', 'src/user.ts', writeEntity('User', 'Profile', type));
    const ended = await project.start({ DATABASE_URL: 'sqlite::memory:', PORT: '0' });
    expect(ended.errors).toMatch(line);
    expect(ended.exitCode).toBe(1);
  } finally {
    await project.remove();
  }
});
