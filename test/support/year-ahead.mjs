import vm from 'node:vm';

// node --import ./test/support/year-ahead.mjs: the clock of JavaScript is a year ahead.

const moveDate = `{
  const YEAR_MS = 366 * 24 * 60 * 60 * 1_000;
  const { now } = Date;
  Date = class extends Date {
    static now() {
      return now() + YEAR_MS;
    }

    constructor(...parts) {
      super(...(parts.length === 0 ? [now() + YEAR_MS] : parts));
    }
  };
}`;

vm.runInThisContext(moveDate);

// Jest runs test files in contexts with a Date of their own.
const { createContext } = vm;
vm.createContext = (...parameters) => {
  const context = createContext(...parameters);
  vm.runInContext(moveDate, context);
  return context;
};
