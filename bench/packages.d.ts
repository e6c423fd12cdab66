// The used parts of a package that only bench/package.json has. The types of the project are checked
// without this package.

declare module 'better-sqlite3' {
  interface Statement {
    readonly reader: boolean;
    all(...values: unknown[]): unknown[];
    run(...values: unknown[]): unknown;
  }
  export default class Database {
    constructor(file: string);
    prepare(sql: string): Statement;
    close(): void;
  }
}
