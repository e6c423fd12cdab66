import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface HeaderObject {
  readonly required?: boolean;
  readonly schema?: object;
}

interface ResponseObject {
  readonly headers?: Readonly<Record<string, HeaderObject>>;
  readonly content?: Readonly<Record<string, { readonly schema: SchemaObject }>>;
}

interface Reference {
  /** `#/components/responses/` and a name. */
  readonly $ref: string;
}

/** What of JSON Schema a document has. */
export interface SchemaObject {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: SchemaObject;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
}

export interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: SchemaObject;
}

interface DocumentObject {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly responses?: Readonly<Record<string, ResponseObject>>;
    readonly schemas?: Readonly<Record<string, SchemaObject>>;
  };
}

interface OperationObject {
  readonly parameters?: readonly ParameterObject[];
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: SchemaObject }>>;
  };
}

interface DocumentedResponse {
  /** The names of the members of a JSON object. */
  readonly members: readonly string[];
  /** By media type. */
  readonly bodies: ReadonlyMap<string, ValidateFunction>;
  readonly headers: ReadonlyMap<string, { isRequired: boolean; validate: ValidateFunction }>;
}

/** What the document says of one method of one path. */
export interface DocumentedOperation {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly ParameterObject[];
  /** Of its JSON body; undefined for an operation without one. */
  readonly bodySchema: SchemaObject | undefined;
  /** By status. */
  readonly responses: ReadonlyMap<number, DocumentedResponse>;
  /** Whether a body is one that it takes; undefined for an operation without one. */
  readonly takes: ValidateFunction | undefined;
}

interface DocumentedPath {
  readonly pattern: RegExp;
  /** By method. */
  readonly operations: ReadonlyMap<string, DocumentedOperation>;
}

/** The OpenAPI document that the service serves. */
export class ApiDocument {
  private readonly paths: readonly DocumentedPath[];
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(private readonly document: DocumentObject) {
    this.ajv.addFormat('int32', { type: 'number', validate: (value) => isInteger(value, 31) });
    this.ajv.addFormat('int64', { type: 'number', validate: (value) => isInteger(value, 63) });
    this.paths = Object.entries(document.paths)
      // A path without parameters is meant before one that has some.
      .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
      .map(([path, operations]) => ({
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        operations: new Map(
          Object.entries(operations).map(([method, operation]) => [
            method.toUpperCase(),
            this.operationOf(method.toUpperCase(), path, operation),
          ]),
        ),
      }));
    if (this.operation('POST', '/plants')?.takes === undefined) {
      throw new TypeError('the document does not describe POST /plants with a JSON body');
    }
  }

  /** Every documented operation, by method and path. */
  get operations(): DocumentedOperation[] {
    return this.paths.flatMap(({ operations }) => [...operations.values()]);
  }

  /** What is documented of a request; HEAD is a GET. */
  operation(method: string, target: string): DocumentedOperation | undefined {
    return this.pathOf(target)?.operations.get(method === 'HEAD' ? 'GET' : method);
  }

  /** The documented methods of a path, sorted; undefined for a path that is not documented. */
  methods(target: string): string[] | undefined {
    const path = this.pathOf(target);
    return path && [...path.operations.keys()].sort();
  }

  private pathOf(target: string): DocumentedPath | undefined {
    const [path = ''] = target.split('?');
    return this.paths.find(({ pattern }) => pattern.test(path));
  }

  static async load(url: URL): Promise<ApiDocument> {
    const response = await fetch(new URL('/openapi.json', url));
    return new ApiDocument((await response.json()) as DocumentObject);
  }

  /** A schema itself, where it is a reference to one. */
  resolve(schema: SchemaObject): SchemaObject {
    if (schema.$ref === undefined) return schema;
    const named = this.document.components.schemas?.[schema.$ref.split('/').at(-1) ?? ''];
    if (named === undefined) throw new TypeError(`the document has no ${schema.$ref}`);
    return this.resolve(named);
  }

  private operationOf(
    method: string,
    path: string,
    { parameters = [], responses, requestBody }: OperationObject,
  ): DocumentedOperation {
    const schema = requestBody?.content['application/json']?.schema;
    return {
      method,
      path,
      parameters,
      bodySchema: schema,
      takes: schema && this.compile(schema),
      responses: new Map(
        Object.entries(responses).map(([status, response]) => [
          Number(status),
          this.responseOf(response),
        ]),
      ),
    };
  }

  private responseOf(response: ResponseObject | Reference): DocumentedResponse {
    if ('$ref' in response) {
      const shared = this.document.components.responses?.[response.$ref.split('/').at(-1) ?? ''];
      if (shared === undefined) throw new TypeError(`the document has no ${response.$ref}`);
      return this.responseOf(shared);
    }
    const { content = {}, headers = {} } = response;
    const bodies = Object.entries(content).map(
      ([type, { schema }]) => [type, this.compile(schema)] as const,
    );
    const validators = Object.entries(headers).map(
      ([name, { required = false, schema = {} }]) =>
        [name.toLowerCase(), { isRequired: required, validate: this.compile(schema) }] as const,
    );
    const { properties = {} } = this.resolve(content['application/json']?.schema ?? {});
    return {
      members: Object.keys(properties),
      bodies: new Map(bodies),
      headers: new Map(validators),
    };
  }

  /** A schema of the document may refer to the document's components. */
  private compile(schema: object): ValidateFunction {
    return this.ajv.compile({ ...schema, components: this.document.components });
  }
}

/** The greatest of 63 bits is read as the double next to it. */
function isInteger(value: number, bits: number): boolean {
  return (
    Number.isInteger(value) && value >= -(2 ** bits) && value <= Number(2n ** BigInt(bits) - 1n)
  );
}
