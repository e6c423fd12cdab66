/** The type of a value to store: an int64 may also be a bigint. */
export type Given<Value> = string extends Value ? Value | bigint : Value;

/**
 * A row to store: members that may be null may be left out, and an int64 may be a bigint.
 *
 * @example
 * ```ts
 * const row: RowInput<Plant> = { id: 1n, name: 'Monstera' };
 * await plants.create(row);
 * ```
 */
export type RowInput<Row> = {
  [Property in keyof Row as null extends Row[Property] ? never : Property]: Given<Row[Property]>;
} & {
  [Property in keyof Row as null extends Row[Property] ? Property : never]?:
    Given<Row[Property]> | undefined;
};
