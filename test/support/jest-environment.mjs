import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/** The storages that the current test file has used. Jest uses one, and leaves it on. */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...parameters) {
  storages.add(this);
  return run.apply(this, parameters);
};

/**
 * The objects and functions of a test file have other prototypes than those of the worker, whose
 * class-validator asks for them.
 */
const isObject = (value) => typeof value === 'object' && value !== null;
const isFunction = (value) => typeof value === 'function';
takeAll(Function, isFunction);
takeAll(Object, (value) => isObject(value) || isFunction(value));

function takeAll(type, isOfType) {
  const { [Symbol.hasInstance]: hasInstance } = Function.prototype;
  Object.defineProperty(type, Symbol.hasInstance, {
    value(value) {
      return this === type ? isOfType(value) : hasInstance.call(this, value);
    },
  });
}

/** Globals by which a test file and the modules that its worker has loaded must mean the same. */
const SHARED = [
  ...['Reflect', 'Array', 'BigInt', 'Boolean', 'Date', 'Map', 'Number', 'Promise', 'Set', 'String'],
  ...['Error', 'RangeError', 'SyntaxError', 'TypeError'],
  ...['setImmediate', 'setInterval', 'setTimeout'],
  ...['clearImmediate', 'clearInterval', 'clearTimeout'],
  ...['importShared', 'requireShared'],
];

/**
 * Shares globals of the worker with a test, also clocks and timers that it has faked, and gives it a
 * copy of the environment.
 * Switches the storages off after each file: before Node 24, each one that is on slows every promise
 * of the process.
 */
export default class Environment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.env = process.env;
    if (!config.projectConfig.testEnvironmentOptions.shareGlobals) return;
    for (const name of SHARED) share(this.global, globalThis, name);
    process.env = { ...this.env };
    share(this.global.process, process, 'env');
  }

  async teardown() {
    process.env = this.env;
    for (const storage of storages) storage.disable();
    storages.clear();
    await super.teardown();
  }
}

function share(target, source, name) {
  Object.defineProperty(target, name, {
    configurable: true,
    get: () => source[name],
    set(value) {
      source[name] = value;
    },
  });
}
