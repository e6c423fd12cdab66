import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  RequestBodyObject,
  ResponseObject,
  SchemaObject as WholeSchema,
} from '@nestjs/swagger';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** A schema, or a reference to one. */
export type SchemaObject = WholeSchema & Partial<ReferenceObject>;

/** One method of one path, as the document describes it. */
export interface Operation {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly parameters: readonly ParameterObject[];
  /** The schemas of its body by media type; none for an operation without a body. */
  readonly bodies: ReadonlyMap<string, SchemaObject>;
  /**
   * The schemas of its answers by status and media type. Those of the default response have the
   * statuses of the errors that it lists.
   */
  readonly answers: ReadonlyMap<number, ReadonlyMap<string, ValidateFunction>>;
}

/** The OpenAPI document that the service serves. */
export class ApiDocument {
  readonly operations: readonly Operation[];
  // Unknown formats are accepted.
  private readonly ajv = new Ajv2020({ strict: false, logger: false });
  /** The check of each schema, which many answers have in common. */
  private readonly checks = new Map<string, ValidateFunction>();

  constructor(private readonly document: OpenAPIObject) {
    for (const [name, bits] of [['int32', 31] as const, ['int64', 63] as const]) {
      const validate = (value: number): boolean =>
        Number.isInteger(value) && value >= -(2 ** bits) && value <= 2 ** bits;
      this.ajv.addFormat(name, { type: 'number', validate });
    }
    this.operations = Object.entries(document.paths)
      // A path without parameters takes precedence.
      .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
      .flatMap(([path, methods]) =>
        Object.entries(methods as Record<string, OperationObject>).map(([method, one]) =>
          this.read(method.toUpperCase(), path, one),
        ),
      );
  }

  static async load(origin: URL): Promise<ApiDocument> {
    const response = await fetch(new URL('/openapi.json', origin));
    return new ApiDocument((await response.json()) as OpenAPIObject);
  }

  /** Whether a schema of the document allows a value of a request. */
  allows(schema: SchemaObject, value: unknown): boolean {
    return this.compile(schema)(value);
  }

  /** Finds the operation that a request asks for; HEAD is treated as GET. */
  find(method: string, target: string): Operation | undefined {
    const [path = ''] = target.split('?');
    const first = this.operations.find((one) => makePattern(one.path).test(path))?.path;
    const wanted = method === 'HEAD' ? 'GET' : method;
    return this.operations.find((one) => one.path === first && one.method === wanted);
  }

  /** Resolves a schema that is a reference or composed of several. */
  resolve(schema: SchemaObject): SchemaObject {
    const { $ref, allOf = [], ...own } = schema;
    const parts = [...($ref === undefined ? [] : [this.lookUp($ref) as SchemaObject]), ...allOf];
    return Object.assign({}, ...parts.map((part) => this.resolve(part)), own) as SchemaObject;
  }

  private read(method: string, path: string, operation: OperationObject): Operation {
    const { security = this.document.security ?? [], parameters = [], responses } = operation;
    const requestBody = operation.requestBody as RequestBodyObject | undefined;
    const bodies = Object.entries(requestBody?.content ?? {});
    const { default: others, ...own } = responses;
    const statuses = others === undefined ? [] : this.listStatuses(others);
    return {
      method,
      path,
      isPublic: security.length === 0,
      parameters: parameters as ParameterObject[],
      bodies: new Map(bodies.map(([type, { schema = {} }]) => [type, schema])),
      answers: new Map([
        ...statuses.map((status) => [status, this.readContent(others)] as const),
        ...Object.entries(own).map(
          ([status, one]) => [Number(status), this.readContent(one)] as const,
        ),
      ]),
    };
  }

  /** Lists the statuses of the errors that a response gives as examples, each under its code. */
  private listStatuses(response: ResponseObject | ReferenceObject): number[] {
    if ('$ref' in response) return this.listStatuses(this.lookUp(response.$ref) as ResponseObject);
    const { examples = {} } = response.content?.['application/json'] ?? {};
    return Object.keys(examples).map((code) => Number(code.slice(0, 3)));
  }

  private readContent(
    response: ResponseObject | ReferenceObject = { description: '' },
  ): Map<string, ValidateFunction> {
    if ('$ref' in response) return this.readContent(this.lookUp(response.$ref) as ResponseObject);
    const schemas = Object.entries(response.content ?? {});
    return new Map(
      schemas.map(([type, { schema = {} }]) => [type.replace(/;.*/, ''), this.compile(schema)]),
    );
  }

  /** Makes a check of a body, which must not have members that the schema does not name. */
  private compile(schema: SchemaObject): ValidateFunction {
    const key = JSON.stringify(schema);
    const { type, items } = this.resolve(schema);
    const checked =
      type === 'array' && items !== undefined
        ? { allOf: [schema], items: { allOf: [items], unevaluatedProperties: false } }
        : { allOf: [schema], unevaluatedProperties: false };
    const { components } = this.document;
    const validate = this.checks.get(key) ?? this.ajv.compile({ ...checked, components });
    this.checks.set(key, validate);
    return validate;
  }

  private lookUp(reference: string): object {
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(reference) ?? [];
    const components = this.document.components as Record<string, Record<string, object>>;
    const found = components[kind]?.[name];
    if (found === undefined) throw new TypeError(`the document has no ${reference}`);
    return found;
  }
}

function makePattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
