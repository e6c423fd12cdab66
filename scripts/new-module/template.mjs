import { ruleModule } from './columns.mjs';

/**
 * Writes the files of a module in the style of src/modules/plants, by their paths in its folder.
 *
 * @param {object} module its names, its columns and its key, as new-module.mjs reads them
 */
export function writeFiles(module) {
  const { plural, singular, key } = module.names;
  const isClientKeyed = module.keyKind !== 'drawn';
  return new Map([
    [`${singular}.entity.ts`, writeEntity(module)],
    [`migrations/${module.timestamp}-create-${plural}.ts`, writeMigration(module)],
    [`dto/${singular}.dto.ts`, writeDto(module)],
    ...(isClientKeyed ? [[`dto/new-${singular}.dto.ts`, writeNewDto(module)]] : []),
    ...(module.keyKind === 'columns' ? [[`dto/${key}.dto.ts`, writeKeyDto(module)]] : []),
    [`dto/stored-${singular}.dto.ts`, writeStoredDto(module)],
    [`dto/${singular}-patch.dto.ts`, writePatchDto(module)],
    [`dto/list-${plural}.dto.ts`, writeListDto(module)],
    [`${plural}.errors.ts`, writeErrors(module)],
    [`${plural}.repository.ts`, writeRepository(module)],
    [`${plural}.service.ts`, writeService(module)],
    [`${plural}.controller.ts`, writeController(module)],
    [`${plural}.module.ts`, writeModule(module)],
    [`${plural}.error-fixtures.ts`, writeCauses(module)],
    [`${plural}.e2e-spec.ts`, writeSpec(module)],
  ]);
}

/** Collects what a file imports. */
class Imports {
  #names = new Map();

  add(from, ...names) {
    const known = this.#names.get(from) ?? new Set();
    for (const name of names) known.add(name);
    this.#names.set(from, known);
  }

  toString() {
    const bare = (name) => name.replace('type ', '').toLowerCase();
    return [...this.#names]
      .filter(([, names]) => names.size > 0)
      .sort(([a], [b]) => Number(a.startsWith('.')) - Number(b.startsWith('.')) || (a < b ? -1 : 1))
      .map(([from, names]) => {
        const sorted = [...names].sort((a, b) => (bare(a) < bare(b) ? -1 : 1));
        const isOfTypes = sorted.every((name) => name.startsWith('type '));
        const list = sorted
          .map((name) => (isOfTypes ? name.replace('type ', '') : name))
          .join(', ');
        return `import ${isOfTypes ? 'type ' : ''}{ ${list} } from '${from}';\n`;
      })
      .join('');
  }
}

function writeEntity({ names, table, keyKind, drawnType, keyColumns, members, indexes, uniques }) {
  const imports = new Imports();
  imports.add('typeorm', 'Entity');
  const helpers = [];
  const writeColumn = (column, isKey) => {
    const { name, helper, references, isOptional } = column;
    const lines = [];
    const index = indexes.find(({ columns }) => columns[0].name === name);
    if (index !== undefined) {
      imports.add('typeorm', 'Index');
      const why = '// A migration creates the index, since indexes differ between engines.';
      lines.push(
        ...(index === indexes[0] ? [why] : []),
        `@Index('${index.name}', { synchronize: false })`,
      );
    }
    if (references) {
      imports.add('typeorm', 'ForeignKey');
      const { entity, file, onDelete, isSelf } = references;
      if (!isSelf) imports.add(file, entity);
      lines.push(`@ForeignKey(() => ${entity}, { onDelete: '${onDelete.toUpperCase()}' })`);
    }
    const decorator = isKey ? 'PrimaryColumn' : 'Column';
    imports.add('typeorm', decorator);
    helpers.push(helper.replace(/\(.*/, ''), ...(isOptional ? ['nullable'] : []));
    lines.push(`@${decorator}(${isOptional ? `nullable(${helper})` : helper})`);
    if (column.value) imports.add(`../../${column.value[1]}`, `type ${column.value[0]}`);
    lines.push(`${name}!: ${column.row}${isOptional ? ' | null' : ''};`);
    return lines.join('\n');
  };
  const key = {
    given: () => {
      imports.add('typeorm', 'PrimaryColumn');
      helpers.push('int64');
      return `/** An int64 as a decimal string, since a JavaScript number cannot hold every one. */
        @PrimaryColumn(int64())
        id!: string;`;
    },
    drawn: () => {
      imports.add('typeorm', 'PrimaryGeneratedColumn');
      return drawnType === 'uuid'
        ? `/** A UUID of version 7, which the program generates. */
           @PrimaryGeneratedColumn('uuid')
           id!: string;`
        : `/** An int64 as a decimal string, which the database counts up. */
           @PrimaryGeneratedColumn({ type: 'bigint' })
           id!: string;`;
    },
    columns: () => keyColumns.map((column) => writeColumn(column, true)).join('\n\n'),
  }[keyKind]();
  const body = [key, ...members.map((column) => writeColumn(column, false))].join('\n\n');
  if (uniques.length > 0) imports.add('typeorm', 'Unique');
  imports.add('../../platform/database/columns.js', ...helpers);
  const words = [...keyColumns, ...members].filter((column) => column.words);
  return `${imports}
    ${words.map(writeWords).join('\n')}
    /** ${names.ASingular} in the store. */
    @Entity('${table}')
    ${uniques.map(({ name, column }) => `@Unique('${name}', ['${column.name}'])`).join('\n')}
    export class ${names.Singular} {
      ${body}
    }
  `;
}

function writeWords({ words, constant, row, name }) {
  const list = words.map((word) => `'${word}'`).join(', ');
  return `/** The values of ${name}. */
    export const ${constant} = [${list}] as const;
    export type ${row} = (typeof ${constant})[number];
  `;
}

function writeMigration({
  names,
  table,
  timestamp,
  keyKind,
  drawnType,
  keyColumns,
  members,
  indexes,
  uniques,
}) {
  const helpers = new Set();
  const use = (helper) => {
    helpers.add(helper.replace(/\(.*/, ''));
    return helper;
  };
  const writeType = ({ helper, isOptional }) => {
    if (!isOptional) return use(helper);
    helpers.add('nullable');
    return `nullable(${use(helper)})`;
  };
  const keys =
    keyKind === 'columns'
      ? keyColumns.map((column) => [column.name, writeType(column)])
      : [['id', use(drawnType === 'uuid' ? 'uuid()' : 'int64()')]];
  const columns = [...keys, ...members.map((column) => [column.name, writeType(column)])];
  const types = Object.fromEntries(columns);
  const keyNames = keys.map(([name]) => `'${name}'`).join(', ');
  const foreignKeys = [...keyColumns, ...members].filter(({ references }) => references);
  const constraints = uniques.map(({ name, column }) => `${name}: ['${column.name}']`);
  const definition = [
    `name: '${table}'`,
    `columns: { ${columns.map(([name, type]) => `${name}: ${type}`).join(', ')} }`,
    `key: [${keyNames}]`,
    ...(drawnType === 'counter' ? ['countsUp: true'] : []),
    ...(constraints.length > 0 ? [`unique: { ${constraints.join(', ')} }`] : []),
    ...(foreignKeys.length > 0
      ? [`foreignKeys: [${foreignKeys.map(writeForeignKey).join(', ')}]`]
      : []),
  ];
  return `import type { MigrationInterface, QueryRunner } from 'typeorm';
    import { ${[...helpers].sort().join(', ')} } from '../../../platform/database/columns.js';
    import { changeSchema } from '../../../platform/database/migration-steps.js';

    export class Create${names.Plural}${timestamp} implements MigrationInterface {
      async up(queryRunner: QueryRunner): Promise<void> {
        await changeSchema(queryRunner).createTable({ ${definition.join(',\n')} });
        ${indexes.map((index) => writeIndex(index, table, types)).join('\n')}
      }

      async down(queryRunner: QueryRunner): Promise<void> {
        await queryRunner.dropTable('${table}');
      }
    }
  `;
}

function writeForeignKey({ name, references: { table, key, onDelete } }) {
  return `{
    columnNames: ['${name}'],
    referencedTableName: '${table}',
    referencedColumnNames: ['${key}'],
    onDelete: '${onDelete.toUpperCase()}',
  }`;
}

function writeIndex({ name, columns }, table, types) {
  const list = columns.map((column) => `${column.name}: ${types[column.name]}`).join(', ');
  return `await changeSchema(queryRunner).createIndex({
    name: '${name}',
    table: '${table}',
    columns: { ${list} },
  });`;
}

/** Writes the members of a DTO, and adds their imports. */
function writeMembers(
  columns,
  { names, entityFile },
  imports,
  { isOptional = false, describe } = {},
) {
  return columns.map((column) => {
    const { name, words, constant, rule, example } = column;
    const mayBeAbsent = isOptional || column.isOptional;
    const api = mayBeAbsent ? 'ApiPropertyOptional' : 'ApiProperty';
    imports.add('@nestjs/swagger', api);
    const decorator = words ? `IsIn(${constant})` : rule;
    imports.add(ruleModule(column), decorator.replace(/\(.*/s, ''));
    if (mayBeAbsent) imports.add(ruleModule({}), 'IsOptionalNotNull');
    if (words) imports.add(entityFile, constant, `type ${column.row}`);
    if (column.value) imports.add(`../../../${column.value[1]}`, column.value[0]);
    const description = describe?.(column) ?? describeColumn(column, names);
    return `${mayBeAbsent ? '@IsOptionalNotNull()' : ''}
      @${decorator}
      @${api}({ description: '${description}'${isOptional ? '' : `, example: ${example}`} })
      ${name}${mayBeAbsent ? '?' : '!'}: ${column.dto ?? column.row};`;
  });
}

function describeColumn({ name, type, references }, { words }) {
  if (references) return `The ${references.key} of the ${references.words}`;
  const label = spaced(name);
  if (type === 'boolean') return `Whether the ${words} is ${label.replace(/^is /, '')}`;
  if (/^\w+ (?:at|on)$/.test(label)) return `When the ${words} was ${label.replace(/ \w+$/, '')}`;
  return `The ${label} of the ${words}`;
}

function writeDto(module) {
  const { names, members } = module;
  const imports = new Imports();
  imports.add('@nestjs/swagger', 'ApiSchema');
  const body = writeMembers(members, module, imports);
  return `${imports}
    @ApiSchema({ name: '${names.Singular}' })
    export class ${names.Singular}Dto {
      ${body.join('\n\n')}
    }
  `;
}

/** Writes the key that clients choose, as members of a DTO. */
function writeKeyMembers(module, imports) {
  const { keyKind, keyColumns, names } = module;
  if (keyKind === 'columns') return writeMembers(keyColumns, module, imports).join('\n\n');
  imports.add('@nestjs/swagger', 'ApiProperty');
  imports.add(ruleModule({}), 'IsInt64');
  return `@IsInt64()
    @ApiProperty({ description: 'Identification number of the ${names.words}', example: 1 })
    id!: bigint;`;
}

function writeNewDto(module) {
  const { names } = module;
  const imports = new Imports();
  imports.add('@nestjs/swagger', 'ApiSchema');
  const key = writeKeyMembers(module, imports);
  imports.add(`./${names.singular}.dto.js`, `${names.Singular}Dto`);
  return `${imports}
    @ApiSchema({ name: 'New${names.Singular}' })
    export class New${names.Singular}Dto extends ${names.Singular}Dto {
      ${key}
    }
  `;
}

function writeKeyDto(module) {
  const { names } = module;
  const imports = new Imports();
  const key = writeKeyMembers(module, imports);
  return `${imports}
    /** The path parameters of ${names.aSingular}. */
    export class ${names.Singular}KeyDto {
      ${key}
    }
  `;
}

function writeStoredDto({ names, keyKind, drawnType }) {
  const { Singular, singular, words } = names;
  if (keyKind !== 'drawn') {
    return `import { ApiSchema } from '@nestjs/swagger';
      import { New${Singular}Dto } from './new-${singular}.dto.js';

      /** ${names.ASingular} is stored with the members that it was created with. */
      @ApiSchema({ name: 'Stored${Singular}' })
      export class Stored${Singular}Dto extends New${Singular}Dto {}
    `;
  }
  const rule = drawnType === 'uuid' ? 'IsUuid' : 'IsInt64';
  const example = drawnType === 'uuid' ? `'0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a'` : '1';
  return `import { ApiProperty, ApiSchema } from '@nestjs/swagger';
    import { ${rule} } from '${ruleModule({})}';
    import { ${Singular}Dto } from './${singular}.dto.js';

    /** ${names.ASingular} with its generated id. */
    @ApiSchema({ name: 'Stored${Singular}' })
    export class Stored${Singular}Dto extends ${Singular}Dto {
      @${rule}()
      @ApiProperty({ description: 'Identification of the ${words}', example: ${example} })
      id!: ${drawnType === 'uuid' ? 'string' : 'bigint'};
    }
  `;
}

function writePatchDto({ names, members }) {
  const { Singular, singular } = names;
  const optional = members.filter(({ isOptional }) => isOptional).map(({ name }) => name);
  const what =
    optional.length > 0 ? `null removes ${optional.join(' and ')}` : 'no member can be removed';
  return `import { ApiSchema } from '@nestjs/swagger';
    import { MergePatch } from '../../../platform/rest/merge-patch.js';
    import { ${Singular}Dto } from './${singular}.dto.js';

    /** A JSON merge patch (RFC 7396): ${what}. */
    @ApiSchema({ name: '${Singular}Patch' })
    export class ${Singular}PatchDto extends MergePatch(${Singular}Dto) {}
  `;
}

function writeListDto(module) {
  const { names, filters, orders, keyKind } = module;
  const imports = new Imports();
  imports.add(
    '../../../platform/rest/page.js',
    'PageQueryDto',
    ...(orders.length > 0 ? ['IsSort'] : []),
  );
  const members = writeMembers(filters, module, imports, {
    isOptional: true,
    describe: ({ name }) => `Only ${names.pluralWords} with exactly this ${name}`,
  });
  if (orders.length > 0) {
    imports.add('@nestjs/swagger', 'ApiPropertyOptional');
    const sorts = [...(keyKind === 'columns' ? [] : ['id']), ...orders.map(({ name }) => name)];
    members.push(`@IsSort(${sorts.map((name) => `'${name}'`).join(', ')})
      @ApiPropertyOptional({ description: 'The order, with a minus in front for its reverse' })
      sort?: string;`);
  }
  return `${imports}
    /** Which ${names.pluralWords} to list. */
    export class List${names.Plural}Dto extends PageQueryDto {${members.join('\n\n')}}
  `;
}

function writeErrors({ names, keyKind, errors, first, inUse, self }) {
  const { words } = names;
  const key = keyKind === 'columns' ? 'key' : 'id';
  const code = (status, number) => `${status}${String(first + number).padStart(3, '0')}`;
  const ofKey = `
    ${inUse}: {
      error: ${code(409, 0)},
      message: 'The ${key} is in use by a different ${words}',
      advice: 'Choose another ${key}.',
    },
    ALREADY_EXISTS: {
      error: ${code(409, 1)},
      message: 'This very ${words} already exists',
      advice: 'After a retry, take this as success.',
      isRetry: true,
    },`;
  const ofSelf = `
    ${names.SINGULAR}_IN_USE: {
      error: ${code(409, 9)},
      message: 'Another ${words} refers to this one',
      advice: 'Change or remove that one first.',
    },`;
  return `import { defineErrors } from '../../platform/errors/error-catalogue.js';

    export const ${names.Singular}Errors = defineErrors(
      {
        ${names.SINGULAR}_NOT_FOUND: {
          error: ${code(404, 0)},
          message: 'There is no ${words} with this ${key}',
          advice: 'Create the ${words} first. After the retry of a DELETE, take this as success.',
        },
        ${keyKind === 'drawn' ? '' : ofKey}
        ${errors
          .map(
            ({ constant, message, advice }, index) => `${constant}: {
              error: ${code(409, index + 2)},
              message: '${message}',
              advice: '${advice}',
            },`,
          )
          .join('\n')}
        ${self ? ofSelf : ''}
      },
    );
  `;
}

function writeRepository({ names, orders, errors, self }) {
  const { Singular, Plural, plural, singular } = names;
  const violations = errors.map(
    ({ column, constant }) => `${column.name}: ${Singular}Errors.${constant}`,
  );
  const options = [
    ...(violations.length > 0 ? [`violations: { ${violations.join(', ')} }`] : []),
    ...(self ? [`referenced: ${Singular}Errors.${names.SINGULAR}_IN_USE`] : []),
    ...(orders.length > 0
      ? [`orders: { ${orders.map(({ name }) => `${name}: ['${name}']`).join(', ')} }`]
      : []),
  ];
  return `import { Injectable } from '@nestjs/common';
    import { InjectRepository } from '@nestjs/typeorm';
    import type { Repository } from 'typeorm';
    import { BatchedRepository } from '../../platform/database/batched-repository.js';
    import { ${Singular} } from './${singular}.entity.js';
    ${violations.length > 0 ? `import { ${Singular}Errors } from './${plural}.errors.js';` : ''}

    @Injectable()
    export class ${Plural}Repository extends BatchedRepository<${Singular}> {
      constructor(@InjectRepository(${Singular}) ${names.pluralName}: Repository<${Singular}>) {
        super(${names.pluralName}${options.length > 0 ? `, { ${options.join(', ')} }` : ''});
      }
    }
  `;
}

function writeService(module) {
  const { names, keyKind, drawnType, keyColumns, members, filters, errors, first, self } = module;
  const { Singular, Plural, plural, singular, singularName: one, pluralName: all } = names;
  const imports = new Imports();
  const isDrawn = keyKind === 'drawn';
  const hasColumns = keyKind === 'columns';
  const [key, keyType] = {
    given: ['id', 'bigint'],
    drawn: ['id', drawnType === 'uuid' ? 'string' : 'bigint'],
    columns: ['key', `${Singular}KeyDto`],
  }[keyKind];
  const find = hasColumns && keyColumns.length === 1 ? `key.${keyColumns[0].name}` : key;
  const inRow = hasColumns ? '...key' : 'id';
  const code = (status, number) => `${status}${String(first + number).padStart(3, '0')}`;
  const conflicts = errors.map((_, index) => code(409, index + 2));
  const list = (...codes) => codes.flat().join(', ');

  imports.add('@nestjs/common', 'Injectable');
  imports.add('../../platform/database/batched-repository.js', 'type JsonPage');
  imports.add('../../platform/errors/api-error.js', 'ApiError');
  imports.add('../../platform/rest/etag.js', 'makeEtag', 'type Representation');
  imports.add('../../platform/rest/merge-patch.js', 'applyMergePatch');
  imports.add('../../platform/rest/preconditions.js', 'type Preconditions');
  imports.add(`./dto/list-${plural}.dto.js`, `type List${Plural}Dto`);
  if (!isDrawn) imports.add(`./dto/new-${singular}.dto.js`, `type New${Singular}Dto`);
  if (hasColumns) imports.add(`./dto/${singular}-key.dto.js`, `type ${Singular}KeyDto`);
  imports.add(`./dto/${singular}-patch.dto.js`, `type ${Singular}PatchDto`);
  imports.add(`./dto/${singular}.dto.js`, `${Singular}Dto`);
  imports.add(`./dto/stored-${singular}.dto.js`, `type Stored${Singular}Dto`);
  imports.add(`./${singular}.entity.js`, `type ${Singular}`);
  imports.add(`./${plural}.errors.js`, `${Singular}Errors`);
  imports.add(`./${plural}.repository.js`, `${Plural}Repository`);

  const notFound = `throw new ApiError(${Singular}Errors.${names.SINGULAR}_NOT_FOUND)`;
  const keyNames = hasColumns ? keyColumns.map(({ name }) => name) : ['id'];
  const destructured = keyNames.join(', ');
  const create = isDrawn
    ? `/** @throws ApiError ${list(conflicts, '50300')} */
      async create(${one}: ${Singular}Dto): Promise<Stored${Singular}Dto> {
        const stored = await this.${all}.add(${one});
        return { id: ${drawnType === 'uuid' ? 'stored.id' : 'BigInt(stored.id)'}, ...toDto(stored) };
      }`
    : `/** @throws ApiError ${list(code(409, 0), code(409, 1), conflicts, '50300')} */
      async create({ ${destructured}, ...${one} }: New${Singular}Dto): Promise<${Singular}Dto> {
        const outcome = await this.${all}.create({ ${destructured}, ...${one} });
        if (outcome === 'identical') throw new ApiError(${Singular}Errors.ALREADY_EXISTS);
        if (outcome === 'different') throw new ApiError(${Singular}Errors.${module.inUse});
        return ${one};
      }`;
  const where = filters.map(({ name }) => `${name}: query.${name}`).join(', ');
  const required = members.filter(({ isOptional }) => !isOptional);
  const optional = members.filter(({ isOptional }) => isOptional);
  const writeValue = ({ name, toDto }) => (toDto ? `${name}: ${toDto(name)}` : name);
  const parts = [
    ...required.map(writeValue),
    ...optional.map((column) => `...(${column.name} !== null && { ${writeValue(column)} })`),
  ];
  const memberNames = members.map(({ name }) => name).join(', ');
  return `${imports}
    /** A change is on disk when its promise resolves, and every later read sees it. */
    @Injectable()
    export class ${Plural}Service {
      constructor(private readonly ${all}: ${Plural}Repository) {}

      ${create}

      /** @throws ApiError ${list(code(404, 0), '50300')} */
      async read(${key}: ${keyType}): Promise<Representation<Stored${Singular}Dto>> {
        const ${one} = await this.${all}.find(${find});
        if (${one} === undefined) ${notFound};
        return { body: { ${inRow}, ...toDto(${one}) }, etag: toEtag(${one}) };
      }

      /** @throws ApiError 40003, 50300 */
      list(query: List${Plural}Dto): Promise<JsonPage> {
        return this.${all}.page(query${where === '' ? '' : `, { ${where} }`});
      }

      /** @throws ApiError ${list(code(404, 0), conflicts, '41200', '50300')} */
      async replace(
        ${key}: ${keyType},
        ${one}: ${Singular}Dto,
        preconditions: Preconditions,
      ): Promise<${Singular}Dto> {
        const isThere = await this.${all}.replace({ ${inRow}, ...${one} }, preconditions.check(toEtag));
        if (!isThere) ${notFound};
        return ${one};
      }

      /** @throws ApiError ${list('40002', code(404, 0), conflicts, '41200', '50300')} */
      async update(
        ${key}: ${keyType},
        patch: ${Singular}PatchDto,
        preconditions: Preconditions,
      ): Promise<${Singular}Dto> {
        const check = preconditions.check(toEtag);
        const ${one} = await this.${all}.update(${find}, (stored) => {
          check?.(stored);
          return { ${inRow}, ...applyMergePatch(${Singular}Dto, toDto(stored), patch) };
        });
        if (${one} === undefined) ${notFound};
        return toDto(${one});
      }

      /** @throws ApiError ${list(code(404, 0), self ? [code(409, 9)] : [], '41200', '50300')} */
      async remove(${key}: ${keyType}, preconditions: Preconditions): Promise<void> {
        const wasThere = await this.${all}.remove(${find}, preconditions.check(toEtag));
        if (!wasThere) ${notFound};
      }
    }

    function toDto({ ${memberNames} }: ${Singular}): ${Singular}Dto {
      return { ${parts.join(', ')} };
    }

    /** Covers all members that a client can read or replace. */
    function toEtag({ ${memberNames} }: ${Singular}): string {
      return makeEtag(${memberNames});
    }
  `;
}

function writeController(module) {
  const { names, keyKind, drawnType, keyColumns, errors } = module;
  const { Singular, Plural, plural, singular, singularName: one, pluralName: all, words } = names;
  const isDrawn = keyKind === 'drawn';
  const hasColumns = keyKind === 'columns';
  const pathClass = hasColumns ? `${Singular}KeyDto` : drawnType === 'uuid' ? 'UuidDto' : 'IdDto';
  const param = hasColumns ? `@Param() key: ${pathClass}` : `@Param() { id }: ${pathClass}`;
  const key = hasColumns ? 'key' : 'id';
  const path = hasColumns ? keyColumns.map(({ name }) => `:${name}`).join('/') : ':id';
  const imports = new Imports();
  const ofKey = isDrawn ? [] : [module.inUse, 'ALREADY_EXISTS'];
  const conflicts = errors.map(({ constant }) => constant);
  const missing = `${names.SINGULAR}_NOT_FOUND`;
  const apiErrors = (...constants) =>
    constants.length === 0
      ? ''
      : `@ApiErrors(${constants.map((constant) => `${Singular}Errors.${constant}`).join(', ')})`;

  imports.add('@nestjs/common', 'Body', 'Controller', 'Delete', 'Get', 'HttpCode', 'HttpStatus');
  imports.add('@nestjs/common', 'Param', 'Patch', 'Post', 'Put', 'Query');
  imports.add('@nestjs/swagger', 'ApiNoContentResponse', 'ApiOkResponse', 'ApiOperation');
  imports.add('../../platform/database/batched-repository.js', 'type JsonPage');
  imports.add('../../platform/rest/api-tag.decorator.js', 'ApiTag');
  if (isDrawn) imports.add('../../platform/rest/created-response.js', 'ApiCreated');
  imports.add('../../platform/errors/api-errors.decorator.js', 'ApiErrors');
  imports.add('../../platform/rest/etag.js', 'ApiRepresentation', 'type Representation');
  if (!hasColumns) imports.add('../../platform/rest/id.dto.js', pathClass);
  imports.add('../../platform/rest/page.js', 'ApiPage');
  imports.add('../../platform/rest/preconditions.js', 'type Preconditions', 'RequestPreconditions');
  imports.add(`./dto/list-${plural}.dto.js`, `List${Plural}Dto`);
  if (!isDrawn) imports.add(`./dto/new-${singular}.dto.js`, `New${Singular}Dto`);
  if (hasColumns) imports.add(`./dto/${singular}-key.dto.js`, pathClass);
  imports.add(`./dto/${singular}-patch.dto.js`, `${Singular}PatchDto`);
  imports.add(`./dto/${singular}.dto.js`, `${Singular}Dto`);
  imports.add(`./dto/stored-${singular}.dto.js`, `Stored${Singular}Dto`);
  imports.add(`./${plural}.errors.js`, `${Singular}Errors`);
  imports.add(`./${plural}.service.js`, `${Plural}Service`);

  const create = isDrawn
    ? `@ApiCreated(Stored${Singular}Dto, 'The ${words} with its generated id')
      ${apiErrors(...conflicts)}
      create(@Body() ${one}: ${Singular}Dto): Promise<Stored${Singular}Dto> {`
    : `@ApiOkResponse({ description: 'The ${words} was created', type: ${Singular}Dto })
      ${apiErrors(...ofKey, ...conflicts)}
      create(@Body() ${one}: New${Singular}Dto): Promise<${Singular}Dto> {`;
  const order = hasColumns ? 'keys' : 'ids';
  return `${imports}
    @ApiTag('${plural}', 'The ${names.pluralWords} in the store')
    @Controller('${plural}')
    export class ${Plural}Controller {
      constructor(private readonly ${all}: ${Plural}Service) {}

      @Post()
      ${isDrawn ? '' : '@HttpCode(200)'}
      @ApiOperation({ operationId: 'create${Singular}', summary: 'Create ${names.aSingular}' })
      ${create}
        return this.${all}.create(${one});
      }

      @Get()
      @ApiOperation({ operationId: 'list${Plural}', summary: 'List ${names.pluralWords}, in the order of their ${order}' })
      @ApiPage(Stored${Singular}Dto, 'A page of ${names.pluralWords}')
      list(@Query() query: List${Plural}Dto): Promise<JsonPage> {
        return this.${all}.list(query);
      }

      @Get('${path}')
      @ApiOperation({ operationId: 'read${Singular}', summary: 'Read ${names.aSingular}' })
      @ApiRepresentation(Stored${Singular}Dto, 'The ${words} as it is stored')
      ${apiErrors(missing)}
      read(${param}): Promise<Representation<Stored${Singular}Dto>> {
        return this.${all}.read(${key});
      }

      @Put('${path}')
      @ApiOperation({ operationId: 'replace${Singular}', summary: 'Replace ${names.aSingular}' })
      @ApiOkResponse({ description: 'The ${words} was replaced', type: ${Singular}Dto })
      ${apiErrors(missing, ...conflicts)}
      replace(
        ${param},
        @Body() ${one}: ${Singular}Dto,
        @RequestPreconditions() preconditions: Preconditions,
      ): Promise<${Singular}Dto> {
        return this.${all}.replace(${key}, ${one}, preconditions);
      }

      @Patch('${path}')
      @ApiOperation({ operationId: 'patch${Singular}', summary: 'Change some members of ${names.aSingular}' })
      @ApiOkResponse({ description: 'The ${words} as it is now', type: ${Singular}Dto })
      ${apiErrors(missing, ...conflicts)}
      update(
        ${param},
        @Body() patch: ${Singular}PatchDto,
        @RequestPreconditions() preconditions: Preconditions,
      ): Promise<${Singular}Dto> {
        return this.${all}.update(${key}, patch, preconditions);
      }

      @Delete('${path}')
      @HttpCode(HttpStatus.NO_CONTENT)
      @ApiOperation({ operationId: 'remove${Singular}', summary: 'Remove ${names.aSingular}' })
      @ApiNoContentResponse({ description: 'The ${words} was removed' })
      ${apiErrors(missing, ...(module.self ? [`${names.SINGULAR}_IN_USE`] : []))}
      remove(
        ${param},
        @RequestPreconditions() preconditions: Preconditions,
      ): Promise<void> {
        return this.${all}.remove(${key}, preconditions);
      }
    }
  `;
}

function writeModule({ names }) {
  const { Singular, Plural, plural, singular } = names;
  return `import { Module } from '@nestjs/common';
    import { TypeOrmModule } from '@nestjs/typeorm';
    import { ${Singular} } from './${singular}.entity.js';
    import { ${Plural}Controller } from './${plural}.controller.js';
    import { ${Plural}Repository } from './${plural}.repository.js';
    import { ${Plural}Service } from './${plural}.service.js';

    @Module({
      imports: [TypeOrmModule.forFeature([${Singular}])],
      controllers: [${Plural}Controller],
      providers: [${Plural}Service, ${Plural}Repository],
    })
    export class ${Plural}Module {}
  `;
}

/** Describes how tests make the members of a row. Rows that refer to others need those first. */
function describeMaker({ names, keyKind, keyColumns, members }) {
  const sampled = [...keyColumns, ...members].filter(({ references }) => !references?.isSelf);
  const isAsync = sampled.some(({ references }) => references);
  const ownKey = keyKind === 'given' ? ['id: `${n}`'] : [];
  const parts = sampled.map(({ name, sample, references }) =>
    references ? `${name}: await create${references.entity}(app, n)` : `${name}: \`${sample}\``,
  );
  const call = (n) =>
    isAsync ? `await make${names.Singular}(app, ${n})` : `make${names.Singular}(${n})`;
  return { sampled, isAsync, members: [...ownKey, ...parts], call };
}

/** Writes the path of a missing row. */
function writeMissingPath({ names, keyKind, drawnType, keyColumns }) {
  const keys = {
    given: ['404'],
    drawn: [drawnType === 'uuid' ? '00000000-0000-4000-8000-000000000404' : '404'],
    columns: keyColumns.map(({ missing }) => missing.replaceAll('"', '')),
  }[keyKind];
  return `/${[names.plural, ...keys].join('/')}`;
}

function writeCauses(module) {
  const { names, keyKind, keyColumns, errors } = module;
  const { Singular, plural, singularName: one } = names;
  const imports = new Imports();
  const isDrawn = keyKind === 'drawn';
  const maker = describeMaker(module);
  imports.add(`./${plural}.errors.js`, `${Singular}Errors`);
  imports.add('../../../test/support/error-fixtures.js', 'type ErrorFixtures');
  imports.add('../../../test/support/members.js', 'type Members', 'writeMembers');
  imports.add('../../../test/support/test-app.js', 'type Answer', 'type TestApp');
  for (const { references } of maker.sampled.filter((column) => column.references)) {
    imports.add(references.causes, `create${references.entity}`);
  }
  const keyNames = keyKind === 'columns' ? keyColumns.map(({ name }) => name) : ['id'];
  const keep = (...columns) => columns.map((name) => `${name}: first.${name}`).join(', ');
  const again = (changes) => `async (app) => {
    const first = ${maker.call(1)};
    await post(app, first);
    return await post(app, ${changes});
  },`;
  const second = (...columns) =>
    again(`{ ...${maker.isAsync ? `(${maker.call(2)})` : maker.call(2)}, ${keep(...columns)} }`);
  const causes = [
    `${names.SINGULAR}_NOT_FOUND: (app) => app.get('${writeMissingPath(module)}'),`,
    ...(isDrawn
      ? []
      : [`${module.inUse}: ${second(...keyNames)}`, `ALREADY_EXISTS: ${again('first')}`]),
    ...errors.map(({ constant, column, isReference }) => {
      if (!isReference) return `${constant}: ${second(column.name)}`;
      const asynchronous = maker.isAsync ? 'async ' : '';
      const first = maker.isAsync ? `(${maker.call(1)})` : maker.call(1);
      return `${constant}: ${asynchronous}(app) => post(app, { ...${first}, ${column.name}: '${column.missing}' }),`;
    }),
  ];
  if (module.self) {
    const { name } = module.self;
    const other = maker.isAsync ? `(${maker.call(2)})` : maker.call(2);
    imports.add('../../../test/support/members.js', 'pathTo');
    causes.push(`${names.SINGULAR}_IN_USE: async (app) => {
      const key = await create${Singular}(app, 1);
      await post(app, { ...${other}, ${name}: key });
      return await app.delete(pathTo('${plural}', { ${keyNames[0]}: key }));
    },`);
  }
  const canBeReferred = isDrawn || keyNames.length === 1;
  if (canBeReferred && isDrawn) imports.add('../../../test/support/members.js', 'oncePerApp');
  const creator = isDrawn
    ? `/** Creates ${names.aSingular} once for each number, and resolves with its id as JSON. */
      export function create${Singular}(app: TestApp, n: number): Promise<string> {
        return oncePerApp(app, \`${one} \${n}\`, async () => {
          const { text } = await post(app, ${maker.call('n')});
          return /"id":("[^"]*"|-?\\d+)/.exec(text)?.[1] ?? '';
        });
      }`
    : `/** Creates another ${names.words} for each number, and resolves with its key as JSON. */
      export async function create${Singular}(app: TestApp, n: number): Promise<string> {
        const ${one} = ${maker.call('n')};
        await post(app, ${one});
        return ${one}.${keyNames[0]} ?? '';
      }`;
  return `${imports}
    /** Makes the members of a new ${names.words} as JSON, which differ for each number from 1 to 9. */
    export ${maker.isAsync ? `async function make${Singular}(app: TestApp, n: number): Promise<Members>` : `function make${Singular}(n: number): Members`} {
      return { ${maker.members.join(', ')} };
    }

    ${canBeReferred ? creator : ''}

    function post(app: TestApp, members: Members): Promise<Answer> {
      return app.post('/${plural}', writeMembers(members));
    }

    export default {
      entries: ${Singular}Errors,
      causes: {
        ${causes.join('\n')}
      },
    } satisfies ErrorFixtures<typeof ${Singular}Errors>;
  `;
}

function writeSpec(module) {
  const { names, keyKind, keyColumns, members, filters, orders } = module;
  const { Singular, plural, singularName: one, pluralWords: many } = names;
  const isDrawn = keyKind === 'drawn';
  const { isAsync, call } = describeMaker(module);
  const spread = (n) => (isAsync ? `...(${call(n)})` : `...${call(n)}`);
  const imports = new Imports();
  imports.add(
    '@jest/globals',
    'afterAll',
    'afterEach',
    'beforeAll',
    'beforeEach',
    'describe',
    'expect',
    'it',
  );
  imports.add(`./${plural}.error-fixtures.js`, `make${Singular}`);
  imports.add(`./${plural}.errors.js`, `${Singular}Errors`);
  imports.add('../../../test/support/expect-error.js', 'expectError');
  imports.add('../../../test/support/members.js', 'type Members', 'pathTo', 'writeMembers');
  imports.add('../../../test/support/test-app.js', 'TestApp');

  const keyNames = keyKind === 'columns' ? keyColumns.map(({ name }) => name) : ['id'];
  const key = keyNames.map((name) => `${name}: stored.${name}`).join(', ');
  const columns = [...keyColumns, ...members];
  const isSelf = ({ references }) => references?.isSelf === true;
  const removable = members.find((column) => column.isOptional && !isSelf(column));
  const changed = members.find((column) => column !== removable && !isSelf(column));
  const patch = [
    ...(changed ? [`${changed.name}: other.${changed.name}`] : []),
    ...(removable ? [`${removable.name}: 'null'`] : []),
  ];
  const patched = [
    ...(changed ? [`${changed.name}: other.${changed.name}`] : []),
    ...(removable ? [`${removable.name}: undefined`] : []),
  ];
  const faults = [
    ...columns
      .filter(({ isOptional }) => !isOptional)
      .map(({ name }) => `['${name}', undefined, '${name} is missing'],`),
    ...columns.map(
      ({ name, wrong: [text, message] }) => `['${name}', '${text}', '${name} ${message}'],`,
    ),
  ];
  const filtered = filters.filter((column) => !column.hasFewValues && !isSelf(column));
  const sorted = orders.filter((column) => !column.hasFewValues && !isSelf(column));
  const restricted = columns.filter(
    (one) => one.references?.onDelete === 'restrict' && !isSelf(one),
  );
  const listNames = (list) => list.map(({ name }) => `'${name}'`).join(', ');

  const create = isDrawn
    ? `/** Creates ${names.aSingular}, and resolves with the stored members. */
      async function create(members: Members): Promise<Members> {
        const { status, headers, text } = await app.post('/${plural}', writeMembers(members));
        const stored = { id: /"id":("[^"]*"|-?\\d+)/.exec(text)?.[1], ...members };
        expect({ status, text }).toEqual({ status: 201, text: writeMembers(stored) });
        expect(headers.get('location')).toBe(path(stored));
        return stored;
      }`
    : `/** Creates ${names.aSingular}, and resolves with the stored members. */
      async function create(members: Members): Promise<Members> {
        expect(await app.post('/${plural}', writeMembers(members))).toMatchObject({ status: 200 });
        return members;
      }`;
  const filterTest = `it.each([${listNames(filtered)}])('lists those with one %s', async (name) => {
    const value = encodeURIComponent(rows[1][name]?.replaceAll('"', '') ?? '');
    const { text } = await app.get(\`/${plural}?\${name}=\${value}\`);
    expect(text).toBe(\`[\${writeMembers(rows[1])}]\`);
  });`;
  const sortTest = `it.each([${listNames(sorted)}])('lists ${many} by %s, up and down', async (name) => {
    const up = await app.get(\`/${plural}?sort=\${name}\`);
    expect(up.text).toBe(\`[\${rows.map(writeMembers).join()}]\`);
    const down = await app.get(\`/${plural}?sort=-\${name}\`);
    expect(down.text).toBe(\`[\${rows.toReversed().map(writeMembers).join()}]\`);
  });`;
  const restrictTests = restricted.map(
    ({
      name,
      references,
    }) => `it('keeps the ${references.words} of its ${name} from being removed', async () => {
      const parent = pathTo('${references.plural}', { ${references.key}: rows[0].${name} });
      expectError(await app.delete(parent), 'CONFLICT', 'Another row refers to this one');
    });`,
  );
  const patchNames = removable ? ', and removes one that is null' : '';
  return `${imports}
    let app: TestApp;
    /** All stored ${many}. */
    let rows: readonly [Members, Members, Members];

    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.close());

    beforeEach(async () => {
      rows = [await create(${call(1)}), await create(${call(2)}), await create(${call(3)})];
    });
    afterEach(async () => {
      for (const stored of rows) await app.delete(path(stored));
    });

    function path(stored: Members): string {
      return pathTo('${plural}', { ${key} });
    }

    ${create}

    describe('/${plural}', () => {
      it('has ${names.aSingular} as it was created and replaced, until it is removed', async () => {
        const [stored] = rows;
        const { text } = await app.get(path(stored));
        expect(text).toBe(writeMembers(stored));
        const next: Members = { ...stored, ${spread(4)}, ${key} };
        expect(await app.put(path(stored), writeMembers(next))).toMatchObject({ status: 200 });
        expect((await app.get(path(stored))).text).toBe(writeMembers(next));
        expect(await app.delete(path(stored))).toMatchObject({ status: 204, text: '' });
        for (const answer of [
          await app.get(path(stored)),
          await app.put(path(stored), writeMembers(next)),
          await app.patch(path(stored), '{}'),
          await app.delete(path(stored)),
        ]) {
          expectError(answer, ${Singular}Errors.${names.SINGULAR}_NOT_FOUND);
        }
      });

      it('changes what a merge patch names${patchNames}', async () => {
        const [stored] = rows;
        ${changed ? `const other: Members = ${call(4)};` : ''}
        const answer = await app.patch(path(stored), writeMembers({ ${patch.join(', ')} }));
        expect(answer).toMatchObject({ status: 200 });
        const { text } = await app.get(path(stored));
        expect(text).toBe(writeMembers({ ...stored, ${patched.join(', ')} }));
      });

      it('changes ${names.aSingular} only where If-Match has its ETag', async () => {
        const [stored] = rows;
        const { headers } = await app.get(path(stored));
        const condition = { 'If-Match': headers.get('etag') ?? '' };
        const next = writeMembers(${call(4)});
        expect(await app.put(path(stored), next, condition)).toMatchObject({ status: 200 });
        expectError(await app.delete(path(stored), condition), 'PRECONDITION_FAILED');
      });

      it('lists ${many} in pages, each with a link to the next', async () => {
        const page = await app.get('/${plural}?limit=2');
        expect(page.text).toBe(\`[\${rows.slice(0, 2).map(writeMembers).join()}]\`);
        const last = await app.get(page.next ?? '');
        expect(last.text).toBe(\`[\${writeMembers(rows[2])}]\`);
        expect(last.headers.has('link')).toBe(false);
      });

      ${[
        ...(filtered.length > 0 ? [filterTest] : []),
        ...(sorted.length > 0 ? [sortTest] : []),
        ...restrictTests,
      ].join('\n\n')}

      it.each<[string, string | undefined, string]>([
        ${faults.join('\n')}
      ])('refuses %s of %s: %s', async (name, value, fault) => {
        const ${one}: Members = { ${spread(4)}, [name]: value };
        const answer = await app.post('/${plural}', writeMembers(${one}));
        expectError(answer, 'INVALID_BODY', expect.stringContaining(fault));
      });
    });
  `;
}

/** Writes a name in small letters with spaces between its words: \`openedAt\` is "opened at". */
export function spaced(name) {
  return name.replaceAll(/[-_]/g, ' ').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
