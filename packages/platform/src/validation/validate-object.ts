import { Logger } from '@nestjs/common';
import { type ValidationError, Validator } from 'class-validator';
import { ValidationExecutor } from 'class-validator/cjs/validation/ValidationExecutor.js';
import { listErrorTexts } from '../errors/error-texts.js';
import { explainTransformFailure } from './transform-object.js';

// This file depends on an internal of class-validator: the class that runs the rules of an object. It
// would stop at the first rule that throws, although a wrong value may be the reason.

/** The members of the classes whose objects are checked. */
interface Members {
  /** Explains why no rule can judge a value; undefined if they can. */
  explain(object: object, name: string, value: unknown): string | undefined;
  /** Lists the members whose values the class computes. */
  listGetters(object: object): readonly string[];
}

/** The value of a getter that throws. */
const FAILED = Symbol('failed');

type Methods = InstanceType<typeof ValidationExecutor>;

const logger = new Logger('Validation');
const validator = new Validator();

/** A run of class-validator that runs all rules, also if one of them throws. */
class Validation extends ValidationExecutor {
  /** What rules and conditions have thrown. */
  readonly failures: unknown[] = [];

  constructor(private readonly members: Members) {
    super(validator);
  }

  override execute(...[object, schema, errors]: Parameters<Methods['execute']>): void {
    this.attempt(() => super.execute(this.skipFailingGetters(object), schema, errors));
  }

  /** Returns a view of an object in which a getter that throws has the value {@link FAILED}. */
  private skipFailingGetters(object: object): object {
    const view = Object.create(object) as object;
    for (const name of this.members.listGetters(object)) {
      try {
        Reflect.get(object, name);
      } catch (error) {
        this.failures.push(error);
        Object.defineProperty(view, name, { value: FAILED });
      }
    }
    return view;
  }

  override performValidations(...args: Parameters<Methods['performValidations']>): void {
    const [object, value, name, , , errors] = args;
    if (value === FAILED) return;
    const reason = this.attempt(() => this.members.explain(object, name, value));
    if (reason === undefined) {
      super.performValidations(...args);
      return;
    }
    const error = this.generateValidationError(object, value, name);
    error.constraints = { isRead: `${name} ${reason}` };
    errors.push(error);
  }

  override conditionalValidations(...args: Parameters<Methods['conditionalValidations']>): boolean {
    return this.attempt(() => super.conditionalValidations(...args)) ?? false;
  }

  override customValidations(
    ...[object, value, rules, error]: Parameters<Methods['customValidations']>
  ): void {
    for (const rule of rules) {
      this.attempt(() => super.customValidations(object, value, [rule], error));
    }
  }

  override createValidationError(
    ...args: Parameters<Methods['createValidationError']>
  ): [type: string, message: string] {
    const [, , { propertyName }] = args;
    try {
      const [type, message] = super.createValidationError(...args);
      return [type, message === '' ? `${propertyName} is not valid` : message];
    } catch (error) {
      // The function of a message has failed. The value is wrong all the same.
      logger.error(error);
      return ['message', `${propertyName} is not valid`];
    }
  }

  /** Runs code of a class, and keeps what it throws. */
  private attempt<Result>(run: () => Result): Result | undefined {
    try {
      return run();
    } catch (error) {
      this.failures.push(error);
      return undefined;
    }
  }
}

/**
 * Lets class-validator check an object. Returns a promise if there are asynchronous rules.
 *
 * @param known faults of the object that were found before
 * @param isSynchronous whether asynchronous rules are left out
 * @returns the faults, those that are known first
 * @throws what the code of a class has thrown for an object without faults
 */
export function validateObject(
  object: object,
  members: Members,
  known: readonly string[],
  isSynchronous: boolean,
): readonly string[] | Promise<readonly string[]> {
  const validation = new Validation(members);
  validation.ignoreAsyncValidations = isSynchronous;
  const errors: ValidationError[] = [];
  validation.execute(object, '', errors);
  const { failures, awaitingPromises } = validation;
  const finish = (): readonly string[] => {
    const faults = [...known, ...listErrorTexts(validation.stripEmptyErrors(errors))];
    const failed = explainTransformFailure(object);
    if (faults.length > 0) return faults;
    if (failed !== undefined) return [failed];
    if (failures.length > 0) throw failures[0];
    return faults;
  };
  const keep = (error: unknown): void => void failures.push(error);
  const later = awaitingPromises.map((promise) => promise.catch(keep));
  return later.length > 0 && !isSynchronous ? Promise.all(later).then(finish) : finish();
}
