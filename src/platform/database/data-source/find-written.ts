/** A table that a statement writes to. */
export interface Written {
  readonly table: string;
  readonly isRemoval: boolean;
}

/** A statement of TypeORM, or of a module. A table may have the name of its schema in front. */
const WRITE =
  /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|(DELETE) FROM)\s+(?:ONLY\s+)?(?:(?:"[^"]+"|\w+)\.)?(?:"([^"]+)"|(\w+))/i;

/** Finds the table that a statement writes to; undefined if the statement does not begin with it. */
export function findWritten(sql: string): Written | undefined {
  const [, removal, quoted, plain] = WRITE.exec(sql) ?? [];
  const table = quoted ?? plain?.toLowerCase();
  return table === undefined ? undefined : { table, isRemoval: removal !== undefined };
}
